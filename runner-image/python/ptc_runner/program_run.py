"""A program from its text to its claim; in a session, one program after the other."""

import _thread
import asyncio
import atexit
import base64
import builtins
import concurrent.futures.thread
import contextlib
import faulthandler
import gc
import inspect
import json
import os
import resource
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from types import CodeType, ModuleType
from typing import Any, NotRequired, TypedDict, cast

from ptc_runner.channel import Channel
from ptc_runner.console import Console, write_all
from ptc_runner.emit import bytes_of, make_emit
from ptc_runner.environment.environment import Environment, ProgramEnvironment
from ptc_runner.environment.program_clock import real_monotonic_ns, real_sleep
from ptc_runner.environment.program_loop import ProgramLoop
from ptc_runner.failure import Failure, make_failure
from ptc_runner.limits import MAX_VALUES
from ptc_runner.modules import PACKAGE, PROGRAMS, ServerModules, Table
from ptc_runner.pages import pages_async, pages_sync
from ptc_runner.parallel import parallel_async, parallel_sync
from ptc_runner.program_text import LAST, RETURN, TopLevelReturnError, compile_program, is_coroutine
from ptc_runner.result_value import serialize_console, serialize_result
from ptc_runner.saved_programs import ProgramTable, SavedPrograms
from ptc_runner.tool_error import ToolError
from ptc_runner.tools import Caller, Mode, ToolFunction, make_call_tool
from ptc_runner.tracebacks import Tracebacks

_FILES_FOLDER = "/workspace/files"
_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
# Earlier programs of a session share this interpreter and may have replaced them.
_makedirs, _open, _write, _close, _unlink = os.makedirs, os.open, os.write, os.close, os.unlink
_is_folder, _remove_folder, _decode = os.path.isdir, shutil.rmtree, base64.b64decode
_FIRST_TRACE_AFTER_NS = 1_000_000_000
_TRACE_SHARE = 8
"""The pause before the next trace is the time so far divided by this, so that there are few traces."""
_dumps = json.dumps
_loads = json.loads
_exit = os._exit
_getpid = os.getpid
_settrace = sys.settrace
_caller_of = sys._getframe  # pyright: ignore[reportPrivateUsage]
_setprofile = sys.setprofile
_mask_signals = signal.pthread_sigmask
_ALL_SIGNALS = signal.valid_signals()
_await_signal = signal.sigtimedwait
_count_threads = cast("Any", _thread)._count
_NOT_SET = object()
_THREADS_PATIENCE_NS = 1_000_000_000
"""How long the runner waits for the threads of a program to end. If one does not end, the guard ends the session."""
_MAX_COLLECTIONS = 10
_NATIVE_NAME = "ptc-native"
"""The process takes this name when a program has used native code. The guard then ends the session (guard.pl)."""
_collect_garbage = gc.collect
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_SIGNAL_HANDLERS = {number: signal.getsignal(number) for number in signal.valid_signals()}
"""The interpreter's own."""


class ProgramFile(TypedDict):
    name: str
    base64: str


class MaxResult(TypedDict):
    bytes: int
    values: int


class ProgramMessage(TypedDict):
    bundle: str
    data: Any
    max_output_bytes: int
    max_stderr_bytes: int
    environment: ProgramEnvironment | None
    session: NotRequired[bool]
    max_result: NotRequired[MaxResult]
    linger_ms: NotRequired[int]
    files: NotRequired[list[ProgramFile]]


class Bundle(TypedDict):
    """protocol/runners.ts."""

    mode: Mode
    source: str
    file_name: str
    modules: Table
    extract: NotRequired[bool]
    programs: NotRequired[dict[str, ProgramTable]]


class TraceSender:
    """Sends the host the trace of a run, always in full: periodically while it runs, when the host asks, and at its end. So
    a run that is killed has sent most of its trace."""

    def __init__(self, environment: Environment, channel: Channel) -> None:
        self._environment = environment
        self._channel = channel
        self._begun_ns = real_monotonic_ns()
        self._next_ns = self._begun_ns + _FIRST_TRACE_AFTER_NS
        environment.order.before_waiting = self.send_if_due
        environment.order.on_trace_request = self.send

    def message(self) -> dict[str, Any]:
        """A message with the trace so far."""
        return {"type": "trace", "trace": self._environment.trace()}

    def send(self) -> None:
        self._channel.send(self.message())

    def send_if_due(self) -> None:
        now = real_monotonic_ns()
        if now >= self._next_ns:
            self._next_ns = now + max(_FIRST_TRACE_AFTER_NS, (now - self._begun_ns) // _TRACE_SHARE)
            self.send()


class ProgramRun:
    """A program has ended when its last line has run and its threads and calls have ended. Tasks that are left are cancelled,
    as in `asyncio.run`."""

    def __init__(
        self, channel: Channel, environment: Environment, console: Console, loop: ProgramLoop, claim_stream: int
    ) -> None:
        self._channel = channel
        self._environment = environment
        self._console = console
        self._loop = loop
        self._claim_stream = claim_stream
        self._caller = Caller(channel, environment.order, loop)
        self._programs = SavedPrograms()
        self._modules = ServerModules(self._caller, self._programs)
        self._main = ModuleType("__main__")
        self._process = _getpid()
        self._is_session = False
        self._has_native_code = False
        self._linger_seconds = 0.0
        # The limits of the process's size before the first program of a session.
        self._address_space: tuple[int, int] | None = None
        for name, value in (
            (
                "call_tool",
                make_call_tool(self._caller, lambda made: self._programs.function(made, self._modules.bind_globals)),
            ),
            ("bytes_of", bytes_of),
            ("ToolError", ToolError),
        ):
            setattr(builtins, name, value)

    def run(self, message: ProgramMessage) -> None:
        """Runs the program, and ends the process unless more programs of a session follow."""
        self._is_session = message.get("session") is True
        self._linger_seconds = message.get("linger_ms", 0) / 1_000
        if self._is_session:
            self._begin_in_session()
        bundle = cast("Bundle", _loads(message["bundle"]))
        self._caller.mode = bundle["mode"]
        programs = bundle.get("programs", {})
        self._programs.install(programs)
        self._modules.install(bundle["modules"])
        builtins_ = cast("Any", builtins)
        if bundle.get("extract"):
            # Few programs need it, and its imports take a while.
            from ptc_runner.extract import make_extract

            builtins_.extract = make_extract(self._caller.call)
        builtins_.data = message["data"]
        builtins_.emit = make_emit(lambda block: self._channel.send({"type": "emit", "block": block}))
        is_sync = bundle["mode"] == "sync"
        builtins_.parallel = self._parallel if self._is_session else parallel_sync if is_sync else parallel_async
        builtins_.pages = self._pages if self._is_session else pages_sync if is_sync else pages_async
        self._max_output_bytes = message["max_output_bytes"]
        self._max_result = message.get("max_result", {"bytes": self._max_output_bytes, "values": MAX_VALUES})
        self._console.begin(self._max_output_bytes, message["max_stderr_bytes"])
        environment = message.get("environment")
        trace = None if environment is None else TraceSender(self._environment, self._channel)
        self._environment.begin(environment)
        tracebacks = Tracebacks(bundle["file_name"], bundle["source"])
        for program in programs.values():
            tracebacks.add(program["file_name"], program["source"])
        outcome = self._outcome(bundle, tracebacks, message.pop("files", []))
        if self._is_session and _getpid() == self._process:
            self._abandon_work()
        if _getpid() != self._process:
            # This is a child process of the program. It reports nothing.
            self._console.flush()
            _exit(0)
        self._report(outcome, trace)

    def _outcome(self, bundle: Bundle, tracebacks: Tracebacks, files: list[ProgramFile]) -> tuple[str, str] | Failure:
        """The JSON of the program's value and its source; or how the program failed."""
        try:
            _place_files(files)
            files.clear()
            value = self._value(bundle)
            self._console.end()
            if value is _NOT_SET:
                return serialize_console(self._console.text(), self._console.last_line(), self._max_output_bytes)
            text = serialize_result(value, self._max_result["bytes"], self._max_result["values"])
            return (text, "result") if isinstance(text, str) else text
        except SystemExit as error:
            return make_failure("ScriptError", f"SystemExit: the program ended with {_exit_code(error)}")
        except MemoryError as error:
            _free_memory()
            return tracebacks.describe(error)
        except BaseException as error:
            return tracebacks.describe(error)

    def _value(self, bundle: Bundle) -> object:
        """Runs the program to its end and returns its value."""
        code = compile_program(bundle["source"], bundle["file_name"])
        if self._is_session:
            self._caller.remember(code)
        main = self._main.__dict__
        main.update(self._modules.bind_globals(code))
        main.update({"__builtins__": builtins, "__file__": bundle["file_name"], RETURN: TopLevelReturnError})
        sys.modules["__main__"] = self._main
        returned: object = _NOT_SET
        try:
            self._execute(code)
        except TopLevelReturnError as error:
            returned = error.value
        except SystemExit as error:
            if _exit_code(error) != 0:
                raise
        value = main.get("result", returned)
        if value is _NOT_SET or (value is None and "result" not in main):
            last = main.get(LAST)
            value = last if last is not None and not self._has_printed() else _NOT_SET
        if inspect.isawaitable(value):
            value = self._loop.run_until_complete(_awaited(value))
        self._end_work()
        return value

    def _execute(self, code: CodeType) -> None:
        kept = builtins.__dict__.copy()
        try:
            if is_coroutine(code):
                self._loop.run_until_complete(eval(code, self._main.__dict__))
            else:
                exec(code, self._main.__dict__)
        finally:
            # The program's replacements may fail, and the runner needs the originals to report how it ended.
            builtins.__dict__.update(kept)

    def _has_printed(self) -> bool:
        self._console.flush()
        return self._console.has_printed

    def _end_work(self) -> None:
        """Cancels tasks that are left, waits for calls and threads, and runs the program's exit functions."""
        self._cancel_tasks()
        for future in self._caller.unanswered():
            if not future.done():
                # If it fails, the program fails, because nothing else would notice.
                self._environment.order.wait_until(future.done)
            error = None if future.cancelled() else _unheard_error(future)
            if error is not None:
                raise error
        if self._is_session:
            _join_threads()
        else:
            cast("Any", threading)._shutdown()
        cast("Any", atexit)._run_exitfuncs()

    def _cancel_tasks(self) -> None:
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    def _report(self, outcome: tuple[str, str] | Failure, trace: TraceSender | None) -> None:
        """Prints the claim and reports the program as done."""
        _mask_signals(signal.SIG_BLOCK, _ALL_SIGNALS)
        _settrace(None)
        _setprofile(None)
        self._console.end()
        if isinstance(outcome, tuple):
            line = f'{{"ok":true,"data":{outcome[0]},"from":"{outcome[1]}"}}\n'
        else:
            line = f"{_dumps({'ok': False, 'error': outcome})}\n"
        claim = line.encode("utf-8", "replace")
        write_all(self._claim_stream, claim)
        done = {"type": "done", "bytes": len(claim), "console_bytes": self._console.bytes_written}
        self._channel.send(*([] if trace is None else [trace.message()]), done)
        if not self._is_session:
            # The sandbox is about to be ended. Threads that the program left would run meanwhile.
            if _count_threads() == 0:
                _await_signal((), self._linger_seconds)
            _exit(0)

    def _parallel(self, functions: Iterable[Callable[[], Any]], limit: int | None = None) -> Any:
        """Runs functions concurrently, and blocks if the calling program is synchronous."""
        run = parallel_sync if self._caller.mode_of(_caller_of(1)) == "sync" else parallel_async
        return run(functions, limit)

    def _pages(self, function: ToolFunction, arguments: object = None, /, **keywords: object) -> Any:
        """The pages of a list, which the program that has called it iterates over in its own way."""
        iterate = pages_sync if self._caller.mode_of(_caller_of(1)) == "sync" else pages_async
        return iterate(function, arguments, **keywords)

    def _begin_in_session(self) -> None:
        """Leaves the program only the names of earlier ones."""
        _mask_signals(signal.SIG_SETMASK, ())
        if self._address_space is None:
            self._address_space = resource.getrlimit(resource.RLIMIT_AS)
            sys.addaudithook(self._audit)
            # Whatever is registered so far is the interpreter's own, for its exit.
            cast("Any", atexit)._clear()
        resource.setrlimit(resource.RLIMIT_AS, self._address_space)
        # The modules or their functions may have changed since they were imported.
        for name in [name for name in sys.modules if name.partition(".")[0] in (PACKAGE, PROGRAMS)]:
            del sys.modules[name]

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Notes that a program of a session called native code, which may have done anything to this process."""
        if event.startswith("ctypes.") or (event == "import" and arguments[0] in ("_ctypes", "_cffi_backend")):
            self._has_native_code = True

    def _abandon_work(self) -> None:
        """Removes everything the program left that would run by itself: tasks, threads, timers, signals, calls and finalizers.
        This comes before the program is reported as done, because it may call the program's code."""
        _mask_signals(signal.SIG_BLOCK, _ALL_SIGNALS)
        _settrace(None)
        _setprofile(None)
        # The program has already failed, or its leftovers are lost anyway.
        with contextlib.suppress(BaseException):
            self._cancel_tasks()
        self._console.end()
        cast("Any", self._loop)._default_executor = None
        self._caller.abandon()
        self._environment.order.abandon()
        self._loop.forget()
        cast("Any", atexit)._clear()
        _reset_signals()
        faulthandler.cancel_dump_traceback_later()
        until = real_monotonic_ns() + _THREADS_PATIENCE_NS
        while _count_threads() > 0 and real_monotonic_ns() < until:
            real_sleep(0.001)
        for name in ("result", LAST):
            self._main.__dict__.pop(name, None)
        cast("Any", builtins).data = cast("Any", builtins).emit = None
        _collect()
        if self._has_native_code:
            with open("/proc/self/comm", "w", encoding="ascii") as name:
                name.write(_NATIVE_NAME)


def _reset_signals() -> None:
    """Restores the interpreter's signal handlers and stops the program's timers."""
    for timer in _TIMERS:
        signal.setitimer(timer, 0)
    signal.set_wakeup_fd(-1)
    pending = signal.sigpending()
    for number, handler in _SIGNAL_HANDLERS.items():
        if handler is None or (number not in pending and signal.getsignal(number) == handler):
            continue
        if number in (signal.SIGKILL, signal.SIGSTOP):
            continue
        # Ignoring a signal discards it if it is pending.
        signal.signal(number, signal.SIG_IGN)
        signal.signal(number, handler)


def _collect() -> None:
    """Runs the finalizers of garbage now, not in the next program. Garbage that keeps producing more is never collected."""
    gc.callbacks.clear()
    gc.enable()
    for _ in range(_MAX_COLLECTIONS):
        if _collect_garbage() == 0:
            return
    gc.freeze()


def _join_threads() -> None:
    """Waits for threads like the interpreter's exit, which cannot be done twice. Also ends thread pools."""
    pools = cast("Any", concurrent.futures.thread)
    workers = list(pools._threads_queues.items())
    pools._shutdown = True
    try:
        for _, queue in workers:
            queue.put(None)
        for worker, _ in workers:
            worker.join()
    finally:
        pools._shutdown = False
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()


def _unheard_error(future: "asyncio.Future[Any]") -> BaseException | None:
    """The error of a future, unless something has already retrieved it."""
    if not cast("Any", future)._log_traceback:
        return None
    return future.exception()


async def _awaited(value: Any) -> Any:
    return await value


def _exit_code(error: SystemExit) -> object:
    code: object = error.code
    return 0 if code is None else code


def _free_memory() -> None:
    """Lifts the limit, so that there is enough memory to report the failure."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _place_files(files: Iterable[ProgramFile]) -> None:
    """Writes the files given to the program into its workspace. They are read-only, so that the program does not change one by
    mistake; in a session, a file replaces one of the same name from an earlier program."""
    for file in files:
        name = file["name"]
        path = f"{_FILES_FOLDER}/{name}"
        try:
            _makedirs(_FILES_FOLDER, exist_ok=True)
            _remove(path)
            _write_file(path, _decode(file["base64"]))
        except OSError as error:
            reason = f"the file files/{name} could not be copied into the sandbox: {error.strerror}"
            raise OSError(reason) from None


def _remove(path: str) -> None:
    try:
        _unlink(path)
    except FileNotFoundError:
        return
    except OSError:
        if not _is_folder(path):
            raise
        _remove_folder(path)


def _write_file(path: str, content: bytes) -> None:
    fd = _open(path, _FILE_FLAGS, 0o444)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[_write(fd, rest) :]
    finally:
        _close(fd)
