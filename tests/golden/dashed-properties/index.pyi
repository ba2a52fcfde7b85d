"""Tools of the MCP server "azure". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, NotRequired, TypedDict, overload

# The arguments of the tool, by their exact names.
FunctionsTemplateGetInput = TypedDict(
    "FunctionsTemplateGetInput",
    {
        "language": str,
        "template": NotRequired[str],
        "runtime-version": NotRequired[str],
    },
)

# ptc {"tool": "mcp__azure__functions_template_get", "input": "FunctionsTemplateGetInput", "parameters": {"runtime_version": "runtime-version"}}
@overload
@_either_way
async def functions_template_get(
    *,
    language: str,
    template: str = ...,
    runtime_version: str = ...,
) -> Any:
    """Generate Azure Functions code from templates including triggers, bindings, AI agents, Durable Functions, and MCP servers or list available templates. Use for code generation for serverless functions with triggers and bindings. Without --template, lists available templates. With --template, generates function code with the specified trigger and optional input/output bindings. Select one trigger (required) and zero or more bindings. Use after functions language list and functions project get.

    Args:
        language: Programming language for the Azure Functions project. Valid values: python, typescript, javascript, java, csharp, powershell.
        template: Name of the function template to retrieve (e.g., HttpTrigger, BlobTrigger). Omit to list all available templates for the specified language.
        runtime_version: Optional runtime version for Java or TypeScript/JavaScript. When provided, template placeholders like {{javaVersion}} or {{nodeVersion}} are replaced automatically. See 'functions language list' for supported versions.
    """
@overload
@_either_way
async def functions_template_get(arguments: FunctionsTemplateGetInput, /) -> Any: ...

# The arguments of the tool, by their exact names.
MonitorInstrumentationSendEnhancementSelectInput = TypedDict(
    "MonitorInstrumentationSendEnhancementSelectInput",
    {
        "session-id": str,
        "enhancement-keys": str,
    },
)

# ptc {"tool": "mcp__azure__monitor_instrumentation_send-enhancement-select", "input": "MonitorInstrumentationSendEnhancementSelectInput", "parameters": {"session_id": "session-id", "enhancement_keys": "enhancement-keys"}}
@overload
@_either_way
async def monitor_instrumentation_send_enhancement_select(
    *,
    session_id: str,
    enhancement_keys: str,
) -> Any:
    """Submit the user's enhancement selection after orchestrator-start returned status 'enhancement_available'.
    Present the enhancement options to the user first, then call this tool with their chosen option key(s).
    Multiple enhancements can be selected by passing a comma-separated list (e.g. 'redis,processors').
    After this call succeeds, continue with orchestrator-next as usual.

    Args:
        session_id: The workspace path returned as sessionId from orchestrator-start.
        enhancement_keys: One or more enhancement keys, comma-separated (e.g. 'redis', 'redis,processors', 'entityframework,otlp').
    """
@overload
@_either_way
async def monitor_instrumentation_send_enhancement_select(arguments: MonitorInstrumentationSendEnhancementSelectInput, /) -> Any: ...
