"""Notices a thread that waits inside of the system while it has its turn, and has the others go on without it."""

from _thread import start_new_thread

from ptc_runner.environment.event_order import EventOrder
from ptc_runner.environment.program_clock import real_sleep

_LOOK_EVERY_S = 0.02
_LOOKS = 3
"""How often in a row a thread is found asleep before it loses its turn."""


def watch_blocked_threads(order: EventOrder) -> None:
    """Begins to look as soon as a program has a second thread."""

    def watch() -> None:
        found: tuple[int, int] | None = None
        looks = 0
        while True:
            real_sleep(_LOOK_EVERY_S)
            now = (order.turns, order.running)
            if not order.is_held_up() or now[1] in order.astray or not _is_asleep(now[1]):
                found = None
                continue
            looks = looks + 1 if now == found else 1
            found = now
            if looks >= _LOOKS:
                order.lose_turn()

    def start() -> None:
        start_new_thread(watch, ())

    order.on_first_thread = start


def _is_asleep(identity: int) -> bool:
    native = native_ids.get(identity)
    if native is None:
        return False
    try:
        with open(f"/proc/self/task/{native}/stat", encoding="ascii", errors="replace") as stat:
            # The name in front of the state may hold anything, parentheses too.
            return stat.read().rpartition(")")[2].split()[0] == "S"
    except OSError:
        return False


native_ids: dict[int, int] = {}
"""The system's number of each thread that takes turns."""
