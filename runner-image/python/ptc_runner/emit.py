"""Blocks that a program sends to the client in addition to its output (protocol/emitted.ts)."""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import quote

from ptc_runner.limits import MAX_EMITTED_BLOCKS, MAX_EMITTED_BYTES

_TAKES = "emit takes a text, bytes with mime_type, or content blocks as tools return them"
_ELSE = f"{_TAKES}; return other values with result"
_TYPE = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,128}(?:; ?[\w.+-]{1,32}=[\w.+-]{1,64})?", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_MAX_URI_CHARS = 2_048
_MAX_NAME_CHARS = 256
_dumps = json.dumps

Block = dict[str, Any]


def make_emit(send: Callable[[Block], None]) -> Callable[..., None]:
    """Makes the function `emit`. `send` receives each block immediately."""
    blocks = 0
    size = 0

    def emit(value: object, mime_type: str | None = None, name: str | None = None) -> None:
        """Hands a text, bytes or content blocks to the client."""
        nonlocal blocks, size
        made = (
            [_block_of(each) for each in cast("list[object]", value)]
            if isinstance(value, list)
            else [_block_for(value, mime_type, name)]
        )
        if blocks + len(made) > MAX_EMITTED_BLOCKS:
            raise ValueError(f"emit: a program may emit {MAX_EMITTED_BLOCKS} blocks")
        whole = size + sum(len(_dumps(block, ensure_ascii=False).encode("utf-8", "replace")) for block in made)
        if whole > MAX_EMITTED_BYTES:
            raise ValueError(
                f"emit: this would make {whole} bytes of base64 and text, and a program may emit "
                f"{MAX_EMITTED_BYTES}; emit less, or smaller images"
            )
        blocks += len(made)
        size = whole
        for block in made:
            send(block)

    return emit


def bytes_of(value: object) -> bytes:
    """The bytes of an image, a sound or a resource that a tool returned; of a text, in UTF-8."""
    if isinstance(value, list) and len(cast("list[object]", value)) == 1:
        return bytes_of(cast("list[object]", value)[0])
    if isinstance(value, Mapping):
        block = cast("Mapping[str, object]", value)
        for key in ("data", "blob"):
            base64 = block.get(key)
            if isinstance(base64, str):
                return b64decode(base64)
        text = block.get("text")
        if isinstance(text, str):
            return text.encode()
        for key in ("resource", "contents"):
            if isinstance(block.get(key), (Mapping, list)):
                return bytes_of(block[key])
    raise TypeError("bytes_of takes one content block with data, such as an image, or one resource")


def _block_for(value: object, mime_type: str | None, name: str | None) -> Block:
    if isinstance(value, str):
        if mime_type is None and name is None:
            return {"type": "text", "text": value}
        return _checked({"type": "resource", "resource": {**_placed(name, mime_type), "text": value}})
    if not isinstance(value, (bytes, bytearray, memoryview)):
        return _block_of(value)
    held = bytes(cast("bytes", value))
    if not isinstance(mime_type, str):
        raise TypeError('emit: say what the bytes are: emit(data, mime_type="image/png")')
    if len(held) == 0:
        raise ValueError("emit: there are no bytes")
    base64 = b64encode(held).decode("ascii")
    kind = mime_type.split("/", 1)[0]
    if name is None and kind in ("image", "audio"):
        return _checked({"type": kind, "data": base64, "mimeType": mime_type})
    return _checked({"type": "resource", "resource": {**_placed(name, mime_type), "blob": base64}})


def _placed(name: str | None, mime_type: str | None) -> Block:
    place = {"uri": f"emitted:///{quote('file' if name is None else str(name), safe='')}"}
    return place if mime_type is None else {**place, "mimeType": mime_type}


_MEMBERS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": ("resource",),
    "resource_link": ("uri", "name", "title", "description", "mimeType"),
}


def _block_of(value: object) -> Block:
    """A tool's content block, reduced to the members that a client is given."""
    if not isinstance(value, Mapping):
        raise TypeError(_ELSE)
    block = cast("Mapping[str, Any]", value)
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _MEMBERS:
        raise TypeError(_ELSE)
    made: Block = {"type": kind}
    made.update((key, block[key]) for key in _MEMBERS[kind] if block.get(key) is not None)
    resource = made.get("resource")
    if isinstance(resource, Mapping):
        held = cast("Mapping[str, Any]", resource)
        content = "text" if held.get("text") is not None else "blob"
        made["resource"] = {key: held[key] for key in ("uri", "mimeType", content) if held.get(key) is not None}
    return _checked(made)


def _checked(block: Block) -> Block:
    wrong = _first_wrong(block)
    if wrong is not None:
        raise TypeError(f"emit: the block's {wrong} is not what MCP has there")
    return block


def _first_wrong(block: Block) -> str | None:
    kind = block["type"]
    if kind == "text":
        return None if isinstance(block.get("text"), str) else "text"
    if kind in ("image", "audio"):
        if not _is_base64(block.get("data")):
            return "data"
        mime_type = block.get("mimeType")
        return None if _is_type(mime_type) and str(mime_type).startswith(f"{kind}/") else "mimeType"
    if kind == "resource":
        return _wrong_resource(block.get("resource"))
    if not _is_text(block.get("uri"), _MAX_URI_CHARS) or block["uri"] == "":
        return "uri"
    if not _is_text(block.get("name"), _MAX_NAME_CHARS):
        return "name"
    if "title" in block and not _is_text(block["title"], _MAX_NAME_CHARS):
        return "title"
    if "description" in block and not isinstance(block["description"], str):
        return "description"
    return "mimeType" if "mimeType" in block and not _is_type(block["mimeType"]) else None


def _wrong_resource(resource: object) -> str | None:
    if not isinstance(resource, Mapping):
        return "resource"
    held = cast("Mapping[str, object]", resource)
    if not _is_text(held.get("uri"), _MAX_URI_CHARS) or held["uri"] == "":
        return "resource.uri"
    if "mimeType" in held and not _is_type(held["mimeType"]):
        return "resource.mimeType"
    if "text" in held:
        return None if isinstance(held["text"], str) else "resource.text"
    return None if _is_base64(held.get("blob")) else "resource.blob"


def _is_text(value: object, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most


def _is_type(value: object) -> bool:
    return isinstance(value, str) and _TYPE.fullmatch(value) is not None


def _is_base64(value: object) -> bool:
    return isinstance(value, str) and len(value) >= 4 and _BASE64.fullmatch(value) is not None
