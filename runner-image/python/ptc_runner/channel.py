"""The runner's end of the socket. A frame is a length in four bytes, big-endian, and UTF-8 JSON (protocol/frames.ts)."""

import hmac
import json
import select
import socket
from _thread import allocate_lock
from typing import Any, cast

from ptc_runner.limits import MAX_CALL_FRAME_BYTES, MAX_REPLY_FRAME_BYTES

_RECEIVE_BYTES = 256 * 1024
_dumps = json.dumps
_loads = json.loads
_hmac = hmac.digest


class FrameError(Exception):
    """A message is too large."""


class Channel:
    """A connection to the broker, read by the thread that waits. `read` may be called by one thread at a time."""

    def __init__(self, connection: socket.socket) -> None:
        connection.set_inheritable(False)
        self._socket = connection
        self._sending = allocate_lock()
        self._received = bytearray()
        self._incomplete: dict[str, Any] | None = None
        # The key of a session, and the mark in front of each message of the current program.
        self._key: bytes | None = None
        self._mark = b""
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)

    def fileno(self) -> int:
        return self._socket.fileno()

    def answer(self, challenge: dict[str, str]) -> None:
        """Answers the host's challenge: from now on every message begins with the answer (NextRequest in protocol/wire)."""
        if self._key is None and "key" in challenge:
            self._key = bytes.fromhex(challenge["key"])
        if self._key is not None:
            self._mark = _hmac(self._key, bytes.fromhex(challenge["nonce"]), "sha256")

    def send(self, *messages: dict[str, Any]) -> None:
        """Sends messages in one piece."""
        self._send_all(b"".join(self._frame(_dumps(message)) for message in messages))

    def send_json(self, text: str) -> None:
        """Sends one message. Raises FrameError if it is larger than the host accepts."""
        self._send_all(self._frame(text))

    def _send_all(self, data: bytes) -> None:
        with self._sending:
            self._socket.sendall(data)

    def _frame(self, text: str) -> bytes:
        message = text.encode("utf-8", "surrogatepass")
        if len(message) > MAX_CALL_FRAME_BYTES:
            raise FrameError(f"a message of {len(message)} bytes exceeds the limit of {MAX_CALL_FRAME_BYTES}")
        return (len(self._mark) + len(message)).to_bytes(4, "big") + self._mark + message

    def watch(self, fd: int) -> None:
        """Makes `wait` also return when another file can be read."""
        self._poll.register(fd, select.POLLIN)

    def unwatch(self, fd: int) -> None:
        self._poll.unregister(fd)

    def wait(self, timeout_ms: float | None) -> bool:
        """Waits until a message or a watched file can be read. Returns whether it is a message."""
        ready = self._poll.poll(timeout_ms)
        own = self._socket.fileno()
        return any(fd == own for fd, _ in ready)

    def read(self) -> list[dict[str, Any]]:
        """Waits for bytes and returns the messages that they complete, if any."""
        chunk = self._socket.recv(_RECEIVE_BYTES)
        if not chunk:
            # Without a host there is nothing left to do.
            raise ConnectionError("the host is gone")
        received = self._received
        received += chunk
        messages: list[dict[str, Any]] = []
        at = 0
        while len(received) - at >= 4:
            length = int.from_bytes(received[at : at + 4], "big")
            if length > MAX_REPLY_FRAME_BYTES:
                raise ConnectionError("the host sent a message that is too large")
            if len(received) - at - 4 < length:
                break
            message = self._take(received[at + 4 : at + 4 + length])
            if message is not None:
                messages.append(message)
            at += 4 + length
        del received[:at]
        return messages

    def _take(self, payload: bytearray) -> dict[str, Any] | None:
        """Takes a message, or one of its texts (protocol/frames.ts). Returns the message once it is complete."""
        message = self._incomplete
        if message is None:
            message = cast("dict[str, Any]", _loads(payload))
        else:
            _put_text(message, message["texts"].pop(0), payload.decode())
        self._incomplete = message if message.get("texts") else None
        return message if self._incomplete is None else None


def _put_text(message: dict[str, Any], place: list[str | int], text: str) -> None:
    holder: Any = message
    for name in ("data", *place[:-1]) if place else ():
        holder = holder[name]
    holder[place[-1] if place else "data"] = text
