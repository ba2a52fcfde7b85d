"""Numbers tasks, futures and threads, and hashes them by number. asyncio, concurrent.futures and programs keep them in sets,
whose order would otherwise depend on addresses, which a replay cannot reproduce."""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator
from concurrent import futures
from itertools import count
from typing import Any, cast

from ptc_runner.environment.replace_clocks import replace_function

_numbers = count(1)


def _hash(self: Any) -> int:
    """The number of an object, assigned when it is first needed."""
    try:
        return self._ptc_number
    except AttributeError:
        self._ptc_number = number = next(_numbers)
        return number


class _Future(asyncio.Future[Any]):
    __hash__ = cast("Any", _hash)


class _Task(asyncio.Task[Any]):
    __hash__ = cast("Any", _hash)


_Future.__name__ = _Future.__qualname__ = "Future"
_Task.__name__ = _Task.__qualname__ = "Task"
_Future.__module__ = _Task.__module__ = "_asyncio"


def _create_future(self: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
    return _Future(loop=self)


_original_create_task = cast("Any", asyncio.BaseEventLoop.create_task)


def _create_task(self: Any, coro: Coroutine[Any, Any, Any], **options: Any) -> asyncio.Task[Any]:
    if self._task_factory is not None:
        return _original_create_task(self, coro, **options)
    self._check_closed()
    return _Task(coro, loop=self, **options)


_original_as_completed = cast("Any", asyncio.as_completed)


def _as_completed(fs: Iterable[Any], *, timeout: float | None = None) -> Iterator[Coroutine[Any, Any, Any]]:
    # asyncio's own function puts coroutines, which have no numbers, into a set first and starts them in its order.
    given = fs if asyncio.isfuture(fs) or asyncio.iscoroutine(fs) else [*map(asyncio.ensure_future, dict.fromkeys(fs))]
    return _original_as_completed(given, timeout=timeout)


def replace_hashes() -> None:
    """Must be called before the program's loop is created."""
    loops = cast("Any", asyncio.BaseEventLoop)
    loops.create_future = _create_future
    loops.create_task = _create_task
    tasks = cast("Any", asyncio.tasks)
    tasks._GatheringFuture.__hash__ = _hash
    for kind in (futures.Future, threading.Thread):
        cast("Any", kind).__hash__ = _hash
    for module in (asyncio, tasks):
        replace_function(module, "as_completed", _as_completed)
