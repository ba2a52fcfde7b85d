"""Checks the value of a saved program against the JSON Schema that its manifest declares, in the sandbox of its caller.

Everything refused here violates the schema. Keywords unknown to this check, such as `pattern`, refuse nothing; `ptc test` and
the host check the whole schema. runner-image/node/functions/saved-value.ts does the same for TypeScript programs.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from ptc_runner.tool_error import ToolError

_MAX_DEPTH = 150
"""Stops references that lead to themselves."""
_MAX_SHOWN_CHARS = 60
_PREFIX = "mcp__programs__"
_NAME = re.compile(r"[A-Za-z_$][\w$]*\Z")
_dumps = json.dumps

Schema = Mapping[str, Any]


class _At(NamedTuple):
    root: object
    place: str
    """The path to the value, as a script would write it."""
    depth: int


def check_saved_value(name: str, schema: object, value: object) -> None:
    """Raises a ToolError if the tool's output schema does not allow the value."""
    problem = _find_problem(schema, value, _At(schema, "", 0))
    if problem is None:
        return
    message = f"'{name}' gave a value that its own output schema does not allow: value{problem}"
    raise ToolError(message, server="programs", tool=name.removeprefix(_PREFIX))


def _find_problem(schema: object, value: object, at: _At) -> str | None:
    if schema is False:
        return f"{at.place} is not allowed"
    if not isinstance(schema, dict) or at.depth > _MAX_DEPTH:
        return None
    known = cast("Schema", schema)
    below = at._replace(depth=at.depth + 1)
    reference = known.get("$ref")
    if isinstance(reference, str):
        problem = _find_problem(_resolve(reference, at.root), value, below)
        if problem is not None:
            return problem
    problem = _check_type(known, value, at) or _check_choice(known, value, at) or _check_combined(known, value, below)
    if problem is not None:
        return problem
    if _is_number(value):
        return _check_number(known, cast("float", value), at)
    if isinstance(value, str):
        return _check_count(f"{at.place} must have", "characters", len(value), known.get("minLength"), known.get("maxLength"))
    if isinstance(value, list):
        return _check_items(known, cast("list[object]", value), below)
    if isinstance(value, dict):
        return _check_members(known, cast("dict[str, object]", value), below)
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or float(cast("float", value)).is_integer()),
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
}


def _check_type(schema: Schema, value: object, at: _At) -> str | None:
    given = schema.get("type")
    types = [each for each in (cast("list[object]", given) if isinstance(given, list) else [given]) if isinstance(each, str)]
    if not types or any(each not in _TYPES or _TYPES[each](value) for each in types):
        return None
    return f"{at.place} must be {' or '.join(types)}, not {_shown(value)}"


def _check_choice(schema: Schema, value: object, at: _At) -> str | None:
    choices: object = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(choices, list):
        return None
    known = cast("list[object]", choices)
    if any(_is_equal(each, value) for each in known):
        return None
    return f"{at.place} must be {' or '.join(map(_shown, known))[:200]}, not {_shown(value)}"


def _check_combined(schema: Schema, value: object, at: _At) -> str | None:
    """For `oneOf`, one match or more is enough: the alternatives may differ only in a keyword that is not known here."""
    for each in _list(schema.get("allOf")):
        problem = _find_problem(each, value, at)
        if problem is not None:
            return problem
    for key in ("anyOf", "oneOf"):
        choices = _list(schema.get(key))
        problems = [_find_problem(each, value, at) for each in choices]
        if choices and all(problem is not None for problem in problems):
            return problems[0] if len(choices) == 1 else f"{at.place} is none of what it may be ({_shown(value)})"
    return None


def _check_number(schema: Schema, value: float, at: _At) -> str | None:
    for key, is_wrong, words in _BOUNDS:
        bound = schema.get(key)
        if _is_number(bound) and is_wrong(value, cast("float", bound)):
            return f"{at.place} must be {words} {bound}, not {value}"
    return None


_BOUNDS: tuple[tuple[str, Callable[[float, float], bool], str], ...] = (
    ("minimum", lambda value, bound: value < bound, "at least"),
    ("maximum", lambda value, bound: value > bound, "at most"),
    ("exclusiveMinimum", lambda value, bound: value <= bound, "more than"),
    ("exclusiveMaximum", lambda value, bound: value >= bound, "less than"),
)


def _check_items(schema: Schema, value: Sequence[object], at: _At) -> str | None:
    counted = _check_count(f"{at.place} must have", "items", len(value), schema.get("minItems"), schema.get("maxItems"))
    if counted is not None:
        return counted
    items: object = schema.get("items")
    prefix = schema.get("prefixItems")
    first = _list(prefix) or _list(items)
    rest = schema.get("additionalItems") if isinstance(items, list) else items
    for index, item in enumerate(value):
        own = first[index] if index < len(first) else rest
        problem = _find_problem(own, item, at._replace(place=f"{at.place}[{index}]"))
        if problem is not None:
            return problem
    return None


def _check_members(schema: Schema, value: Mapping[str, object], at: _At) -> str | None:
    for name in _list(schema.get("required")):
        if isinstance(name, str) and name not in value:
            return f"{at.place} must have '{name}'"
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    counted = _check_count(f"{at.place} must have", "properties", len(value), least, most)
    if counted is not None:
        return counted
    properties: object = schema.get("properties")
    known: Schema = cast("Schema", properties) if isinstance(properties, dict) else {}
    rest = None if isinstance(schema.get("patternProperties"), dict) else schema.get("additionalProperties")
    for name, member in value.items():
        if name not in known and rest is False:
            return f"{at.place} must not have '{name[:_MAX_SHOWN_CHARS]}'"
        problem = _find_problem(known.get(name, rest), member, at._replace(place=at.place + _step(name)))
        if problem is not None:
            return problem
    return None


def _check_count(start: str, what: str, count: int, least: object, most: object) -> str | None:
    if _is_number(least) and count < cast("float", least):
        return f"{start} at least {least} {what}, not {count}"
    if _is_number(most) and count > cast("float", most):
        return f"{start} at most {most} {what}, not {count}"
    return None


def _resolve(reference: str, root: object) -> object:
    """The target of a reference within the schema; None, which allows everything, for any other reference."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found = root
    for part in reference.split("/")[1:]:
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = cast("dict[str, object]", found).get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(cast("list[object]", found)):
            found = cast("list[object]", found)[int(name)]
        else:
            return None
    return found


def _is_equal(a: object, b: object) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        ours, theirs = cast("list[object]", a), cast("list[object]", b)
        return len(ours) == len(theirs) and all(map(_is_equal, ours, theirs))
    if isinstance(a, dict) and isinstance(b, dict):
        own, other = cast("dict[str, object]", a), cast("dict[str, object]", b)
        return own.keys() == other.keys() and all(_is_equal(own[name], other[name]) for name in own)
    return a == b


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _step(name: str) -> str:
    return f".{name}" if _NAME.match(name) else f"[{_dumps(name[:_MAX_SHOWN_CHARS], ensure_ascii=False)}]"


def _shown(value: object) -> str:
    text = _dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}..."
