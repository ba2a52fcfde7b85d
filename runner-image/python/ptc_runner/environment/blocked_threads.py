"""Detects a thread that keeps its turn while it waits inside the system or computes for long, and lets the others continue."""

import sys
from types import FrameType

from ptc_runner.environment.event_order import EventOrder, real_start_thread
from ptc_runner.environment.program_clock import real_sleep

_LOOK_EVERY_S = 0.02
_LOOKS = 3
"""How many times in a row a thread is found asleep before it loses its turn."""
_MAX_TICKS = 100
"""How long a thread may compute while others could run, in ticks of 10 ms of its own processor time. This does not depend on
how busy the machine is, so few turns are lost that a replay would not lose at the same place."""
_ORDER_FILE = EventOrder.wait_until.__code__.co_filename
_current_frames = sys._current_frames  # pyright: ignore[reportPrivateUsage]


def watch_blocked_threads(order: EventOrder) -> None:
    """Watches from the moment a program has a second thread until it ends."""

    def watch() -> None:
        found: int | None = None
        looks = began = 0
        while order.is_watched:
            real_sleep(_LOOK_EVERY_S)
            now, running = order.turns, order.running
            state = _state_of(order.running_native) if order.is_held_up() else None
            if state is None:
                found = None
                continue
            is_asleep, ticks = state
            if now != found:
                found, looks, began = now, 0, ticks
            looks = looks + 1 if is_asleep else 0
            if looks >= _LOOKS or (ticks - began >= _MAX_TICKS and order.is_wanted() and _is_outside(running)):
                if now == order.turns:
                    order.lose_turn()
                found = None

    def start() -> None:
        real_start_thread(watch, ())

    order.on_first_thread = start


def _state_of(native: int) -> tuple[bool, int] | None:
    """Whether the thread with this system ID is asleep in the system, and its processor time in ticks."""
    try:
        with open(f"/proc/self/task/{native}/stat", encoding="ascii", errors="replace") as stat:
            # The name in front of the state may contain anything, even parentheses.
            fields = stat.read().rpartition(")")[2].split()
            return fields[0] == "S", int(fields[11]) + int(fields[12])
    except OSError:
        return None


def _is_outside(identity: int) -> bool:
    """Whether a thread runs code outside the event order, so it is not just about to wait or to pass its turn on."""
    frame: FrameType | None = _current_frames().get(identity)
    while frame is not None:
        # All threads but the first run inside `body`.
        if frame.f_code.co_filename == _ORDER_FILE and frame.f_code.co_name != "body":
            return False
        frame = frame.f_back
    return True
