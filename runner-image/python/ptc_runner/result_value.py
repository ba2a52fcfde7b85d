"""Turns a value of the program into JSON: its result, or the arguments of a call."""

import json
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from enum import Enum
from math import isfinite
from sys import float_info
from typing import Any, cast
from uuid import UUID

from ptc_runner.console import cut_to_bytes
from ptc_runner.failure import Failure, make_failure
from ptc_runner.limits import ENVELOPE_OVERHEAD_BYTES, MAX_MEMBERS, MAX_NESTING_DEPTH, MAX_VALUES, TRUNCATION_MARK

_dumps = json.dumps
_loads = json.loads
_LARGEST_INT = int(float_info.max)
_LONG_NUMBER = re.compile(r"\d{309}")
_FOR_FRAMES = "for a DataFrame, df.replace({float('nan'): None})"


class UnsendableError(TypeError):
    """JSON cannot carry a value. The message names the value and says what to do."""


class TooLargeError(UnsendableError):
    """A value is larger than its reader takes."""


def to_json(value: object, name: str = "result", max_values: int = MAX_VALUES) -> str:
    """The JSON text of a value. Raises UnsendableError, in terms of `name`."""
    try:
        text = _dumps(value, default=_plain, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError, OverflowError, AttributeError):
        text = _dumps(_Reader(name).read(value, name, 0), separators=(",", ":"))
    else:
        nested = text.count("[") + text.count("{") > MAX_NESTING_DEPTH
        if nested or _LONG_NUMBER.search(text) is not None:
            _Reader(name).read(value, name, 0)
    if len(text) > min(2 * max_values, 5 * MAX_MEMBERS):
        values, members = _count_values(text)
        if values > max_values:
            raise TooLargeError(f"{name} holds more than {max_values} values")
        # A result that goes to a file may be as broad as it is large.
        if members > MAX_MEMBERS and max_values <= MAX_VALUES:
            raise TooLargeError(f"{name} has an object with more than {MAX_MEMBERS} members")
    return text


class _Reader:
    """Walks a value and makes it plain, or names the part that cannot be."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ancestors: set[int] = set()

    def read(self, value: object, path: str, depth: int) -> Any:
        if value is None or value is True or value is False or isinstance(value, str):
            return value
        if isinstance(value, int):
            if -_LARGEST_INT <= value <= _LARGEST_INT:
                return int(value)
            raise UnsendableError(f"{path} is a whole number of more than 308 digits, which readers of JSON refuse: use str(x)")
        if isinstance(value, float):
            if isfinite(value):
                return float(value)
            raise UnsendableError(f"{path} is {float(value)}, which JSON cannot carry: use None, or str(x); {_FOR_FRAMES}")
        if isinstance(value, (Mapping, list, tuple)):
            return self._read_container(cast("Any", value), path, depth)
        return self.read(_plain(value, path), path, depth)

    def _read_container(self, value: Any, path: str, depth: int) -> Any:
        identity = id(cast("object", value))
        if identity in self._ancestors:
            raise UnsendableError(f"{path} refers back to what contains it, which JSON cannot carry")
        if depth >= MAX_NESTING_DEPTH:
            raise UnsendableError(f"{self._name} nests deeper than {MAX_NESTING_DEPTH} levels, which is more than is carried")
        self._ancestors.add(identity)
        try:
            if isinstance(value, Mapping):
                items = cast("Mapping[object, object]", value).items()
                return {_key(key, path): self.read(each, f"{path}[{key!r}]", depth + 1) for key, each in items}
            return [self.read(each, f"{path}[{index}]", depth + 1) for index, each in enumerate(value)]
        finally:
            self._ancestors.discard(identity)


def _key(key: object, path: str) -> str:
    if isinstance(key, str):
        return str(key)
    if key is None or isinstance(key, (bool, int, float)):
        return _dumps(key)
    plain = _plain(key, f"a key of {path}")
    if isinstance(plain, str):
        return plain
    raise UnsendableError(f"{path} has a key that is a {type(key).__name__}, which JSON cannot carry: use str(key)")


def _plain(value: object, path: str = "") -> Any:
    """A replacement for a value that JSON does not know. Raises UnsendableError if there is none."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(cast("Mapping[object, object]", value))
    if isinstance(value, BaseException):
        return _members_of(value)
    # numpy arrays and numbers, and pandas columns.
    to_list = getattr(value, "tolist", None)
    if callable(to_list) and not isinstance(value, type):
        return to_list()
    raise UnsendableError(f"{path} is a {type(value).__name__}, which JSON cannot carry{_advice(value)}")


def _members_of(error: BaseException) -> dict[str, Any]:
    """An exception is its name, its message and all further members, as an error is in runner-image/node/json-value.ts."""
    members: dict[str, Any] = {"name": type(error).__name__, "message": str(error)}
    for name, member in vars(error).items():
        if not name.startswith("_") and member is not None:
            members.setdefault(name, member)
    if isinstance(error, BaseExceptionGroup):
        members["message"] = cast("BaseExceptionGroup[BaseException]", error).message
        members["errors"] = list(cast("BaseExceptionGroup[BaseException]", error).exceptions)
    if error.__cause__ is not None:
        members["cause"] = error.__cause__
    return members


def _advice(value: object) -> str:
    if isinstance(value, (set, frozenset)):
        return ": use sorted(x) or list(x)"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return ": use x.decode(), or base64"
    if hasattr(value, "__await__"):
        return ": await it"
    if hasattr(value, "to_dict"):
        return ': use x.to_dict("records") or x.to_dict()'
    if hasattr(value, "__dataclass_fields__"):
        return ": use dataclasses.asdict(x)"
    if hasattr(value, "_asdict"):
        return ": use x._asdict()"
    if hasattr(value, "__iter__"):
        return ": use list(x)"
    return ": use its parts, or str(x)"


_RETURN_LESS = (
    "return less: a count, a summary, the fields you need or the first items; or hand all of it over as a file: "
    "emit(json.dumps(value), name='result.json')"
)


def serialize_result(value: object, max_output_bytes: int, max_values: int = MAX_VALUES) -> str | Failure:
    """The JSON of the program's result, or why there is none."""
    try:
        text = to_json(value, max_values=max_values)
    except TooLargeError as error:
        return make_failure("OutputLimit", f"the {error}; {_RETURN_LESS}")
    except UnsendableError as error:
        return make_failure("ResultNotSerializable", str(error))
    room = max_output_bytes - ENVELOPE_OVERHEAD_BYTES
    if len(text) > room:
        # Text that is not ASCII is shorter in UTF-8 than escaped.
        text = _dumps(_loads(text), ensure_ascii=False, separators=(",", ":"))
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > room:
            return make_failure(
                "OutputLimit",
                f"the result is {size} bytes of JSON and at most {room} fit; {_RETURN_LESS}",
            )
        text = text.encode("utf-8", "replace").decode()
    return text


def serialize_console(text: str, last_line: str | None, max_output_bytes: int) -> tuple[str, str]:
    """The value of a program without a result, as JSON, and its source: its last line if that is JSON, else its text."""
    room = max_output_bytes - ENVELOPE_OVERHEAD_BYTES
    if last_line is not None and len(last_line) <= room:
        try:
            return to_json(read_line(last_line)), "line"
        except (ValueError, TypeError, RecursionError):
            # It is plain text.
            pass
    return _cut_to_json(text.removesuffix("\n"), room), "console"


def read_line(line: str) -> object:
    """Parses a line. Raises ValueError if it is not JSON, or would be written differently: a version `3.10`, a name twice."""
    value = _loads(
        line,
        parse_constant=_refuse,
        parse_float=_read_float,
        parse_int=_read_int,
        object_pairs_hook=_read_object,
    )
    # The host writes no float as Python does if it is a whole number or has an exponent.
    if isinstance(value, float) and re.search(r"e|\.0$", line.strip()) is not None:
        raise ValueError(line)
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _read_float(text: str) -> float:
    value = float(text)
    if repr(value) != text or text == "-0.0":
        raise ValueError(text)
    return value


def _read_int(text: str) -> int:
    value = int(text)
    if str(value) != text:
        raise ValueError(text)
    return value


def _read_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands twice")
    return members


def _cut_to_json(text: str, room: int) -> str:
    """The JSON of a text, or of as much of its beginning as fits with the truncation mark."""

    def json_of(part: str) -> str:
        return _dumps(part, ensure_ascii=False).encode("utf-8", "replace").decode()

    whole = json_of(text)
    if len(whole.encode()) <= room:
        return whole
    data = text.encode("utf-8", "replace")
    fits, too_many = 0, room
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if len(json_of(f"{cut_to_bytes(data, middle)}\n{TRUNCATION_MARK}").encode()) <= room:
            fits = middle
        else:
            too_many = middle
    return json_of(f"{cut_to_bytes(data, fits)}\n{TRUNCATION_MARK}")


def _count_values(text: str) -> tuple[int, int]:
    """The values in a JSON text, and the most members of one of its objects."""

    def count(value: object) -> tuple[int, int]:
        total = 0
        most = 0
        waiting: list[object] = [value]
        while waiting:
            each = waiting.pop()
            total += 1
            if isinstance(each, dict):
                most = max(most, len(cast("dict[str, object]", each)))
                waiting.extend(cast("dict[str, object]", each).values())
            elif isinstance(each, list):
                waiting.extend(cast("list[object]", each))
        return total, most

    return count(_loads(text))
