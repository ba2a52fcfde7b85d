"""Sends the host the trace of a run, whole each time: now and then while it runs, when the host asks, and at its end."""

from typing import Any

from ptc_runner.channel import Channel
from ptc_runner.environment.environment import Environment
from ptc_runner.environment.program_clock import real_monotonic_ns

_FIRST_AFTER_NS = 1_000_000_000
_SHARE = 8
"""The pause before the next trace is this part of the time so far, so that they are few."""


class TraceSender:
    """A run that is killed has sent most of its trace."""

    def __init__(self, environment: Environment, channel: Channel) -> None:
        self._environment = environment
        self._channel = channel
        self._begun_ns = real_monotonic_ns()
        self._next_ns = self._begun_ns + _FIRST_AFTER_NS
        environment.order.before_waiting = self.send_if_due
        environment.order.on_trace_request = self.send

    def message(self) -> dict[str, Any]:
        """The trace so far, for a caller that sends it together with something else."""
        return {"type": "trace", "trace": self._environment.trace()}

    def send(self) -> None:
        self._channel.send(self.message())

    def send_if_due(self) -> None:
        now = real_monotonic_ns()
        if now >= self._next_ns:
            self._next_ns = now + max(_FIRST_AFTER_NS, (now - self._begun_ns) // _SHARE)
            self.send()
