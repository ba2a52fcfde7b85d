"""The files in data/
Tools of the MCP server "files". Written by `ptc generate`: edits are lost.
"""

from servers import either_way_ as _either_way

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict, overload

class CreateDirectoryOutput(TypedDict):
    content: str

class CreateDirectoryInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str

# ptc {"tool": "mcp__files__create_directory", "input": "CreateDirectoryInput"}
@overload
@_either_way
async def create_directory(
    *,
    path: str,
) -> CreateDirectoryOutput:
    """Create a new directory or ensure a directory exists. Can create multiple nested directories in one operation. If the directory already exists, this operation will succeed silently. Perfect for setting up directory structures for projects or ensuring required paths exist. Only works within allowed directories."""
@overload
@_either_way
async def create_directory(arguments: CreateDirectoryInput, /) -> CreateDirectoryOutput: ...

class DirectoryTreeOutput(TypedDict):
    content: str

class DirectoryTreeInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str
    excludePatterns: NotRequired[list[str]]

# ptc {"tool": "mcp__files__directory_tree", "input": "DirectoryTreeInput"}
@overload
@_either_way
async def directory_tree(
    *,
    path: str,
    excludePatterns: list[str] = ...,
) -> DirectoryTreeOutput:
    """Get a recursive tree view of files and directories as a JSON structure. Each entry includes 'name', 'type' (file/directory), and 'children' for directories. Files have no children array, while directories always have a children array (which may be empty). The output is formatted with 2-space indentation for readability. Only works within allowed directories.

    Args:
        excludePatterns: Default: []
    """
@overload
@_either_way
async def directory_tree(arguments: DirectoryTreeInput, /) -> DirectoryTreeOutput: ...

class EditFileOutput(TypedDict):
    content: str

class EditFileEdits(TypedDict):
    oldText: str
    """Text to search for - must match exactly"""
    newText: str
    """Text to replace with"""

class EditFileInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str
    edits: Sequence[EditFileEdits]
    dryRun: NotRequired[bool]

# ptc {"tool": "mcp__files__edit_file", "input": "EditFileInput"}
@overload
@_either_way
async def edit_file(
    *,
    path: str,
    edits: Sequence[EditFileEdits],
    dryRun: bool = ...,
) -> EditFileOutput:
    """Make line-based edits to a text file. Each edit replaces exact line sequences with new content. Returns a git-style diff showing the changes made. Only works within allowed directories.

    Args:
        dryRun: Preview changes using git-style diff format
            Default: false
    """
@overload
@_either_way
async def edit_file(arguments: EditFileInput, /) -> EditFileOutput: ...

class GetFileInfoOutput(TypedDict):
    content: str

class GetFileInfoInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str

# ptc {"tool": "mcp__files__get_file_info", "input": "GetFileInfoInput"}
@overload
@_either_way
async def get_file_info(
    *,
    path: str,
) -> GetFileInfoOutput:
    """Retrieve detailed metadata about a file or directory. Returns comprehensive information including size, creation time, last modified time, permissions, and type. This tool is perfect for understanding file characteristics without reading the actual content. Only works within allowed directories."""
@overload
@_either_way
async def get_file_info(arguments: GetFileInfoInput, /) -> GetFileInfoOutput: ...

class ListAllowedDirectoriesOutput(TypedDict):
    content: str

# ptc {"tool": "mcp__files__list_allowed_directories"}
@_either_way
async def list_allowed_directories() -> ListAllowedDirectoriesOutput:
    """Returns the list of directories that this server is allowed to access. Subdirectories within these allowed directories are also accessible. Use this to understand which directories and their nested paths are available before trying to access files."""

class ListDirectoryOutput(TypedDict):
    content: str

class ListDirectoryInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str

# ptc {"tool": "mcp__files__list_directory", "input": "ListDirectoryInput"}
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

class ListDirectoryWithSizesOutput(TypedDict):
    content: str

class ListDirectoryWithSizesInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str
    sortBy: NotRequired[Literal["name", "size"]]

# ptc {"tool": "mcp__files__list_directory_with_sizes", "input": "ListDirectoryWithSizesInput"}
@overload
@_either_way
async def list_directory_with_sizes(
    *,
    path: str,
    sortBy: Literal["name", "size"] = ...,
) -> ListDirectoryWithSizesOutput:
    """Get a detailed listing of all files and directories in a specified path, including sizes. Results clearly distinguish between files and directories with [FILE] and [DIR] prefixes. This tool is useful for understanding directory structure and finding specific files within a directory. Only works within allowed directories.

    Args:
        sortBy: Sort entries by name or size
            Default: "name\"
    """
@overload
@_either_way
async def list_directory_with_sizes(arguments: ListDirectoryWithSizesInput, /) -> ListDirectoryWithSizesOutput: ...

class MoveFileOutput(TypedDict):
    content: str

class MoveFileInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    source: str
    destination: str

# ptc {"tool": "mcp__files__move_file", "input": "MoveFileInput"}
@overload
@_either_way
async def move_file(
    *,
    source: str,
    destination: str,
) -> MoveFileOutput:
    """Move or rename files and directories. Can move files between directories and rename them in a single operation. If the destination exists, the operation will fail. Works across different directories and can be used for simple renaming within the same directory. Both source and destination must be within allowed directories."""
@overload
@_either_way
async def move_file(arguments: MoveFileInput, /) -> MoveFileOutput: ...

class ReadFileOutput(TypedDict):
    content: str

class ReadFileInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str
    tail: NotRequired[float]
    head: NotRequired[float]

# ptc {"tool": "mcp__files__read_file", "input": "ReadFileInput"}
@overload
@_either_way
async def read_file(
    *,
    path: str,
    tail: float = ...,
    head: float = ...,
) -> ReadFileOutput:
    """Read the complete contents of a file as text. DEPRECATED: Use read_text_file instead.

    Args:
        tail: If provided, returns only the last N lines of the file
        head: If provided, returns only the first N lines of the file
    """
@overload
@_either_way
async def read_file(arguments: ReadFileInput, /) -> ReadFileOutput: ...

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

# ptc {"tool": "mcp__files__read_media_file", "input": "ReadMediaFileInput"}
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

class ReadMultipleFilesOutput(TypedDict):
    content: str

class ReadMultipleFilesInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    paths: list[str]

# ptc {"tool": "mcp__files__read_multiple_files", "input": "ReadMultipleFilesInput"}
@overload
@_either_way
async def read_multiple_files(
    *,
    paths: list[str],
) -> ReadMultipleFilesOutput:
    """Read the contents of multiple files simultaneously. This is more efficient than reading files one by one when you need to analyze or compare multiple files. Each file's content is returned with its path as a reference. Failed reads for individual files won't stop the entire operation. Only works within allowed directories.

    Args:
        paths: Array of file paths to read. Each path must be a string pointing to a valid file within allowed directories.
    """
@overload
@_either_way
async def read_multiple_files(arguments: ReadMultipleFilesInput, /) -> ReadMultipleFilesOutput: ...

class ReadTextFileOutput(TypedDict):
    content: str

class ReadTextFileInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str
    tail: NotRequired[float]
    head: NotRequired[float]

# ptc {"tool": "mcp__files__read_text_file", "input": "ReadTextFileInput"}
@overload
@_either_way
async def read_text_file(
    *,
    path: str,
    tail: float = ...,
    head: float = ...,
) -> ReadTextFileOutput:
    """Read the complete contents of a file from the file system as text. Handles various text encodings and provides detailed error messages if the file cannot be read. Use this tool when you need to examine the contents of a single file. Use the 'head' parameter to read only the first N lines of a file, or the 'tail' parameter to read only the last N lines of a file. Operates on the file as text regardless of extension. Only works within allowed directories.

    Args:
        tail: If provided, returns only the last N lines of the file
        head: If provided, returns only the first N lines of the file
    """
@overload
@_either_way
async def read_text_file(arguments: ReadTextFileInput, /) -> ReadTextFileOutput: ...

class SearchFilesOutput(TypedDict):
    content: str

class SearchFilesInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str
    pattern: str
    excludePatterns: NotRequired[list[str]]

# ptc {"tool": "mcp__files__search_files", "input": "SearchFilesInput"}
@overload
@_either_way
async def search_files(
    *,
    path: str,
    pattern: str,
    excludePatterns: list[str] = ...,
) -> SearchFilesOutput:
    """Recursively search for files and directories matching a pattern. The patterns should be glob-style patterns that match paths relative to the working directory. Use pattern like '*.ext' to match files in current directory, and '**/*.ext' to match files in all subdirectories. Returns full paths to all matching items. Great for finding files when you don't know their exact location. Only searches within allowed directories.

    Args:
        excludePatterns: Default: []
    """
@overload
@_either_way
async def search_files(arguments: SearchFilesInput, /) -> SearchFilesOutput: ...

class WriteFileOutput(TypedDict):
    content: str

class WriteFileInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    path: str
    content: str

# ptc {"tool": "mcp__files__write_file", "input": "WriteFileInput"}
@overload
@_either_way
async def write_file(
    *,
    path: str,
    content: str,
) -> WriteFileOutput:
    """Create a new file or completely overwrite an existing file with new content. Use with caution as it will overwrite existing files without warning. Handles text content with proper encoding. Only works within allowed directories."""
@overload
@_either_way
async def write_file(arguments: WriteFileInput, /) -> WriteFileOutput: ...
