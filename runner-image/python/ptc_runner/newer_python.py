"""Says of an error that a program is written for a newer Python than the one that runs it, and what to write instead."""

import platform
import re

_TYPE_STATEMENT = re.compile(r"\s*type\s+\w+\s*(?:\[.*\]\s*)?=")
_TYPE_PARAMETERS = re.compile(r"\s*(?:(?:async\s+)?def|class)\s+\w+\s*\[")
_TEMPLATE = re.compile(r"(?<![\w'\"])(?:[tT][rR]?|[rR][tT])['\"]")
_F_STRING = re.compile(r"(?<![\w'\"])(?:[fF][rR]?|[rR][fF])('''|\"\"\"|'|\")")
_MISSING = (
    re.compile(r"module '([\w.]+)' has no attribute '(\w+)'"),
    re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'"),
    re.compile(r"'(?:Posix|Pure|PurePosix)?(Path)' object has no attribute '(\w+)'"),
    re.compile(r"type object '(?:Posix|Pure|PurePosix)?(Path)' has no attribute '(\w+)'"),
    re.compile(r"No module named '([\w.]+)'"),
)
_NEWER = {
    "itertools.batched": ("3.12", "use [x[i : i + n] for i in range(0, len(x), n)]"),
    "math.sumprod": ("3.12", "use sum(map(operator.mul, a, b))"),
    "typing.override": ("3.12", "leave it out"),
    "typing.TypeAliasType": ("3.12", "use typing.TypeAlias"),
    "collections.abc.Buffer": ("3.12", "use bytes | bytearray | memoryview"),
    "random.binomialvariate": ("3.12", "use sum(random.random() < p for _ in range(n))"),
    "calendar.Month": ("3.12", "use a number"),
    "calendar.Day": ("3.12", "use a number"),
    "Path.walk": ("3.12", "use os.walk"),
    "Path.full_match": ("3.13", "use fnmatch.fnmatch(str(path), pattern)"),
    "Path.copy": ("3.14", "use shutil.copy"),
    "Path.move": ("3.14", "use shutil.move"),
    "copy.replace": ("3.13", "use dataclasses.replace, or x._replace of a named tuple"),
    "warnings.deprecated": ("3.13", "leave it out"),
    "typing.TypeIs": ("3.13", "use typing.TypeGuard"),
    "typing.ReadOnly": ("3.13", "leave it out"),
    "typing.NoDefault": ("3.13", "leave it out"),
    "glob.translate": ("3.13", "use fnmatch.translate"),
    "queue.ShutDown": ("3.13", "put a value that means the end"),
    "asyncio.QueueShutDown": ("3.13", "put a value that means the end"),
    "uuid.uuid6": ("3.14", "use uuid.uuid1"),
    "uuid.uuid7": ("3.14", "use uuid.uuid4"),
    "uuid.uuid8": ("3.14", "use uuid.uuid5"),
    "heapq.heappush_max": ("3.14", "use heapq.heappush with -x"),
    "heapq.heappop_max": ("3.14", "use heapq.heappop with -x"),
    "annotationlib": ("3.14", "use typing.get_type_hints"),
    "compression": ("3.14", "use zlib, gzip, bz2 or lzma"),
    "string.templatelib": ("3.14", "use f-strings"),
    "concurrent.interpreters": ("3.14", "use concurrent.futures.ProcessPoolExecutor"),
    "concurrent.futures.InterpreterPoolExecutor": ("3.14", "use concurrent.futures.ProcessPoolExecutor"),
}
"""What came with which version of the standard library, and what to write instead."""


def note_newer(error: BaseException, source: str) -> str | None:
    """A line about the error of a program, or None if a newer Python would not help it."""
    found = _newer_syntax(error, source) if isinstance(error, SyntaxError) else _newer_name(error)
    if found is None:
        return None
    what, version, instead = found
    if tuple(map(int, version.split("."))) <= tuple(map(int, platform.python_version_tuple()[:2])):
        return None
    return f"programs run on Python {platform.python_version()}, and {what} came with Python {version}: {instead}"


def _newer_syntax(error: SyntaxError, source: str) -> tuple[str, str, str] | None:
    lines = source.split("\n")
    if error.lineno is None or not 0 < error.lineno <= len(lines):
        return None
    line = lines[error.lineno - 1]
    if _TYPE_STATEMENT.match(line):
        return "the `type` statement", "3.12", "write Name = ..., or Name: TypeAlias = ... with TypeAlias from typing"
    if _TYPE_PARAMETERS.match(line):
        return "the type parameters in [...]", "3.12", 'write T = TypeVar("T"), and for a class Generic[T], from typing'
    if _TEMPLATE.search(line):
        return "the template string t'...'", "3.14", "use an f-string"
    inside = _newer_f_string(line)
    if inside is None:
        return None
    instead = (
        "use the other quotes inside"
        if inside == "the quotes of the f-string itself"
        else "set a variable before, and use that"
    )
    return f"{inside} inside the braces of an f-string", "3.12", instead


def _newer_f_string(line: str) -> str | None:
    """What stands inside the braces of an f-string that ends there in an older Python."""
    at = 0
    while (begun := _F_STRING.search(line, at)) is not None:
        quote, at = begun[1], begun.end()
        depth = 0
        while at < len(line) and (depth > 0 or not line.startswith(quote, at)):
            character = line[at]
            if depth > 0 and line.startswith(quote, at):
                return "the quotes of the f-string itself"
            if depth > 0 and character in "\\#":
                return "a backslash" if character == "\\" else "a comment"
            if character in "{}" and depth == 0 and line.startswith(character * 2, at):
                at += 1
            elif character == "{":
                depth += 1
            elif character == "}":
                depth = max(0, depth - 1)
            elif character == "\\":
                at += 1
            at += 1
        if depth > 0 and len(quote) == 1:
            return "a line break"
        at += len(quote)
    return None


def _newer_name(error: BaseException) -> tuple[str, str, str] | None:
    if not isinstance(error, (AttributeError, ImportError)):
        return None
    for pattern in _MISSING:
        found = pattern.search(str(error))
        if found is None:
            continue
        parts = found.groupdict()
        name = f"{parts['module']}.{parts['name']}" if parts else ".".join(found.groups())
        known = _NEWER.get(name)
        if known is not None:
            return name, *known
    return None
