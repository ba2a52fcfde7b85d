"""
The order in which calls are answered and timers fire, and which thread runs meanwhile.

All waiting of a program happens here: its event loop, blocking calls, `time.sleep`, locks that another thread holds. One thread
runs at a time, until it waits; then the next one whose wait is over runs, in the order in which they began to wait; only if
there is none does one event happen. A live run logs the events. A replay makes them happen in the order of the log; no real
time need pass. So the behaviour of a program follows from its text, its data and the log.

Not covered: processes, signals, and waiting inside the system, such as for a file or a pipe. A thread that does so keeps its
turn for a moment; then the others continue without it (see blocked_threads.py), and likewise without one that computes for
long.
"""

import os
import signal
from _thread import allocate_lock, get_ident, get_native_id, start_new_thread
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from ptc_runner.channel import Channel
from ptc_runner.environment.program_clock import real_monotonic_ns
from ptc_runner.environment.series import SeriesReader, SeriesWriter

# Taken before it is replaced.
real_start_thread = start_new_thread

_NOTHING = -1
"""Logged when the order looked for an event and found none."""
_NS = 1_000_000_000
_LOOK_EVERY = 64
"""After this many turns without an event the order looks for one, so that work that never waits does not hold up events."""

NOTHING_LEFT = (
    "the program waits for something that can never happen: no call is in flight and no timer is set; "
    "look for a future that nobody sets, a queue that nobody fills or a lock that nobody releases"
)

Reply = dict[str, Any]


class NothingLeftError(RuntimeError):
    """The whole program is waiting, and nothing can end the wait."""


NothingLeftError.__module__ = "builtins"
NothingLeftError.__qualname__ = "RuntimeError"


class ProgramEndedError(SystemExit):
    """Raised in a thread whose program has ended, to end the thread too."""


class _Timer:
    __slots__ = ("delay_ns", "deliver", "due_ns")

    def __init__(self, delay_ns: int, deliver: Callable[[], None]) -> None:
        self.delay_ns = delay_ns
        self.deliver = deliver
        self.due_ns = real_monotonic_ns() + delay_ns


class _Parked:
    """A thread that waits until `ready` returns true and another thread opens its gate."""

    __slots__ = ("gate", "hopeless", "ready")

    def __init__(self, ready: Callable[[], bool]) -> None:
        self.ready = ready
        self.hopeless = False
        self.gate = allocate_lock()
        self.gate.acquire()


class EventOrder:
    """There is one per runner. Its methods are for the thread whose turn it is, unless they say otherwise."""

    def __init__(self, channel: Channel, max_log_bytes: int) -> None:
        self._channel = channel
        self._max_log_bytes = max_log_bytes
        self._calls: dict[int, Callable[[Reply], None]] = {}
        self._timers: dict[int, _Timer] = {}
        self._due: list[tuple[int, int]] = []
        # Answers that have arrived but are not yet delivered.
        self._come: deque[int] = deque()
        self._replies: dict[int, Reply] = {}
        self._parked: list[_Parked] = []
        # Threads that lost their turn because they wait inside the system or compute for long.
        self.astray: set[int] = set()
        # Threads that were started and have not ended.
        self._threads: set[int] = set()
        # Threads of programs that have ended. They get no further turn, and end where they wait.
        self._abandoned: set[int] = set()
        # Whether threads that hold up others are being watched for.
        self.is_watched = False
        self.turns = 0
        self.running = get_ident()
        # The system's ID of that thread.
        self.running_native = get_native_id()
        self.awaits_events = False
        # Called before each wait for something from outside.
        self.before_waiting: Callable[[], None] = lambda: None
        # Called when the host asks for a trace.
        self.on_trace_request: Callable[[], None] = lambda: None
        self.on_first_thread: Callable[[], None] = lambda: None
        self._wake_in, self._wake_out = -1, -1
        # The file that is readable when an event loop has files to handle, if it has any, and the function that handles them.
        self.watched: Callable[[], int | None] = lambda: None
        self.look_at_files: Callable[[], None] = lambda: None
        self._watching: int | None = None
        self._yields = 0
        # Guards the return of a thread at a time when there may be no other thread to give it a turn.
        self._coming_back = allocate_lock()
        self._nobody_runs = False
        self.start(None)

    def start(self, events: str | None) -> None:
        """Begins a live run, or the replay of a log."""
        self.log = SeriesWriter(self._max_log_bytes)
        self._next_call = 0
        self._next_timer = 1
        self._replay = None if events is None else SeriesReader(events)
        self._next: int | None = None
        self._advance()

    def abandon(self) -> None:
        """The program has ended: none of its events happen from now on. The calling thread continues without the others."""
        self._abandoned |= (self._threads | self.astray) - {get_ident()}
        self.astray.clear()
        self._take_turn()
        parked = list(self._parked)
        self._parked.clear()
        for each in parked:
            each.gate.release()
        self.is_watched = False
        self._calls.clear()
        self._timers.clear()
        self._due.clear()
        self._come.clear()
        self._replies.clear()
        self._nobody_runs = False
        self.before_waiting = lambda: None
        self.on_trace_request = lambda: None

    def _end_abandoned(self) -> None:
        """Ends the calling thread if its program has ended."""
        if get_ident() in self._abandoned:
            raise ProgramEndedError

    # What can happen

    def expect_answer(self, deliver: Callable[[Reply], None]) -> int:
        """The id for a call that is about to be sent. Its answer is delivered in its turn."""
        if self._abandoned:
            self._end_abandoned()
        call_id = self._next_call
        self._next_call += 1
        self._calls[call_id] = deliver
        return call_id

    def forget_call(self, call_id: int) -> None:
        """The call was not sent."""
        self._calls.pop(call_id, None)

    def set_timer(self, seconds: float, deliver: Callable[[], None]) -> int:
        """Calls `deliver` after some time."""
        timer_id = self._next_timer
        self._next_timer += 1
        timer = _Timer(max(0, int(min(seconds, 1e9) * _NS)), deliver)
        self._timers[timer_id] = timer
        heappush(self._due, (timer.due_ns, timer_id))
        return timer_id

    def drop_timer(self, timer_id: int) -> None:
        self._timers.pop(timer_id, None)

    # Who runs

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Lets others run, and events happen, until `ready` returns true. `ready` is called often and must change nothing."""
        if self._abandoned:
            self._end_abandoned()
        if self.astray:
            self.find_back()
        while not ready():
            following = self._take_ready() if self._parked else None
            if following is None:
                self._happen_next()
            else:
                self._hand_over(following, ready)

    def wait_for(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Like `wait_until`, but for a limited time. Returns whether it is ready."""
        late = False

        def fire() -> None:
            nonlocal late
            late = True

        timer = self.set_timer(seconds, fire)
        try:
            self.wait_until(lambda: late or ready())
        finally:
            self.drop_timer(timer)
        return ready()

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.wait_for(lambda: False, seconds)
        else:
            self.let_others_run()

    def let_others_run(self) -> None:
        """Lets a thread run whose wait is over. If there is none, an event that is already there happens."""
        if self._abandoned:
            self._end_abandoned()
        if self.astray:
            self.find_back()
        self._yields += 1
        following = self._take_ready() if self._parked and self._yields % _LOOK_EVERY != 0 else None
        if following is None:
            self.look()
        else:
            self._hand_over(following, lambda: True)

    def begin_thread(self, run: Callable[[], None]) -> int:
        """Starts a thread that takes turns with the others; its first comes when the caller waits. Returns its identity."""
        self.open_wake()
        parked = _Parked(lambda: True)

        def body() -> None:
            parked.gate.acquire()
            try:
                if get_ident() not in self._abandoned:
                    self._take_turn()
                    run()
            finally:
                self._leave_turn()

        identity = real_start_thread(body, ())
        self._threads.add(identity)
        self._parked.append(parked)
        if not self.is_watched:
            self.is_watched = True
            self.on_first_thread()
        return identity

    def is_held_up(self) -> bool:
        """Whether threads wait for a turn or an event while the one whose turn it is does not wait here. For any thread."""
        waits_here = self.awaits_events or self._nobody_runs or self.running in self.astray
        return bool(self._parked) and not waits_here

    def is_wanted(self) -> bool:
        """Whether a thread could continue, or an event could happen, without the one whose turn it is. For any thread."""
        awaited = self._calls or self._timers or self.watched() is not None
        return bool(awaited) or any(parked.ready() for parked in list(self._parked))

    def lose_turn(self) -> None:
        """Lets the others continue without the thread whose turn it is. For a thread that takes no turns."""
        self.astray.add(self.running)
        self.pass_turn_on()

    def forget_threads(self) -> None:
        """Called in the child of a fork, which has only the thread that called it."""
        self._parked.clear()
        self.astray.clear()
        self._take_turn()

    def _hand_over(self, following: _Parked, ready: Callable[[], bool]) -> None:
        me = _Parked(ready)
        self._parked.append(me)
        self._open_gate(following)
        me.gate.acquire()
        self._end_abandoned()
        self._take_turn()
        if me.hopeless:
            raise NothingLeftError(NOTHING_LEFT)

    def _open_gate(self, following: _Parked) -> None:
        """Ends the turn of the calling thread. Nothing runs until the other thread has woken up, which may take a while."""
        self.running = self.running_native = 0
        following.gate.release()

    def _take_turn(self) -> None:
        self.turns += 1
        self.running = get_ident()
        self.running_native = get_native_id()

    def _take_ready(self) -> _Parked | None:
        for index, parked in enumerate(self._parked):
            if parked.ready():
                del self._parked[index]
                return parked
        return None

    def _leave_turn(self) -> None:
        """The thread that calls this has ended."""
        self._threads.discard(get_ident())
        if get_ident() in self._abandoned:
            self._abandoned.discard(get_ident())
        elif get_ident() in self.astray:
            self.astray.discard(get_ident())
            self.wake()
        else:
            self.pass_turn_on()

    def pass_turn_on(self) -> None:
        """Lets another thread run as soon as one can."""
        while self._parked:
            following = self._take_ready()
            if following is None:
                try:
                    self._happen_next()
                    continue
                except NothingLeftError:
                    # The thread that has waited longest gets the error.
                    following = self._parked.pop(0)
                    following.hopeless = True
            self._open_gate(following)
            return
        with self._coming_back:
            self._nobody_runs = not self._parked
        if not self._nobody_runs:
            self.pass_turn_on()

    def find_back(self) -> None:
        """Puts a thread that has lost its turn in line again."""
        me = get_ident()
        if me not in self.astray:
            return
        parked = _Parked(lambda: True)
        with self._coming_back:
            takes_it = self._nobody_runs
            self._nobody_runs = False
            if not takes_it:
                self._parked.append(parked)
        if not takes_it:
            self.wake()
            parked.gate.acquire()
            self._end_abandoned()
        self.astray.discard(me)
        self._take_turn()

    # What happens

    def look(self) -> None:
        """Makes one event happen if there is one, without waiting."""
        if self._replay is None:
            if not self._happen_live(waits=False):
                self.log.push(_NOTHING)
        elif self._next == _NOTHING:
            self.log.push(_NOTHING)
            self._advance()
        elif self._next is not None:
            self._happen_replayed(self._next)

    def _happen_next(self) -> None:
        """Waits for one event and makes it happen. May return without one, so that the caller looks again."""
        if self._replay is None:
            self._happen_live(waits=True)
        elif self._next is None or self._next == _NOTHING:
            self._leave_replay()
        else:
            self._happen_replayed(self._next)

    def _happen_live(self, waits: bool) -> bool:
        was_woken = False
        if self._wake_in >= 0 or self._watching is not None:
            # Whatever has arrived is taken in the order of arrival.
            was_woken = self._take_in(0)
        if self._come:
            self._happen(self._come.popleft())
            return True
        until_due = self._until_due()
        if until_due == 0:
            self._happen(2 * heappop(self._due)[1] + 1)
            return True
        if was_woken and waits:
            # A thread may have come back since the waiting one looked for it.
            return False
        if waits and until_due is None and self._waits_for_nothing():
            raise NothingLeftError(NOTHING_LEFT)
        self._take_in(until_due if waits else 0)
        if waits or not self._come:
            return False
        self._happen(self._come.popleft())
        return True

    def _happen_replayed(self, event: int) -> None:
        event_id, is_timer = divmod(event, 2)
        if event_id not in (self._timers if is_timer else self._calls):
            # Something outside the log may still cause it.
            if self.astray or self.watched() is not None:
                self._take_in(None)
            else:
                self._leave_replay()
            return
        if not is_timer:
            while event not in self._come:
                self._take_in(None)
            self._come.remove(event)
        self._advance()
        self._happen(event)

    def _happen(self, event: int) -> None:
        event_id, is_timer = divmod(event, 2)
        self.log.push(event)
        if is_timer:
            self._timers.pop(event_id).deliver()
        else:
            self._calls.pop(event_id)(self._replies.pop(event_id))

    def _advance(self) -> None:
        self._next = None if self._replay is None else self._replay.next()
        if self._next is None:
            self._leave_replay()

    def _leave_replay(self) -> None:
        """The log has ended, or the program differs from the recorded one: from here on it runs live."""
        if self._replay is None:
            return
        self._replay = None
        self._next = None
        now = real_monotonic_ns()
        self._due = []
        for timer_id, timer in self._timers.items():
            heappush(self._due, (now + timer.delay_ns, timer_id))

    def _until_due(self) -> int | None:
        """Milliseconds until the next timer, rounded up; None without one."""
        while self._due and self._due[0][1] not in self._timers:
            heappop(self._due)
        if not self._due:
            return None
        left = self._due[0][0] - real_monotonic_ns()
        return 0 if left <= 0 else -(-left // 1_000_000)

    def _waits_for_nothing(self) -> bool:
        if self._calls or self.astray or self.watched() is not None:
            return False
        return signal.getitimer(signal.ITIMER_REAL)[0] == 0

    # What comes from outside

    def open_wake(self) -> None:
        """From now on `wake` ends a wait for events."""
        if self._wake_in < 0:
            self._wake_in, self._wake_out = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            self._channel.watch(self._wake_in)

    def wake(self) -> None:
        """Ends a wait for events, so that the waiting thread looks again. For any thread and for signal handlers."""
        if self._wake_out >= 0:
            try:
                os.write(self._wake_out, b"!")
            except OSError:
                # The pipe is full, so the wait ends anyway.
                return

    def _take_in(self, timeout_ms: int | None) -> bool:
        """Waits until something arrives from outside, and takes it. Returns whether `wake` was called."""
        was_woken = False
        files = self.watched()
        if files != self._watching:
            self._watch(files)
        self.before_waiting()
        self.awaits_events = True
        try:
            # If there is only one source, it is read without polling first.
            is_alone = timeout_ms is None and files is None and self._wake_in < 0
            if is_alone or self._channel.wait(timeout_ms):
                self._keep(self._channel.read())
            if self._wake_in >= 0:
                was_woken = self._empty_wake()
        finally:
            self.awaits_events = False
        if files is not None:
            self.look_at_files()
        return was_woken

    def _watch(self, files: int | None) -> None:
        if self._watching is not None:
            self._channel.unwatch(self._watching)
        if files is not None:
            self._channel.watch(files)
        self._watching = files

    def _empty_wake(self) -> bool:
        try:
            return os.read(self._wake_in, 4096) != b""
        except BlockingIOError:
            return False

    def _keep(self, replies: list[Reply]) -> None:
        for reply in replies:
            if reply.get("type") == "trace":
                self.on_trace_request()
                continue
            call_id: Any = reply.get("id")
            if call_id in self._calls and call_id not in self._replies:
                self._replies[call_id] = reply
                self._come.append(2 * call_id)
