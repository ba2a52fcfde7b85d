"""Keeps a program's descriptor 1 apart from the stream of the claim.

Descriptor 1 is a file in memory, so what a program writes there in any way becomes console text: `os.write`, a path such as
/dev/stdout, native code, and child processes that inherit it. A file has no reader that a writer would have to wait for, and
needs no thread, which the threads of a program would take turns with. The runner reads the file whenever the program prints,
and at its end, so the text has its place among what is printed. This is for programs that mean well; the host judges what comes
out of the sandbox all the same.
"""

import fcntl
import os
from collections.abc import Callable

_STDOUT = 1
_FIRST_HIGH = 512
"""Programs open no descriptors from here on, unless they open hundreds."""
_CHUNK_BYTES = 65_536
# Programs may replace them.
_pread, _size_of, _cut = os.pread, os.fstat, os.ftruncate


def take_claim_stream() -> int:
    """Puts a file in memory in the place of descriptor 1. Returns a descriptor of what that was, which no command inherits."""
    claim = _high(_STDOUT)
    file = os.memfd_create("stdout")
    fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND)
    os.dup2(file, _STDOUT)
    os.close(file)
    return claim


def _high(fd: int) -> int:
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_HIGH)
    except OSError:
        # Fewer may be open.
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STDOUT + 2)


class StandardOutput:
    """What the program has written to descriptor 1."""

    def __init__(self, take: Callable[[bytes], object]) -> None:
        self._take = take
        self._fd = _high(_STDOUT)
        self._is_own = True
        # What is written meanwhile is the parent's to read.
        os.register_at_fork(after_in_child=self._leave)

    def drain(self) -> None:
        """Takes what was written since."""
        if not self._is_own:
            return
        try:
            if _size_of(self._fd).st_size == 0:
                return
            offset = 0
            is_hole = True
            while data := _pread(self._fd, _CHUNK_BYTES, offset):
                offset += len(data)
                # A writer that opened the file anew goes on at its own place, and leaves a hole before it.
                text = data.lstrip(b"\0") if is_hole else data
                is_hole = text == b""
                self._take(text)
            _cut(self._fd, 0)
        except OSError:
            # The program has closed it.
            return

    def _leave(self) -> None:
        self._is_own = False
