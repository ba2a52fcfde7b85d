"""Prepares the interpreter for a program, and runs it. The order matters: modules that keep a clock, a lock or a source of
randomness must be imported after those have been replaced."""

import gc
import importlib
import json
import os
import platform
import socket
import sys
from typing import Any, TypedDict, cast

from ptc_runner.channel import Channel
from ptc_runner.environment.environment import Environment
from ptc_runner.limits import PROTOCOL_VERSION

_PRELOADED = (
    "abc argparse array base64 bisect calendar cmath collections colorsys concurrent.futures contextlib copy csv dataclasses "
    "datetime decimal difflib enum fnmatch fractions functools glob hashlib heapq hmac html html.parser io inspect "
    "ipaddress itertools json logging math multiprocessing numbers operator os pathlib pprint queue random re secrets shutil "
    "statistics string struct subprocess tempfile textwrap threading time traceback types typing unicodedata urllib.parse "
    "uuid warnings weakref xml.etree.ElementTree zipfile zlib zoneinfo"
).split()
_PACKAGES_FILE = "/usr/lib/ptc-python-packages.json"
"""Lists the additional packages that the image was built with: their versions and modules."""

_STACK_BYTES = 4 * 1024 * 1024
"""The stack of a thread: enough for deep recursion, but small enough for many threads in the program's memory."""


def start(argv: list[str]) -> None:
    """Never returns."""
    fd = -1
    memory_bytes = 0
    for argument in argv[1:]:
        name, _, value = argument.partition("=")
        # The guard names the socket that leads to the broker.
        if name == "--channel":
            fd = int(value)
        elif name == "--memory-mb":
            memory_bytes = int(value) * 1024 * 1024
    # Programs see the same arguments in every sandbox.
    argv[:] = [""]
    channel = Channel(socket.socket(fileno=fd))
    environment = Environment(channel)
    environment.install()

    import asyncio
    import threading

    from ptc_runner.child_processes import fork_always
    from ptc_runner.console import Console
    from ptc_runner.environment.blocked_threads import watch_blocked_threads
    from ptc_runner.environment.program_loop import ProgramLoop, ProgramLoopPolicy, make_run
    from ptc_runner.environment.replace_hashes import replace_hashes
    from ptc_runner.program_run import ProgramRun
    from ptc_runner.standard_output import take_claim_stream

    packages = _packages()
    # Packages may use OpenSSL while they are imported, and a copy of this process must reseed it. So `ssl` is imported too.
    for module in (*_PRELOADED, *packages["modules"], *(["ssl"] if packages["modules"] else [])):
        try:
            importlib.import_module(module)
        except Exception:
            # Programs get the error when they import the module.
            continue
    watch_blocked_threads(environment.order)
    threading.stack_size(_STACK_BYTES)
    replace_hashes()
    fork_always()
    loop = ProgramLoop(environment.order)
    asyncio.set_event_loop_policy(ProgramLoopPolicy(loop))
    asyncio.run = make_run(loop)
    claim_stream = take_claim_stream()
    console = Console()
    console.install()
    os.register_at_fork(after_in_child=environment.order.forget_threads)
    run = ProgramRun(channel, environment, console, loop, claim_stream)
    sys.path[:] = [path for path in sys.path if not path.startswith("/opt/ptc")]
    if memory_bytes > 0:
        _limit_memory(memory_bytes)
    gc.collect()
    gc.freeze()
    versions = [f"{name} {version}" for name, version in packages["versions"].items()]
    runtime = "; ".join([f"Python {platform.python_version()}", *versions])
    hello = {"type": "hello", "protocol": PROTOCOL_VERSION, "language": "python", "runtime": runtime}
    channel.send(hello)
    while True:
        for message in channel.read():
            # Late answers to calls of a program that has ended are ignored.
            if message["type"] == "program":
                run.run(cast("Any", message))
            elif message["type"] == "next":
                channel.answer(cast("Any", message))
                channel.send(hello)
            elif message["type"] == "wake":
                environment.renew_randomness()
                channel.send(hello)


class _Packages(TypedDict):
    versions: dict[str, str]
    modules: list[str]


def _packages() -> _Packages:
    try:
        with open(_PACKAGES_FILE, encoding="utf-8") as file:
            return cast("_Packages", json.load(file))
    except OSError:
        return {"versions": {}, "modules": []}


def _limit_memory(limit_bytes: int) -> None:
    """Limits the memory that the program may use on top of what the interpreter uses now. Beyond it, MemoryError is raised."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + limit_bytes, resource.RLIM_INFINITY))
