"""Replaces the interpreter's randomness with one that follows from a seed. What OpenSSL generates internally is untouched."""

import os
import random
import sys
from _blake2 import blake2b
from typing import Any, cast

from ptc_runner.environment.replace_clocks import replace_function

_BLOCK_BYTES = 64
_real_urandom = os.urandom


class ProgramRandomness:
    """Random bytes: BLAKE2b of the seed in counter mode."""

    def __init__(self) -> None:
        self._key = _real_urandom(32)
        self._counter = 0
        self._rest = b""

    def renew(self) -> None:
        """Reseeds everything from the kernel after the memory of this process was copied from a snapshot. OpenSSL seeds itself
        when it is first used, so this only matters if a package used it while being imported."""
        ssl = cast("Any", sys.modules.get("ssl"))
        if ssl is not None:
            ssl.RAND_add(_real_urandom(32), 32.0)
        self.seed(_real_urandom(32))

    def seed(self, seed: bytes) -> None:
        """From now on all randomness follows from these bytes, including that of `random`."""
        self._key = seed[:64]
        self._counter = 0
        self._rest = b""
        random.seed(int.from_bytes(self.take(32), "little"))
        numpy_random = cast("Any", sys.modules.get("numpy.random"))
        if numpy_random is not None:
            numpy_random.seed(int.from_bytes(self.take(4), "little"))

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        pieces = [self._rest]
        have = len(self._rest)
        while have < size:
            block = blake2b(self._counter.to_bytes(8, "little"), key=self._key, digest_size=_BLOCK_BYTES).digest()
            self._counter += 1
            pieces.append(block)
            have += _BLOCK_BYTES
        whole = b"".join(pieces)
        self._rest = whole[size:]
        return whole[:size]

    def install(self) -> None:
        """Must be called before a module is imported that keeps `os.urandom`."""

        def urandom(size: int) -> bytes:
            return _real_urandom(size) if size < 0 else self.take(size)

        def getrandom(size: int, flags: int = 0) -> bytes:
            return urandom(size)

        randomness = self

        def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
            original_seed(self, int.from_bytes(randomness.take(32), "little") if a is None else a, version)

        original_seed = random.Random.seed
        replace_function(os, "urandom", urandom)
        replace_function(os, "getrandom", getrandom)
        replace_function(random, "_urandom", urandom)
        random.Random.seed = seed
        # The functions of the module are bound methods of one object that already exists.
        cast("Any", random).seed = cast("Any", random)._inst.seed
