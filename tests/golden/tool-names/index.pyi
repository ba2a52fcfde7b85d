"""Tools of the MCP server "claude-flow". Written by `ptc generate`: edits are lost."""

from servers import either_way_ as _either_way

from typing import Any, Literal, NotRequired, TypedDict, overload

class HiveMindMemoryInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    action: Literal["get", "set", "delete", "list"]
    key: NotRequired[str]
    value: NotRequired[Any]

# ptc {"tool": "mcp__claude_flow__hive-mind_memory", "input": "HiveMindMemoryInput"}
@overload
@_either_way
async def hive_mind_memory(
    *,
    action: Literal["get", "set", "delete", "list"],
    key: str = ...,
    value: Any = ...,
) -> Any:
    """Access hive shared memory Use when native Task is wrong because you need queen-led collective intelligence — Byzantine-FT consensus, broadcast across many worker agents, shared memory with bounded conflict. For a single subagent, native Task is fine. Pair with swarm_init first to set topology.

    Args:
        action: Memory action
        key: Memory key
        value: Value to store (for set)
    """
@overload
@_either_way
async def hive_mind_memory(arguments: HiveMindMemoryInput, /) -> Any: ...

class MemoryStoreInput(TypedDict):
    """The arguments of the tool, by their exact names."""
    key: str
    value: Any
    namespace: NotRequired[str]
    tags: NotRequired[list[str]]
    ttl: NotRequired[float]
    upsert: NotRequired[bool]
    provenance_type: NotRequired[Literal["user_claim", "agent_output", "system_observation", "tool_result", "unknown"]]

# ptc {"tool": "mcp__claude_flow__memory_store", "input": "MemoryStoreInput"}
@overload
@_either_way
async def memory_store(
    *,
    key: str,
    value: Any,
    namespace: str = ...,
    tags: list[str] = ...,
    ttl: float = ...,
    upsert: bool = ...,
    provenance_type: Literal["user_claim", "agent_output", "system_observation", "tool_result", "unknown"] = ...,
) -> Any:
    """Persistent key-value store with vector embedding — survives across sessions and is searchable by meaning, not just by file path. Use when native Write is wrong because the data is not a file (e.g. a learned pattern, a decision, a budget config) AND you need to recall it later by semantic query, not by path. Defaults to namespace="default". Upsert semantics: writing an existing key updates it (matching the CLI `memory store` default); pass `upsert: false` to force strict-insert instead.

    Args:
        key: Memory key (unique within namespace)
        value: Value to store (string or object)
        namespace: Namespace for organization (default: "default")
        tags: Optional tags for filtering
        ttl: Time-to-live in seconds (optional)
        upsert: Update existing key instead of failing (default: true, matching CLI `memory store`; set false for strict-insert). #2775 parity.
        provenance_type: ADR-323: who/what produced this value, so shared-namespace retrieval can filter by trust level instead of conflating a user's stated claim with an agent's own output. Default: "unknown".
    """
@overload
@_either_way
async def memory_store(arguments: MemoryStoreInput, /) -> Any: ...

# ptc {"tool": "mcp__claude_flow__transfer_plugin-official"}
@_either_way
async def transfer_plugin_official() -> Any:
    """Get official plugins from the store Use when native package install (`npm i`, `pip install`) is wrong because the artifact lives on IPFS (plugins, witness chains, learned patterns). For npm-registry deps, native npm is fine."""
