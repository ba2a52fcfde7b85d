"""Runs functions concurrently."""

import asyncio
import inspect
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Any

MAX_WORKERS = 10


def _checked(functions: Iterable[Callable[[], Any]], limit: int | None) -> list[Callable[[], Any]]:
    if limit is not None and not limit >= 1:
        raise ValueError(f"parallel: limit must be at least 1, not {limit!r}")
    return list(functions)


async def parallel_async(functions: Iterable[Callable[[], Any]], limit: int | None = None) -> list[Any]:
    """Runs functions, or awaits what is awaitable, at most `limit` at a time. Gives their results in order. Raises the
    first exception, and starts nothing more after it."""
    items = _checked(functions, limit)
    results: list[Any] = [None] * len(items)
    following = iter(range(len(items)))

    async def work() -> None:
        for index in following:
            item = items[index]
            made = item if inspect.isawaitable(item) else _call(item, index)
            results[index] = await made if inspect.isawaitable(made) else made

    workers = [asyncio.ensure_future(work()) for _ in range(min(limit or len(items), len(items)))]
    try:
        await asyncio.gather(*workers)
    except BaseException:
        # Uses up the indices, so that no worker starts another function.
        for _ in following:
            continue
        raise
    return results


def parallel_sync(functions: Iterable[Callable[[], Any]], limit: int | None = None) -> list[Any]:
    """Runs functions in threads, at most `limit` at a time. Gives their results in order. Raises the first exception, and
    starts nothing more after it."""
    items = _checked(functions, limit)
    results: list[Any] = [None] * len(items)
    following = iter(range(len(items)))
    errors: list[BaseException] = []

    def work() -> None:
        for index in following:
            try:
                results[index] = _call(items[index], index)
            except BaseException as error:
                errors.append(error)
                for _ in following:
                    continue

    count = min(limit or MAX_WORKERS, MAX_WORKERS, len(items))
    threads = [Thread(target=work, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def _call(function: Any, index: int) -> Any:
    if not callable(function):
        raise TypeError(f"parallel: item {index} is a {type(function).__name__} and no function; pass lambda: f(x), not f(x)")
    return function()
