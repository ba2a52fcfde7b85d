"""
Sends everything a program prints to stderr, record by record as it happens, so that nothing is lost when the process dies
(protocol/console-stream.ts). `sys.stdout` is the program's output, `sys.stderr` its log.
"""

import codecs
import io
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from ptc_runner.environment.program_clock import real_sleep
from ptc_runner.limits import TRUNCATION_MARK
from ptc_runner.standard_output import StandardOutput

_STDERR = 2
_write = os.write
_dumps = json.dumps


def write_all(fd: int, data: bytes) -> None:
    """Writes all bytes before it returns, waiting while a pipe is full. A closed pipe swallows the rest."""
    view = memoryview(data)
    while view:
        try:
            view = view[_write(fd, view) :]
        except BlockingIOError:
            real_sleep(0.001)
        except OSError:
            return


class TextCap:
    """Lets text through up to a number of UTF-8 bytes, then one mark, then nothing."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._truncated = False

    def take(self, text: str) -> str:
        if self._truncated or text == "":
            return ""
        # No character takes more than four bytes.
        if 4 * len(text) > self._left:
            data = text.encode("utf-8", "surrogatepass")
            if len(data) > self._left:
                self._truncated = True
                head = cut_to_bytes(data, self._left)
                return f"{head}{'' if head == '' or head.endswith(chr(10)) else chr(10)}{TRUNCATION_MARK}\n"
            self._left -= len(data)
        else:
            self._left -= len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        return text


def cut_to_bytes(data: bytes, max_bytes: int) -> str:
    """The longest beginning of at most `max_bytes` that does not split a character."""
    return data[:max_bytes].decode("utf-8", "ignore")


class LastLine:
    """The last line of a text that arrives in pieces, as long as it stays within `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._current = ""
        self._complete: str | None = None
        self._overlong = False

    def push(self, text: str) -> None:
        head, *others = text.split("\n")
        self._append(head)
        if others:
            self._end_line()
            # Only the last non-empty line can matter.
            for line in reversed(others[:-1]):
                if line.strip() != "":
                    self._complete = line if len(line) <= self._max else None
                    break
            self._append(others[-1])

    def value(self) -> str | None:
        """None if there is no line, or it is too long."""
        if self._overlong:
            return None
        return self._current if self._current.strip() != "" else self._complete

    def _append(self, piece: str) -> None:
        if self._overlong:
            return
        self._current += piece
        if len(self._current) > self._max:
            self._current = ""
            self._overlong = True

    def _end_line(self) -> None:
        if self._overlong or self._current.strip() != "":
            self._complete = None if self._overlong else self._current
        self._current = ""
        self._overlong = False


class _Sink(io.RawIOBase):
    """Underlies a text stream of the program: it takes bytes and decodes them."""

    def __init__(self, take: Callable[[str], None], fd: int, name: str, before: Callable[[], None]) -> None:
        super().__init__()
        self._take = take
        self._before = before
        self._fd = fd
        self.name = name
        self.mode = "wb"
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return False

    def write(self, data: Any, /) -> int:
        self._before()
        with memoryview(data) as view:
            self._take(self._decoder.decode(view.tobytes()))
            return view.nbytes


class Console:
    """The program's stdout and stderr, and what it writes to descriptor 1. Output before `begin` and after `end` is dropped."""

    def __init__(self) -> None:
        self._begun = False
        self._kept: list[str] = []
        self._out = self._err = TextCap(0)
        self._last = LastLine(0)
        self.bytes_written = 0
        self.has_printed = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._written = StandardOutput(lambda data: self._take_out(self._decoder.decode(data)))

    def install(self) -> None:
        for stream, take, fd in (("stdout", self._take_out, 1), ("stderr", self._take_err, 2)):
            sink = _Sink(take, fd, f"<{stream}>", self._written.drain)
            # Each line is sent when it is complete.
            text = io.TextIOWrapper(
                io.BufferedWriter(sink, 1), encoding="utf-8", errors="backslashreplace", line_buffering=True
            )
            setattr(sys, stream, text)
            setattr(sys, f"__{stream}__", text)

    def begin(self, max_output_bytes: int, max_stderr_bytes: int) -> None:
        self._written.drain()
        self._decoder.reset()
        self._kept = []
        self.bytes_written = 0
        self.has_printed = False
        self._out, self._err = TextCap(max_output_bytes), TextCap(max_stderr_bytes)
        self._last = LastLine(max_output_bytes)
        self._begun = True
        self._streams = (sys.stdout, sys.stderr)

    def flush(self) -> None:
        """Sends incomplete lines."""
        for stream in self._streams:
            try:
                stream.flush()
            except ValueError:
                # The program closed it.
                continue
        self._written.drain()

    def end(self) -> None:
        self.flush()
        self._begun = False

    def text(self) -> str:
        """The printed text, cut at its limit."""
        return "".join(self._kept)

    def last_line(self) -> str | None:
        return self._last.value()

    def _take_out(self, text: str) -> None:
        if not self._begun or text == "":
            return
        self.has_printed = True
        shown = self._out.take(text)
        if shown != "":
            self._send("out", shown)
            self._kept.append(shown)
        self._last.push(text)

    def _take_err(self, text: str) -> None:
        if self._begun:
            shown = self._err.take(text)
            if shown != "":
                self._send("err", shown)

    def _send(self, stream: str, text: str) -> None:
        record = b"\x1e" + _dumps([stream, text]).encode("ascii") + b"\n"
        self.bytes_written += len(record)
        write_all(_STDERR, record)
