"""The one clock of a program, behind all the clocks it can read."""

import time

from ptc_runner.environment.series import SeriesReader, SeriesWriter

# Taken before any of them is replaced.
real_monotonic_ns = time.monotonic_ns
real_time_ns = time.time_ns
real_sleep = time.sleep

NS_PER_TICK = 10_000
"""The unit of readings: a hundredth of a millisecond."""
TICKS_PER_SECOND = 100_000

_COARSER_EVERY_BYTES = 8 * 1024
"""Each time the log has grown by this much, readings become twice as coarse, so that the log fills ever more slowly."""


class ProgramClock:
    """Every reading is logged. A replay returns the readings of the log. After the last of them, the clock continues from
    there, or from the current time if a run is resumed."""

    def __init__(self, max_log_bytes: int) -> None:
        self._max_log_bytes = max_log_bytes
        self.start(None)

    def start(self, replay: tuple[int, str] | None, resumes: bool = False) -> None:
        """Sets the clock to the current time, or to the start of a recorded run with that run's readings."""
        now_ms = real_time_ns() // 1_000_000
        self.started_ms = now_ms if replay is None else replay[0]
        # How far the current time was ahead of the replay at its start; None if the clock continues from the last reading.
        self._ahead_ns = (now_ms - self.started_ms) * 1_000_000 if resumes else None
        self.log = SeriesWriter(self._max_log_bytes)
        self._replay = None if replay is None else SeriesReader(replay[1])
        self._zero_ns = real_monotonic_ns()
        self._last = 0
        self._resolution = 1
        self._coarser_at = _COARSER_EVERY_BYTES

    def elapsed_ticks(self) -> int:
        """Ticks since the program started."""
        if self._replay is not None:
            reading = self._replay.next()
            if reading is not None:
                return self._keep(reading)
            self._replay = None
            if self._ahead_ns is None:
                self._zero_ns = real_monotonic_ns() - self._last * NS_PER_TICK
            else:
                self._zero_ns -= self._ahead_ns
        elapsed = (real_monotonic_ns() - self._zero_ns) // NS_PER_TICK
        return self._keep(max(elapsed - elapsed % self._resolution, self._last))

    def now_ns(self) -> int:
        """Nanoseconds since 1970."""
        return self.started_ms * 1_000_000 + self.elapsed_ticks() * NS_PER_TICK

    def _keep(self, reading: int) -> int:
        self._last = reading
        self.log.push(reading)
        if self.log.byte_length > self._coarser_at:
            self._resolution *= 2
            self._coarser_at += _COARSER_EVERY_BYTES
        return reading
