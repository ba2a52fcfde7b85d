"""
Prepares Pyodide's interpreter for a program, and runs it with the runner of the other engines (runner-image/python/ptc_runner).
What that needs of an operating system is replaced here: the channel and the claim are devices that the process around the
interpreter provides (../python.ts), and there are no threads, no other processes and no signals.
"""

import _thread
import fcntl
import os
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any, cast

_CONTROL = "/dev/ptc-control"
_CHANNEL = "/dev/ptc-channel"
_CLAIM = "/dev/ptc-claim"
_CONSOLE = "/dev/ptc-console"
_STDOUT_FILE = "/tmp/.stdout"
_BALLAST_BYTES = 4 * 1024 * 1024
"""Memory that is given back when a program has used up its own, so that it can be told how it ended."""
_ballast = bytearray(_BALLAST_BYTES)
_read, _write = os.read, os.write
_PRELOADED = (
    "argparse array base64 bisect calendar collections contextlib copy csv dataclasses datetime decimal difflib enum "
    "fractions functools hashlib heapq hmac html io inspect itertools json logging math operator os pathlib pprint queue "
    "random re secrets statistics string struct tempfile textwrap threading time traceback typing unicodedata urllib.parse "
    "uuid weakref zlib"
).split()
_ABSENT = frozenset("js pyodide _pyodide pyodide_js _pyodide_core ctypes _ctypes micropip".split())
"""Modules that lead out of Python. What is outside has nothing of the machine (../python.ts); programs need none of it."""


class _Process:
    """The process around the interpreter. It takes commands, and answers some with a byte."""

    _fd = -1

    def open(self) -> None:
        self._fd = os.open(_CONTROL, os.O_RDWR)

    def tell(self, command: str) -> None:
        _write(self._fd, command.encode())

    def ask(self, command: str) -> bool:
        self.tell(command)
        return _read(self._fd, 1) == b"1"


_process = _Process()


def _sleep(seconds: float) -> None:
    _process.tell(f"sleep {seconds * 1_000}")


def _replace_system() -> None:
    """Gives the runner what its modules name at their import, as far as it is used here."""

    def limits(*_: int) -> tuple[int, int]:
        return -1, -1

    def lift_limit(*_: object) -> None:
        _ballast.clear()

    def nothing(*_: object) -> set[int]:
        return set()

    def no_timer(*_: int) -> tuple[float, float]:
        return 0.0, 0.0

    def linger(_: object, seconds: float) -> None:
        _sleep(seconds)

    def leave(code: int) -> None:
        _process.tell(f"exit {code}")

    duplicate = cast("Any", fcntl.fcntl)

    def control_file(fd: int, command: int, argument: int = 0) -> Any:
        return os.dup(fd) if command == fcntl.F_DUPFD_CLOEXEC else duplicate(fd, command, argument)

    resource = cast("Any", types.ModuleType("resource"))
    resource.RLIMIT_AS, resource.RLIM_INFINITY = 9, -1
    resource.getrlimit, resource.setrlimit = limits, lift_limit
    sys.modules["resource"] = resource
    thread = cast("Any", _thread)
    if not hasattr(thread, "get_native_id"):
        thread.get_native_id = _thread.get_ident
    signals = cast("Any", signal)
    signals.ITIMER_REAL, signals.ITIMER_VIRTUAL, signals.ITIMER_PROF = 0, 1, 2
    signals.getitimer, signals.pthread_sigmask, signals.sigtimedwait = no_timer, nothing, linger
    cast("Any", fcntl).fcntl = control_file
    cast("Any", os)._exit = leave
    clock = cast("Any", time)
    # A sleep of the system's would not see to the channel.
    clock.tzset, clock.sleep = _set_time_zone, _sleep


def _set_time_zone() -> None:
    """`time.tzset`: local time is the process's."""
    _process.tell(f"zone {os.environ.get('TZ', 'UTC')}")
    clock = cast("Any", time)
    offsets = [time.localtime(at).tm_gmtoff for at in (1_704_067_200, 1_719_792_000)]
    clock.timezone, clock.altzone = -min(offsets), -max(offsets)
    clock.daylight = int(offsets[0] != offsets[1])
    names = [time.localtime(at).tm_zone for at in (1_704_067_200, 1_719_792_000)]
    clock.tzname = tuple(names if offsets[0] <= offsets[1] else names[::-1])


def _make_channel() -> tuple[Any, Callable[[], None]]:
    """A channel, and what opens it."""
    from ptc_runner.channel import Channel

    class Device:
        """The connection to the host, which the process reads and writes for the interpreter."""

        # A descriptor that there is, until it is opened.
        _fd = 0

        def open(self) -> None:
            self._fd = os.open(_CHANNEL, os.O_RDWR)

        def fileno(self) -> int:
            return self._fd

        def recv(self, size: int) -> bytes:
            return _read(self._fd, size)

        def sendall(self, data: bytes) -> None:
            view = memoryview(data)
            while view:
                view = view[_write(self._fd, view) :]

        def set_inheritable(self, _is: bool) -> None:
            return

    class DeviceChannel(Channel):
        def wait(self, timeout_ms: float | None) -> bool:
            return _process.ask(f"wait {-1 if timeout_ms is None else timeout_ms}")

    device = Device()
    return DeviceChannel(cast("Any", device)), device.open


class _Blocked:
    """Finds no module of those that lead out of Python."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname.partition(".")[0] in _ABSENT:
            raise ModuleNotFoundError(f"No module named '{fullname}': it is not in the engine wasm", name=fullname)


class _Worker:
    """Stands for a thread of `parallel()`: its work is done when it starts."""

    def __init__(self, target: Any, daemon: bool) -> None:
        self.start = target

    def join(self) -> None:
        return


def _open_loop(order: Any) -> Any:
    from ptc_runner.environment.program_loop import ProgramLoop

    class InterpreterLoop(ProgramLoop):
        """Only the host can wake this loop."""

        def _make_self_pipe(self) -> None:
            self._ssock = self._csock = None

    return InterpreterLoop(order)


def _claim_streams() -> int:
    """Makes descriptor 1 a file, and 2 the console. Returns the descriptor of the claim."""
    for fd, opened in (
        (1, os.open(_STDOUT_FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)),
        (2, os.open(_CONSOLE, os.O_WRONLY)),
    ):
        os.dup2(opened, fd)
        os.close(opened)
    return os.open(_CLAIM, os.O_WRONLY)


def _leave_pyodide() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in _ABSENT]:
        del sys.modules[name]
    cast("Any", sys.meta_path)[:] = [
        _Blocked(),
        *(each for each in sys.meta_path if not type(each).__module__.startswith("_pyodide")),
    ]
    sys.path[:] = [path for path in sys.path if path and not path.startswith("/opt/ptc")]
    for name in ("USER", "LOGNAME", "PATH", "PWD", "_", "PYTHONINSPECT", "LD_LIBRARY_PATH"):
        os.environ.pop(name, None)


def prepare() -> Callable[[str], None]:
    """Does all that is the same for every program. No file stays open, so a snapshot can be made of it. Returns the rest."""
    _replace_system()
    import asyncio
    import gc
    import importlib

    from ptc_runner.console import Console
    from ptc_runner.environment.environment import Environment
    from ptc_runner.environment.replace_hashes import replace_hashes
    from ptc_runner.limits import PROTOCOL_VERSION

    channel, open_channel = _make_channel()
    environment = Environment(channel)
    environment.install()
    for module in _PRELOADED:
        importlib.import_module(module)
    replace_hashes()
    import ptc_runner.parallel
    from ptc_runner.environment.program_loop import ProgramLoopPolicy, make_run
    from ptc_runner.program_run import ProgramRun

    cast("Any", ptc_runner.parallel).Thread = _Worker

    def start(runtime: str) -> None:
        """Says hello, runs the program that comes, and ends the process."""
        _process.open()
        open_channel()
        environment.renew_randomness()
        # Pyodide's own, which JavaScript runs.
        asyncio._set_running_loop(None)
        loop = _open_loop(environment.order)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            asyncio.set_event_loop_policy(ProgramLoopPolicy(loop))
        asyncio.run = make_run(loop)
        claim_stream = _claim_streams()
        console = Console()
        console.install()
        run = ProgramRun(channel, environment, console, loop, claim_stream)
        _leave_pyodide()
        gc.collect()
        gc.freeze()
        channel.send({"type": "hello", "protocol": PROTOCOL_VERSION, "language": "python", "runtime": runtime})
        while True:
            for message in channel.read():
                if message["type"] == "program":
                    run.run(message)

    return start
