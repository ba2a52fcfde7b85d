"""Replaces every clock of this interpreter with the program's."""

import gc
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any, cast

from ptc_runner.environment.program_clock import NS_PER_TICK, TICKS_PER_SECOND, ProgramClock

_NS = 1_000_000_000


def replace_clocks(clock: ProgramClock) -> None:
    """Must be called before a module is imported that keeps a function of `time`, such as threading."""
    _replace_time(clock)
    _replace_datetime(clock)


def replace_function(target: object, name: str, replacement: Callable[..., object]) -> None:
    """Replaces a function with another, under the same name."""
    original = getattr(target, name, None)
    if original is None:
        return
    replacement.__name__ = name
    replacement.__qualname__ = name
    replacement.__doc__ = cast("str | None", getattr(original, "__doc__", None))
    setattr(target, name, replacement)


def _replace_time(clock: ProgramClock) -> None:
    def seconds() -> float:
        return clock.now_ns() / _NS

    def nanoseconds() -> int:
        return clock.now_ns()

    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        replace_function(time, name, lambda: clock.elapsed_ticks() / TICKS_PER_SECOND)
        replace_function(time, f"{name}_ns", lambda: clock.elapsed_ticks() * NS_PER_TICK)
    replace_function(time, "time", seconds)
    replace_function(time, "time_ns", nanoseconds)

    def clock_gettime_ns(clk_id: int) -> int:
        return clock.now_ns() if clk_id == time.CLOCK_REALTIME else clock.elapsed_ticks() * NS_PER_TICK

    replace_function(time, "clock_gettime_ns", clock_gettime_ns)

    def clock_gettime(clk_id: int) -> float:
        return clock_gettime_ns(clk_id) / _NS

    replace_function(time, "clock_gettime", clock_gettime)
    for name in ("localtime", "gmtime", "ctime"):
        replace_function(time, name, _with_present(getattr(time, name), seconds))
    strftime, asctime = time.strftime, time.asctime

    def present_strftime(form: str, t: time.struct_time | None = None) -> str:
        return strftime(form, time.localtime() if t is None else t)

    def present_asctime(t: time.struct_time | None = None) -> str:
        return asctime(time.localtime() if t is None else t)

    replace_function(time, "strftime", present_strftime)
    replace_function(time, "asctime", present_asctime)


def _with_present(original: Callable[[float], object], seconds: Callable[[], float]) -> Callable[..., object]:
    def present(secs: float | None = None) -> object:
        return original(seconds() if secs is None else secs)

    return present


def _replace_datetime(clock: ProgramClock) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)

    def exact(cls: type[datetime], tz: tzinfo | None) -> datetime:
        ns = clock.now_ns()
        at = cls.fromtimestamp(ns // _NS, tz)
        return at.replace(microsecond=ns % _NS // 1_000)

    def now(cls: type[datetime], tz: tzinfo | None = None) -> datetime:
        return exact(cls, tz)

    def utcnow(cls: type[datetime]) -> datetime:
        return exact(cls, epoch.tzinfo).replace(tzinfo=None)

    # A C type does not accept attributes, but its dictionary does. Cached lookups are then invalidated.
    members = cast("dict[str, Any]", gc.get_referents(datetime.__dict__)[0])
    for name, replacement in (("now", now), ("utcnow", utcnow)):
        replacement.__qualname__ = f"datetime.{name}"
        replacement.__doc__ = members[name].__doc__
        members[name] = classmethod(replacement)
    _forget_attributes(datetime)


def _forget_attributes(kind: type) -> None:
    """Makes the interpreter look up the attributes of a type again."""
    import ctypes

    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
    # Makes a later import by a program in a session noticeable (program_run.py).
    for name in [name for name in sys.modules if name.partition(".")[0] in ("ctypes", "_ctypes")]:
        del sys.modules[name]
