"""Makes the threads, locks and pauses of a program take turns (event_order.py), so that a replay can reproduce their order."""

import _thread
import queue
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, cast

from ptc_runner.environment.event_order import EventOrder
from ptc_runner.environment.replace_clocks import replace_function

_allocate_lock = _thread.allocate_lock


def replace_threads(order: EventOrder) -> None:
    """Must be called before a module is imported that keeps a lock, such as logging."""

    class Lock:
        """A lock whose holder may wait while others try to take it."""

        __slots__ = ("__weakref__", "_real")

        def __init__(self) -> None:
            self._real = _allocate_lock()

        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
            if order.astray:
                order.find_back()
            real = self._real
            if real.acquire(False):
                return True
            if not blocking:
                # Raises an error for a timeout, which is not allowed here.
                return real.acquire(False, timeout)
            if timeout >= 0:
                if not order.wait_for(lambda: not real.locked(), timeout):
                    return False
                return real.acquire(False) or self.acquire(True, 0)
            if timeout != -1:
                return real.acquire(True, timeout)
            while not real.acquire(False):
                order.wait_until(lambda: not real.locked())
            return True

        def release(self) -> None:
            # Only the thread whose turn it is may release a lock that others wait for.
            if order.astray:
                order.find_back()
            self._real.release()

        def locked(self) -> bool:
            return self._real.locked()

        def _at_fork_reinit(self) -> None:
            cast("Any", self._real)._at_fork_reinit()

        acquire_lock = acquire
        release_lock = release
        locked_lock = locked

        def __enter__(self) -> bool:
            return self.acquire()

        def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
            self.release()

    Lock.__module__ = "_thread"
    Lock.__name__ = Lock.__qualname__ = "lock"
    sentinels: dict[int, Lock] = {}

    def start_new_thread(function: Callable[..., object], args: Any, kwargs: Any = None) -> int:
        def run() -> None:
            try:
                function(*args, **(kwargs or {}))
            except SystemExit:
                return
            except BaseException:
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
            finally:
                sentinel = sentinels.pop(_thread.get_ident(), None)
                if sentinel is not None:
                    sentinel.release()

        return order.begin_thread(run)

    def set_sentinel() -> Lock:
        """The lock that is released when the calling thread has ended."""
        sentinel = Lock()
        sentinels[_thread.get_ident()] = sentinel
        return sentinel

    def sleep(seconds: float, /) -> None:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        order.sleep(seconds)

    internals = cast("Any", threading)
    for module in (_thread, internals):
        for name in ("allocate_lock", "_allocate_lock", "allocate", "Lock"):
            if hasattr(module, name):
                setattr(module, name, Lock)
        for name in ("start_new_thread", "_start_new_thread", "start_new"):
            replace_function(module, name, start_new_thread)
        replace_function(module, "_set_sentinel", set_sentinel)
    internals._CRLock = None
    # They may have been imported before the clock was replaced.
    internals._time = cast("Any", queue).time = time.monotonic
    cast("Any", queue).SimpleQueue = cast("Any", queue)._PySimpleQueue
    replace_function(time, "sleep", sleep)
