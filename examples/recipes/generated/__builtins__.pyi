"""What a program finds around it. Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

# pyright: reportPrivateUsage=false
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

import servers as _servers

@_either_way
async def call_tool(name: str, arguments: Mapping[str, Any] | None = ..., /, **keywords: Any) -> Any:
    """Calls a tool by its namespaced name, `mcp__<server_module>__<tool>`."""

@_either_way
async def parallel[T](
    functions: Iterable[Callable[[], Awaitable[T]] | Callable[[], T] | Awaitable[T]], limit: int | None = ...
) -> list[T]:
    """Calls functions at once, at most `limit` of them at a time. Results come in order."""

class _Pages[T](AsyncIterator[T], Iterable[T], Any): ...

def pages[**P, T](function: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> _Pages[T]:
    """The result of a tool that answers with one page of a list, and then the pages that follow, a call each.

    `async for page in pages(list_orders, status="open")`. Raises ToolError when a call fails.
    """

data: Any
"""The data given along with the program."""

result: Any
"""Set this to the value that the program returns."""

def emit(value: Any, mime_type: str | None = ..., name: str | None = ...) -> None:
    """Hands an image, a sound, a file or a text to the client beside the output.

    The value is a text, bytes with their type, or content blocks as tools return them. With a `name`, texts and bytes
    are files.
    """

def bytes_of(block: Any) -> bytes:
    """The bytes of an image, a sound or a resource that a tool returned."""

class ToolError(Exception):
    """A tool call that failed."""

    server: str
    """The server's module name."""
    tool: str
    """The tool's protocol name."""
    message: str
    retryable: bool
    """Whether the same call may succeed later."""
    data: Any
    """What a tool says of its failure as structured content, or its answer if that contradicts what the tool promises."""

servers = _servers
mcp__everything__echo = _servers.everything.echo
mcp__everything__get_annotated_message = _servers.everything.get_annotated_message
mcp__everything__get_env = _servers.everything.get_env
mcp__everything__get_resource_links = _servers.everything.get_resource_links
mcp__everything__get_resource_reference = _servers.everything.get_resource_reference
mcp__everything__get_structured_content = _servers.everything.get_structured_content
mcp__everything__get_sum = _servers.everything.get_sum
mcp__everything__get_tiny_image = _servers.everything.get_tiny_image
mcp__everything__gzip_file_as_resource = _servers.everything.gzip_file_as_resource
mcp__everything__prompts_get = _servers.everything.prompts_get
mcp__everything__prompts_list = _servers.everything.prompts_list
mcp__everything__resources_list = _servers.everything.resources_list
mcp__everything__resources_read = _servers.everything.resources_read
mcp__everything__simulate_research_query = _servers.everything.simulate_research_query
mcp__everything__toggle_simulated_logging = _servers.everything.toggle_simulated_logging
mcp__everything__toggle_subscriber_updates = _servers.everything.toggle_subscriber_updates
mcp__everything__trigger_elicitation_request = _servers.everything.trigger_elicitation_request
mcp__everything__trigger_long_running_operation = _servers.everything.trigger_long_running_operation
mcp__everything__trigger_url_elicitation = _servers.everything.trigger_url_elicitation
mcp__files__create_directory = _servers.files.create_directory
mcp__files__directory_tree = _servers.files.directory_tree
mcp__files__edit_file = _servers.files.edit_file
mcp__files__get_file_info = _servers.files.get_file_info
mcp__files__list_allowed_directories = _servers.files.list_allowed_directories
mcp__files__list_directory = _servers.files.list_directory
mcp__files__list_directory_with_sizes = _servers.files.list_directory_with_sizes
mcp__files__move_file = _servers.files.move_file
mcp__files__read_file = _servers.files.read_file
mcp__files__read_media_file = _servers.files.read_media_file
mcp__files__read_multiple_files = _servers.files.read_multiple_files
mcp__files__read_text_file = _servers.files.read_text_file
mcp__files__search_files = _servers.files.search_files
mcp__files__write_file = _servers.files.write_file
mcp__git__git_add = _servers.git.git_add
mcp__git__git_blame = _servers.git.git_blame
mcp__git__git_branch = _servers.git.git_branch
mcp__git__git_changelog_analyze = _servers.git.git_changelog_analyze
mcp__git__git_checkout = _servers.git.git_checkout
mcp__git__git_cherry_pick = _servers.git.git_cherry_pick
mcp__git__git_clean = _servers.git.git_clean
mcp__git__git_clear_working_dir = _servers.git.git_clear_working_dir
mcp__git__git_clone = _servers.git.git_clone
mcp__git__git_commit = _servers.git.git_commit
mcp__git__git_diff = _servers.git.git_diff
mcp__git__git_fetch = _servers.git.git_fetch
mcp__git__git_init = _servers.git.git_init
mcp__git__git_log = _servers.git.git_log
mcp__git__git_merge = _servers.git.git_merge
mcp__git__git_pull = _servers.git.git_pull
mcp__git__git_push = _servers.git.git_push
mcp__git__git_rebase = _servers.git.git_rebase
mcp__git__git_reflog = _servers.git.git_reflog
mcp__git__git_remote = _servers.git.git_remote
mcp__git__git_reset = _servers.git.git_reset
mcp__git__git_set_working_dir = _servers.git.git_set_working_dir
mcp__git__git_show = _servers.git.git_show
mcp__git__git_stash = _servers.git.git_stash
mcp__git__git_status = _servers.git.git_status
mcp__git__git_tag = _servers.git.git_tag
mcp__git__git_worktree = _servers.git.git_worktree
mcp__git__git_wrapup_instructions = _servers.git.git_wrapup_instructions
mcp__git__prompts_get = _servers.git.prompts_get
mcp__git__prompts_list = _servers.git.prompts_list
mcp__git__resources_list = _servers.git.resources_list
mcp__git__resources_read = _servers.git.resources_read
mcp__memory__add_observations = _servers.memory.add_observations
mcp__memory__create_entities = _servers.memory.create_entities
mcp__memory__create_relations = _servers.memory.create_relations
mcp__memory__delete_entities = _servers.memory.delete_entities
mcp__memory__delete_observations = _servers.memory.delete_observations
mcp__memory__delete_relations = _servers.memory.delete_relations
mcp__memory__open_nodes = _servers.memory.open_nodes
mcp__memory__read_graph = _servers.memory.read_graph
mcp__memory__resources_list = _servers.memory.resources_list
mcp__memory__resources_read = _servers.memory.resources_read
mcp__memory__search_nodes = _servers.memory.search_nodes
mcp__sqlite__executeQuery = _servers.sqlite.executeQuery
mcp__sqlite__executeSafeQuery = _servers.sqlite.executeSafeQuery
mcp__web__fetch_html = _servers.web.fetch_html
mcp__web__fetch_json = _servers.web.fetch_json
mcp__web__fetch_markdown = _servers.web.fetch_markdown
mcp__web__fetch_txt = _servers.web.fetch_txt
