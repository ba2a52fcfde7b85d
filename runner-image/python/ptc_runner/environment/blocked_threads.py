"""Notices a thread that waits inside of the system while it has its turn, and has the others go on without it."""

from ptc_runner.environment.event_order import EventOrder, real_start_thread
from ptc_runner.environment.program_clock import real_sleep

_LOOK_EVERY_S = 0.02
_LOOKS = 3
"""How often in a row a thread is found asleep before it loses its turn."""


def watch_blocked_threads(order: EventOrder) -> None:
    """Begins to look as soon as a program has a second thread."""

    def watch() -> None:
        found: int | None = None
        looks = 0
        while True:
            real_sleep(_LOOK_EVERY_S)
            now = order.turns
            if not order.is_held_up() or not _is_asleep(order.running_native):
                found = None
                continue
            looks = looks + 1 if now == found else 1
            found = now
            if looks >= _LOOKS:
                order.lose_turn()

    def start() -> None:
        real_start_thread(watch, ())

    order.on_first_thread = start


def _is_asleep(native: int) -> bool:
    """Whether the thread with this number of the system's waits inside of it."""
    try:
        with open(f"/proc/self/task/{native}/stat", encoding="ascii", errors="replace") as stat:
            # The name in front of the state may hold anything, parentheses too.
            return stat.read().rpartition(")")[2].split()[0] == "S"
    except OSError:
        return False
