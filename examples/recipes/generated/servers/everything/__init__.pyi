"""The reference server, with images and resources
Tools of the MCP server "everything". Written by `ptc generate`: edits are lost.
"""

from servers import either_way_ as _either_way

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict, overload

class EchoInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    message: str

# ptc {"tool": "mcp__everything__echo", "input": "EchoInput"}
@overload
@_either_way
async def echo(
    *,
    message: str,
) -> Any:
    """Echoes back the input string

    Args:
        message: Message to echo
    """
@overload
@_either_way
async def echo(arguments: EchoInput, /) -> Any: ...

class GetAnnotatedMessageInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    messageType: Literal["error", "success", "debug"]
    includeImage: NotRequired[bool]

# ptc {"tool": "mcp__everything__get-annotated-message", "input": "GetAnnotatedMessageInput"}
@overload
@_either_way
async def get_annotated_message(
    *,
    messageType: Literal["error", "success", "debug"],
    includeImage: bool = ...,
) -> Any:
    """Demonstrates how annotations can be used to provide metadata about content.

    Args:
        messageType: Type of message to demonstrate different annotation patterns
        includeImage: Whether to include an example image
            Default: false
    """
@overload
@_either_way
async def get_annotated_message(arguments: GetAnnotatedMessageInput, /) -> Any: ...

# ptc {"tool": "mcp__everything__get-env"}
@_either_way
async def get_env() -> Any:
    """Returns all environment variables, helpful for debugging MCP server configuration"""

class GetResourceLinksInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    count: NotRequired[float]

# ptc {"tool": "mcp__everything__get-resource-links", "input": "GetResourceLinksInput"}
@overload
@_either_way
async def get_resource_links(
    *,
    count: float = ...,
) -> Any:
    """Returns up to ten resource links that reference different types of resources

    Args:
        count: Number of resource links to return (1-10)
            Default: 3
    """
@overload
@_either_way
async def get_resource_links(arguments: GetResourceLinksInput, /) -> Any: ...

class GetResourceReferenceInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    resourceType: NotRequired[Literal["Text", "Blob"]]
    resourceId: NotRequired[float]

# ptc {"tool": "mcp__everything__get-resource-reference", "input": "GetResourceReferenceInput"}
@overload
@_either_way
async def get_resource_reference(
    *,
    resourceType: Literal["Text", "Blob"] = ...,
    resourceId: float = ...,
) -> Any:
    """Returns a resource reference that can be used by MCP clients

    Args:
        resourceType: Default: "Text\"
        resourceId: ID of the text resource to fetch
            Default: 1
    """
@overload
@_either_way
async def get_resource_reference(arguments: GetResourceReferenceInput, /) -> Any: ...

class GetStructuredContentOutput(TypedDict):
    temperature: float
    """Temperature in celsius"""
    conditions: str
    """Weather conditions description"""
    humidity: float
    """Humidity percentage"""

class GetStructuredContentInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    location: Literal["New York", "Chicago", "Los Angeles"]

# ptc {"tool": "mcp__everything__get-structured-content", "input": "GetStructuredContentInput"}
@overload
@_either_way
async def get_structured_content(
    *,
    location: Literal["New York", "Chicago", "Los Angeles"],
) -> GetStructuredContentOutput:
    """Returns structured content along with an output schema for client data validation

    Args:
        location: Choose city
    """
@overload
@_either_way
async def get_structured_content(arguments: GetStructuredContentInput, /) -> GetStructuredContentOutput: ...

class GetSumInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    a: float
    b: float

# ptc {"tool": "mcp__everything__get-sum", "input": "GetSumInput"}
@overload
@_either_way
async def get_sum(
    *,
    a: float,
    b: float,
) -> Any:
    """Returns the sum of two numbers

    Args:
        a: First number
        b: Second number
    """
@overload
@_either_way
async def get_sum(arguments: GetSumInput, /) -> Any: ...

# ptc {"tool": "mcp__everything__get-tiny-image"}
@_either_way
async def get_tiny_image() -> Any:
    """Returns a tiny MCP logo image."""

class GzipFileAsResourceInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    name: NotRequired[str]
    data: NotRequired[str]
    outputType: NotRequired[Literal["resourceLink", "resource"]]

# ptc {"tool": "mcp__everything__gzip-file-as-resource", "input": "GzipFileAsResourceInput"}
@overload
@_either_way
async def gzip_file_as_resource(
    *,
    name: str = ...,
    data: str = ...,
    outputType: Literal["resourceLink", "resource"] = ...,
) -> Any:
    """Compresses a single file using gzip compression. Depending upon the selected output type, returns either the compressed data as a gzipped resource or a resource link, allowing it to be downloaded in a subsequent request during the current session.

    Args:
        name: Name of the output file
            Default: "README.md.gz\"
        data: URL or data URI of the file content to compress
            Default: "https://raw.githubusercontent.com/modelcontextprotocol/servers/refs/heads/main/README.md\"
        outputType: How the resulting gzipped file should be returned. 'resourceLink' returns a link to a resource that can be read later, 'resource' returns a full resource object.
            Default: "resourceLink\"
    """
@overload
@_either_way
async def gzip_file_as_resource(arguments: GzipFileAsResourceInput, /) -> Any: ...

class PromptsGetOutput(TypedDict):
    description: NotRequired[str]
    messages: list[PromptsGetOutputMessages]

class PromptsGetOutputMessages(TypedDict):
    role: Literal["user", "assistant"]
    content: Any

class PromptsGetInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    name: str
    arguments: NotRequired[Mapping[str, str]]

# ptc {"tool": "mcp__everything__prompts/get", "input": "PromptsGetInput"}
@overload
@_either_way
async def prompts_get(
    *,
    name: str,
    arguments: Mapping[str, str] = ...,
) -> PromptsGetOutput:
    """Gets the messages of a prompt of this server. In a program also `prompts.get(name, args)`."""
@overload
@_either_way
async def prompts_get(arguments: PromptsGetInput, /) -> PromptsGetOutput: ...

class PromptsListOutput(TypedDict):
    prompts: list[PromptsListOutputPrompts]

class PromptsListOutputPrompts(TypedDict):
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    arguments: NotRequired[list[PromptsListOutputPromptsArguments]]

class PromptsListOutputPromptsArguments(TypedDict):
    name: str
    description: NotRequired[str]
    required: NotRequired[bool]

# ptc {"tool": "mcp__everything__prompts/list"}
@_either_way
async def prompts_list() -> PromptsListOutput:
    """Lists the prompts of this server and their arguments. In a program also `prompts.list()`."""

class ResourcesListOutput(TypedDict):
    resources: list[ResourcesListOutputResources]
    resourceTemplates: list[ResourcesListOutputResourceTemplates]

class ResourcesListOutputResources(TypedDict):
    uri: str
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    mimeType: NotRequired[str]
    size: NotRequired[float]

class ResourcesListOutputResourceTemplates(TypedDict):
    uriTemplate: str
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    mimeType: NotRequired[str]

# ptc {"tool": "mcp__everything__resources/list"}
@_either_way
async def resources_list() -> ResourcesListOutput:
    """Lists the resources of this server, and the templates (RFC 6570) of the URIs of those that it does not list. In a program also `resources.list()`."""

class ResourcesReadOutput(TypedDict):
    contents: list[ResourcesReadOutputContents]

class ResourcesReadOutputContents(TypedDict):
    uri: str
    mimeType: NotRequired[str]
    text: NotRequired[str]
    blob: NotRequired[str]

class ResourcesReadInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    uri: str

# ptc {"tool": "mcp__everything__resources/read", "input": "ResourcesReadInput"}
@overload
@_either_way
async def resources_read(
    *,
    uri: str,
) -> ResourcesReadOutput:
    """Reads a resource of this server: each of its contents is `text`, or a `blob` in base64, which `bytesOf` decodes. In a program also `resources.read(uri)`."""
@overload
@_either_way
async def resources_read(arguments: ResourcesReadInput, /) -> ResourcesReadOutput: ...

class SimulateResearchQueryInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    topic: str
    ambiguous: NotRequired[bool]

# ptc {"tool": "mcp__everything__simulate-research-query", "input": "SimulateResearchQueryInput"}
@overload
@_either_way
async def simulate_research_query(
    *,
    topic: str,
    ambiguous: bool = ...,
) -> Any:
    """Simulates a deep research operation that gathers, analyzes, and synthesizes information. Demonstrates MCP task-based operations with progress through multiple stages. If 'ambiguous' is true and client supports elicitation, sends an elicitation request for clarification.

    Args:
        topic: The research topic to investigate
        ambiguous: Simulate an ambiguous query that requires clarification (triggers input_required status)
            Default: false
    """
@overload
@_either_way
async def simulate_research_query(arguments: SimulateResearchQueryInput, /) -> Any: ...

# ptc {"tool": "mcp__everything__toggle-simulated-logging"}
@_either_way
async def toggle_simulated_logging() -> Any:
    """Toggles simulated, random-leveled logging on or off."""

# ptc {"tool": "mcp__everything__toggle-subscriber-updates"}
@_either_way
async def toggle_subscriber_updates() -> Any:
    """Toggles simulated resource subscription updates on or off."""

# ptc {"tool": "mcp__everything__trigger-elicitation-request"}
@_either_way
async def trigger_elicitation_request() -> Any:
    """Trigger a Request from the Server for User Elicitation"""

class TriggerLongRunningOperationInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    duration: NotRequired[float]
    steps: NotRequired[float]

# ptc {"tool": "mcp__everything__trigger-long-running-operation", "input": "TriggerLongRunningOperationInput"}
@overload
@_either_way
async def trigger_long_running_operation(
    *,
    duration: float = ...,
    steps: float = ...,
) -> Any:
    """Demonstrates a long running operation with progress updates.

    Args:
        duration: Duration of the operation in seconds
            Default: 10
        steps: Number of steps in the operation
            Default: 5
    """
@overload
@_either_way
async def trigger_long_running_operation(arguments: TriggerLongRunningOperationInput, /) -> Any: ...

class TriggerUrlElicitationInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    url: str
    message: NotRequired[str]
    elicitationId: NotRequired[str]
    errorPath: NotRequired[bool]

# ptc {"tool": "mcp__everything__trigger-url-elicitation", "input": "TriggerUrlElicitationInput"}
@overload
@_either_way
async def trigger_url_elicitation(
    *,
    url: str,
    message: str = ...,
    elicitationId: str = ...,
    errorPath: bool = ...,
) -> Any:
    """Trigger a URL elicitation so the client can direct the user to a browser flow. Supports two mechanisms: the request path (elicitation/create, default) which awaits the user's response, and the error path (UrlElicitationRequiredError, -32042) which signals the client to handle URL elicitation via the error response. Set errorPath=true to use the error path.

    Args:
        url: The URL the user should open
            Format: uri
        message: Message shown to the user before opening the URL
            Default: "Please open the link to complete this action.\"
        elicitationId: Optional explicit elicitation ID. Defaults to a random UUID.
        errorPath: Controls which elicitation mechanism is used. When false (default), sends an elicitation/create request (request path). When true, throws a UrlElicitationRequiredError (MCP error code -32042) so the client handles the URL elicitation via the error path rather than waiting for a response. To clear the error, satisfy the prerequisite and retry this call with the same arguments; the retry ignores errorPath and proceeds, so the client does not loop on the same error.
    """
@overload
@_either_way
async def trigger_url_elicitation(arguments: TriggerUrlElicitationInput, /) -> Any: ...

class _resources:
    @_either_way
    async def list(self) -> ResourcesListOutput:
        """All resources, and templates of URIs."""
    @_either_way
    async def read(self, uri: str) -> ResourcesReadOutput:
        """The contents of one resource."""

resources: _resources

class _prompts:
    @_either_way
    async def get(self, name: str, arguments: Mapping[str, str] | None = ...) -> PromptsGetOutput:
        """The messages of one prompt."""
    @_either_way
    async def list(self) -> PromptsListOutput:
        """All prompts, and their arguments."""

prompts: _prompts
