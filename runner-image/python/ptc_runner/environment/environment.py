"""
Everything a program can observe that does not follow from its text, its data and the answers to its calls: the clock, the
order of events and of threads, and randomness. A live run is logged; given the log, the run can be replayed.

Not covered: identities and addresses of objects, and hashes derived from them (tasks, futures and threads have other hashes);
processes and signals; what OpenSSL generates internally; waiting for files and sockets; file times, measures of memory, and
clocks inside compiled packages.
"""

import os
import time
from typing import Any, NotRequired, TypedDict

from ptc_runner.channel import Channel
from ptc_runner.environment.event_order import EventOrder
from ptc_runner.environment.program_clock import ProgramClock
from ptc_runner.environment.program_randomness import ProgramRandomness
from ptc_runner.environment.replace_clocks import replace_clocks
from ptc_runner.limits import MAX_TRACE_SERIES_CHARS

_MAX_SERIES_BYTES = MAX_TRACE_SERIES_CHARS // 4 * 3


class Replay(TypedDict):
    started_ms: int
    clock: str
    events: str
    resumes: NotRequired[bool]


class ProgramEnvironment(TypedDict, total=False):
    """protocol/messages.ts."""

    seed: str
    time_zone: str
    replay: Replay


class Environment:
    """Must be created before anything is imported that keeps a clock, a lock or a source of randomness."""

    def __init__(self, channel: Channel) -> None:
        self.clock = ProgramClock(_MAX_SERIES_BYTES)
        self.order = EventOrder(channel, _MAX_SERIES_BYTES)
        self._randomness = ProgramRandomness()

    def install(self) -> None:
        """Replaces the interpreter's own clocks, threads and randomness."""
        replace_clocks(self.clock)
        # Imported late because it imports modules that keep a clock.
        from ptc_runner.environment.replace_threads import replace_threads

        replace_threads(self.order)
        self._randomness.install()

    def renew_randomness(self) -> None:
        """Reseeds all randomness of this process after its memory was copied from a snapshot."""
        self._randomness.renew()

    def begin(self, environment: ProgramEnvironment | None) -> None:
        """The program starts now."""
        given = environment or {}
        zone = given.get("time_zone")
        if zone is not None and zone != os.environ.get("TZ"):
            os.environ["TZ"] = zone
            time.tzset()
        if "seed" in given:
            self._randomness.seed(bytes.fromhex(given["seed"]))
        replay = given.get("replay")
        if replay is None:
            self.clock.start(None)
            self.order.start(None)
        else:
            self.clock.start((replay["started_ms"], replay["clock"]), replay.get("resumes", False))
            self.order.start(replay["events"])

    def trace(self) -> dict[str, Any]:
        clock, events = self.clock.log, self.order.log
        return {
            "started_ms": self.clock.started_ms,
            "clock": clock.text(),
            "events": events.text(),
            "complete": not clock.full and not events.full,
        }
