"""The event loop of a program: asyncio's own, with waiting and timers delegated to the event order."""

import asyncio
import contextvars
import selectors
from _thread import get_ident
from collections.abc import Callable, Coroutine
from typing import Any, cast

from ptc_runner.environment.event_order import EventOrder

_LOOK_EVERY = 64


class ProgramLoop(asyncio.SelectorEventLoop):
    """There is only one, and it is never closed. It may be run again while it runs, because programs mix `asyncio.run` with
    top-level `await`."""

    def __init__(self, order: EventOrder) -> None:
        self._order = order
        self._own = selectors.DefaultSelector()
        self._rounds = 0
        self._timers: dict[int, int] = {}
        super().__init__(self._own)
        # For members of the base class that its types leave out.
        self._inner = cast("Any", self)
        self._inner_files = len(self._own.get_map())
        order.watched = self._watched
        order.look_at_files = self._look_at_files

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        when = self.time() + delay
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        # It may be cancelled, and then its timer is dropped.
        self._timers[id(timer)] = self._order.set_timer(delay, lambda: self._fire(timer))
        cast("Any", timer)._scheduled = True
        return timer

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_later(when - self.time(), callback, *args, context=context)

    def _fire(self, timer: asyncio.TimerHandle) -> None:
        self._timers.pop(id(timer), None)
        cast("Any", timer)._scheduled = False
        self._inner._ready.append(timer)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        timer = self._timers.pop(id(handle), None)
        if timer is not None:
            self._order.drop_timer(timer)

    def _write_to_self(self) -> None:
        self._order.wake()

    def _run_once(self) -> None:
        ready = self._inner._ready
        if not ready:
            self._order.wait_until(lambda: bool(ready) or self._inner._stopping)
        else:
            self._rounds += 1
            if self._rounds % _LOOK_EVERY == 0:
                self._order.let_others_run()
        for _ in range(len(ready)):
            if not ready:
                return
            handle = ready.popleft()
            if not handle.cancelled():
                handle._run()

    def _watched(self) -> int | None:
        return self._own.fileno() if len(self._own.get_map()) > self._inner_files else None

    def _look_at_files(self) -> None:
        self._inner._process_events(self._own.select(0))

    def run_until_complete(self, future: Any) -> Any:
        if not self.is_running():
            return super().run_until_complete(future)
        task = asyncio.ensure_future(future, loop=self)
        outer = asyncio.current_task(self)
        if outer is not None:
            cast("Any", asyncio.tasks)._leave_task(self, outer)
        try:
            while not task.done():
                self._run_once()
        finally:
            if outer is not None:
                cast("Any", asyncio.tasks)._enter_task(self, outer)
        return task.result()

    def forget(self) -> None:
        """Drops all callbacks that the program left."""
        inner = self._inner
        inner._ready.clear()
        for key in list(self._own.get_map().values()):
            if key.fileobj is not inner._ssock:
                self._own.unregister(key.fileobj)
        for number in list(inner._signal_handlers):
            self.remove_signal_handler(number)
        self._timers.clear()
        self.set_exception_handler(None)
        self.set_task_factory(None)
        self.set_debug(False)

    def close(self) -> None:
        """Does nothing: the program may still use the loop."""


class ProgramLoopPolicy(asyncio.DefaultEventLoopPolicy):
    """Returns the one loop for every request in the program's thread."""

    def __init__(self, loop: ProgramLoop) -> None:
        super().__init__()
        self._loop = loop
        self._thread = get_ident()

    def get_event_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop if get_ident() == self._thread else super().get_event_loop()

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop if get_ident() == self._thread else super().new_event_loop()


def make_run(loop: ProgramLoop) -> Callable[..., Any]:
    """Makes an `asyncio.run` that uses the one loop, even while it runs."""
    original = asyncio.run

    def run(main: Coroutine[Any, Any, Any], *, debug: bool | None = None) -> Any:
        if get_ident() != loop_thread:
            return original(main, debug=debug)
        if not asyncio.iscoroutine(main):
            raise ValueError(f"a coroutine was expected, got {main!r}")
        return loop.run_until_complete(main)

    loop_thread = get_ident()
    run.__doc__ = original.__doc__
    return run
