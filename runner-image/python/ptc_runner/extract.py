"""The function with which a program coerces a text to a type, with the help of a model that the host asks."""

import dataclasses
import types
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NotRequired, Required, Union, cast

EXTRACT_TOOL = "mcp__ptc__extract"

Schema = dict[str, Any]

_MAX_DEPTH = 32
_WORDS: dict[str, Schema] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "any": {},
}
_CLASSES: dict[object, Schema] = {
    str: {"type": "string"},
    float: {"type": "number"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    None: {"type": "null"},
    Any: {},
    object: {},
    list: {"type": "array", "items": {}},
    dict: {"type": "object"},
}
_KNOWN = (
    "string, number, integer, boolean, null, date, datetime, any, a text in quotes ('open' | 'closed'), "
    "or one of these with [] behind it"
)


def make_extract(call: Callable[[str, object], Any]) -> Callable[[object, object], Any]:
    """`call` returns the data of a tool or, in a program that awaits its calls, an awaitable of it."""

    def extract(value: object, type: object) -> Any:
        """Coerces a text, or other data, to a type through a model."""
        schema = schema_of(type)
        answer = call(EXTRACT_TOOL, {"value": value, "schema": schema})
        if not _has_class(type):
            return answer
        return _built_later(type, cast("Any", answer)) if isinstance(answer, Awaitable) else build(type, answer)

    return extract


async def _built_later(type_: object, answer: Awaitable[Any]) -> Any:
    return build(type_, await answer)


def schema_of(type_: object, place: str = "type", depth: int = 0) -> Schema:
    """The JSON Schema of a type: a Python type, a TypedDict, a dataclass, a word ("string"), a list with the type of its items
    (["string"]), a dict with the types of its members ({"name": str, "phone?": str}), or a JSON Schema of an object or an array
    itself. Raises TypeError for anything else."""
    if depth > _MAX_DEPTH:
        raise TypeError(f"extract: {place} nests deeper than {_MAX_DEPTH} levels, or holds itself")
    below = depth + 1
    if isinstance(type_, str):
        return _schema_of_text(type_, place)
    if isinstance(type_, typing.Hashable) and type_ in _CLASSES:
        return dict(_CLASSES[type_])
    if isinstance(type_, Mapping):
        mapping = cast("Mapping[object, object]", type_)
        if mapping.get("type") in ("object", "array"):
            return dict(cast("Mapping[str, Any]", mapping))
        return _object({_member(name): (each, not str(name).endswith("?")) for name, each in mapping.items()}, place, below)
    if isinstance(type_, Sequence):
        items = cast("Sequence[object]", type_)
        if len(items) != 1:
            raise TypeError(f'extract: {place} is a list; write one type in it, that of the items: ["string"]')
        return {"type": "array", "items": schema_of(items[0], f"{place}[0]", below)}
    members = _members_of(type_)
    if members is not None:
        return _object(members, place, below)
    return _schema_of_generic(type_, place, below)


def _schema_of_generic(type_: object, place: str, depth: int) -> Schema:
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin is typing.Annotated:
        schema = schema_of(arguments[0], place, depth)
        texts = [each for each in arguments[1:] if isinstance(each, str)]
        return {**schema, "description": " ".join(texts)} if texts else schema
    if origin in (NotRequired, Required):
        return schema_of(arguments[0], place, depth)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [schema_of(each, place, depth) for each in arguments]}
    if origin in (list, set, frozenset, tuple) or (isinstance(origin, type) and issubclass(origin, Sequence)):
        items = [each for each in arguments if each is not Ellipsis]
        if len(items) != 1:
            raise TypeError(f"extract: {place} must have one type of items, such as list[str]")
        return {"type": "array", "items": schema_of(items[0], f"{place}[0]", depth)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1], f"{place}[...]", depth)}
    raise TypeError(f'extract: {place} is no type; write str, list[str], {{"name": str}}, a TypedDict or a dataclass')


def _members_of(type_: object) -> dict[str, tuple[object, bool]] | None:
    """The type of each member of a TypedDict or a dataclass, and whether it is required."""
    if typing.is_typeddict(type_):
        required = cast("Any", type_).__required_keys__
        hints = typing.get_type_hints(cast("Any", type_), include_extras=True)
        return {name: (each, name in required) for name, each in hints.items()}
    if _is_dataclass(type_):
        class_ = cast("Any", type_)
        hints = typing.get_type_hints(class_, include_extras=True)
        return {
            field.name: (
                hints[field.name],
                field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
            )
            for field in dataclasses.fields(class_)
            if field.init
        }
    return None


def _object(members: Mapping[str, tuple[object, bool]], place: str, depth: int) -> Schema:
    return {
        "type": "object",
        "properties": {name: schema_of(each, f"{place}.{name}", depth) for name, (each, _) in members.items()},
        "required": [name for name, (_, is_required) in members.items() if is_required],
        "additionalProperties": False,
    }


def _member(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"extract: the names of members are texts, and {name!r} is none")
    return name.removesuffix("?")


def _schema_of_text(text: str, place: str) -> Schema:
    values: list[str] = []
    schemas: list[Schema] = []
    for part in (each.strip() for each in text.split("|")):
        if len(part) >= 2 and part[0] == part[-1] and part[0] in "\"'":
            values.append(part[1:-1])
        else:
            schemas.append(_schema_of_word(part, place))
    if values:
        schemas.insert(0, {"type": "string", "enum": values})
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _schema_of_word(word: str, place: str) -> Schema:
    if word.endswith("[]"):
        return {"type": "array", "items": _schema_of_word(word[:-2].strip(), place)}
    if word not in _WORDS:
        raise TypeError(f"extract: {place} is '{word[:64]}', which is no type; write {_KNOWN}")
    return dict(_WORDS[word])


def _is_dataclass(type_: object) -> bool:
    return isinstance(type_, type) and dataclasses.is_dataclass(cast("Any", type_))


def _has_class(type_: Any) -> bool:
    """Whether values of a type contain dataclasses, which are more than JSON."""
    if _is_dataclass(type_):
        return True
    if isinstance(type_, str):
        return False
    members = _members_of(type_)
    if members is not None:
        return any(_has_class(each) for each, _ in members.values())
    if isinstance(type_, Mapping):
        return any(_has_class(each) for each in cast("Mapping[str, object]", type_).values())
    if isinstance(type_, Sequence):
        return any(_has_class(each) for each in cast("Sequence[object]", type_))
    return any(_has_class(each) for each in typing.get_args(type_) if not isinstance(each, str | int))


def build(type_: Any, value: Any) -> Any:
    """Turns a value that fits the schema of a type into one with dataclasses in place of objects."""
    if _is_dataclass(type_):
        members = _members_of(type_) or {}
        return type_(**{name: build(members[name][0], each) for name, each in value.items()})
    members = _members_of(type_)
    if members is not None:
        return {name: build(members[name][0], each) for name, each in value.items()}
    if isinstance(type_, Mapping) and isinstance(value, dict):
        shape = {str(name).removesuffix("?"): each for name, each in cast("Mapping[str, object]", type_).items()}
        return {name: build(shape.get(name, "any"), each) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(type_, list):
        return [build(cast("list[object]", type_)[0], each) for each in value]
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin in (typing.Annotated, NotRequired, Required):
        return build(arguments[0], value)
    if origin in (Union, types.UnionType):
        return _build_one(arguments, value)
    if isinstance(value, list) and arguments:
        return [build(arguments[0], each) for each in cast("list[Any]", value)]
    if isinstance(value, dict) and len(arguments) == 2:
        return {name: build(arguments[1], each) for name, each in cast("dict[str, Any]", value).items()}
    return cast("Any", value)


def _build_one(choices: Sequence[Any], value: Any) -> Any:
    """Builds a value of the first type that it fits."""
    for each in choices:
        members = _members_of(each)
        if members is not None and isinstance(value, dict):
            names = set(cast("dict[str, Any]", value))
            required = {name for name, (_, is_required) in members.items() if is_required}
            if required <= names <= set(members):
                return build(each, value)
        elif isinstance(value, list) and typing.get_origin(each) is list:
            return build(each, cast("Any", value))
    return cast("Any", value)
