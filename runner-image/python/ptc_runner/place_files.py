"""Puts the files that a program was handed into its workspace."""

import base64
import os
import shutil
from collections.abc import Iterable
from typing import TypedDict

_FOLDER = "/workspace/files"
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
# Earlier programs of a session share this interpreter and may have replaced them.
_makedirs, _open, _write, _close, _unlink, _is_folder, _remove_folder, _decode = (
    os.makedirs,
    os.open,
    os.write,
    os.close,
    os.unlink,
    os.path.isdir,
    shutil.rmtree,
    base64.b64decode,
)


class ProgramFile(TypedDict):
    name: str
    base64: str


def place_files(files: Iterable[ProgramFile]) -> None:
    """They are not writable, so that a program does not change one by mistake; in a session, one of the same name takes the
    place of that of an earlier program."""
    for file in files:
        name = file["name"]
        path = f"{_FOLDER}/{name}"
        try:
            _makedirs(_FOLDER, exist_ok=True)
            _remove(path)
            _write_file(path, _decode(file["base64"]))
        except OSError as error:
            reason = f"the file files/{name} could not be copied into the sandbox: {error.strerror}"
            raise OSError(reason) from None


def _remove(path: str) -> None:
    try:
        _unlink(path)
    except FileNotFoundError:
        return
    except OSError:
        if not _is_folder(path):
            raise
        _remove_folder(path)


def _write_file(path: str, content: bytes) -> None:
    fd = _open(path, _FLAGS, 0o444)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[_write(fd, rest) :]
    finally:
        _close(fd)
