"""Makes every start method of `multiprocessing` work in a program.

The methods `spawn` and `forkserver` start a new interpreter, which imports the main module again to find the functions that it
is to run. A program has no file that could be imported, so each child would die, and a pool would wait for ever. These methods
fork instead.
"""

from multiprocessing.context import ForkServerProcess, SpawnProcess
from typing import Any, cast


def fork_always() -> None:
    """From now on, processes of all start methods are copies of the program's."""
    for kind in (SpawnProcess, ForkServerProcess):
        cast("Any", kind)._Popen = staticmethod(_fork)


def _fork(process: Any) -> Any:
    from multiprocessing.popen_fork import Popen

    return Popen(process)
