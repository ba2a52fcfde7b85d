"""Tools of the MCP server "filesystem". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Literal, NotRequired, TypedDict, overload

class ListDirectoryOutput(TypedDict):
    content: str

class ListDirectoryInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str

# ptc {"tool": "mcp__filesystem__list_directory", "input": "ListDirectoryInput"}
@overload
@_either_way
async def list_directory(
    *,
    path: str,
) -> ListDirectoryOutput:
    """Get a detailed listing of all files and directories in a specified path. Results clearly distinguish between files and directories with [FILE] and [DIR] prefixes. This tool is essential for understanding directory structure and finding specific files within a directory. Only works within allowed directories."""
@overload
@_either_way
async def list_directory(arguments: ListDirectoryInput, /) -> ListDirectoryOutput: ...

class ReadMediaFileOutput(TypedDict):
    content: list[ReadMediaFileOutputContent | ReadMediaFileOutputContent_620ae49b]

class ReadMediaFileOutputContent(TypedDict):
    type: Literal["image", "audio"]
    data: str
    mimeType: str

class ReadMediaFileOutputContent_620ae49b(TypedDict):
    type: Literal["resource"]
    resource: ReadMediaFileOutputContent_620ae49bResource

class ReadMediaFileOutputContent_620ae49bResource(TypedDict):
    uri: str
    mimeType: NotRequired[str]
    blob: str

class ReadMediaFileInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str

# ptc {"tool": "mcp__filesystem__read_media_file", "input": "ReadMediaFileInput"}
@overload
@_either_way
async def read_media_file(
    *,
    path: str,
) -> ReadMediaFileOutput:
    """Read a file and return it as a base64-encoded content block with its MIME type. Image and audio files are returned as image/audio content; any other file type is returned as an embedded resource. Only works within allowed directories."""
@overload
@_either_way
async def read_media_file(arguments: ReadMediaFileInput, /) -> ReadMediaFileOutput: ...
