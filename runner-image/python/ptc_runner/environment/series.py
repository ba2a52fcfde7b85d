"""A sequence of integers as text, as in protocol/series.ts: base64 of pairs of LEB128 numbers, a difference and a count."""

from base64 import b64decode, b64encode

_MAX_PAIR_BYTES = 16


class SeriesWriter:
    """Appends integers until `max_bytes` are used, and ignores all later ones."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = bytearray()
        self._last = 0
        self._difference = 0
        self._count = 0
        self.full = False

    def push(self, value: int) -> None:
        if self.full:
            return
        difference = value - self._last
        if difference == self._difference and self._count > 0:
            self._count += 1
        elif len(self._bytes) + 2 * _MAX_PAIR_BYTES > self._max_bytes:
            self.full = True
            return
        else:
            if self._count > 0:
                _append_pair(self._bytes, self._difference, self._count)
            self._difference = difference
            self._count = 1
        self._last = value

    @property
    def byte_length(self) -> int:
        """Bytes, before base64, of the pairs that further integers do not change."""
        return len(self._bytes)

    def text(self) -> str:
        whole = bytearray(self._bytes)
        if self._count > 0:
            _append_pair(whole, self._difference, self._count)
        return b64encode(whole).decode("ascii")


class SeriesReader:
    """Reads a series integer by integer. A malformed one ends at the first error."""

    def __init__(self, text: str) -> None:
        try:
            self._bytes = b64decode(text)
        except ValueError:
            self._bytes = b""
        self._at = 0
        self._last = 0
        self._difference = 0
        self._count = 0

    def next(self) -> int | None:
        if self._count == 0:
            zigzag = self._number()
            count = self._number()
            if zigzag is None or not count:
                self._at = len(self._bytes)
                return None
            self._difference = zigzag // 2 if zigzag % 2 == 0 else -(zigzag + 1) // 2
            self._count = count
        self._count -= 1
        self._last += self._difference
        return self._last

    def _number(self) -> int | None:
        value = 0
        for shift in range(0, 56, 7):
            if self._at >= len(self._bytes):
                return None
            byte = self._bytes[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        return None


def _append_pair(target: bytearray, difference: int, count: int) -> None:
    for number in (-2 * difference - 1 if difference < 0 else 2 * difference, count):
        rest = number
        while rest >= 128:
            target.append(128 | (rest & 127))
            rest >>= 7
        target.append(rest)
