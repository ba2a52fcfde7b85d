/** Tools of the MCP server "claude-flow". Written by `ptc generate`: edits are lost. */

import { tool } from "../../runtime.js";

export interface HiveMindMemoryInput {
  /** Memory action */
  action: "get" | "set" | "delete" | "list";
  /** Memory key */
  key?: string;
  /** Value to store (for set) */
  value?: unknown;
}

/**
 * Access hive shared memory Use when native Task is wrong because you need queen-led collective intelligence — Byzantine-FT consensus, broadcast across many worker agents, shared memory with bounded conflict. For a single subagent, native Task is fine. Pair with swarm_init first to set topology.
 * @returns any: this tool declares no output schema
 */
export const hiveMindMemory = tool<HiveMindMemoryInput, any>("mcp__claude_flow__hive-mind_memory");

export interface MemoryStoreInput {
  /** Memory key (unique within namespace) */
  key: string;
  /** Value to store (string or object) */
  value: unknown;
  /** Namespace for organization (default: "default") */
  namespace?: string;
  /** Optional tags for filtering */
  tags?: string[];
  /** Time-to-live in seconds (optional) */
  ttl?: number;
  /** Update existing key instead of failing (default: true, matching CLI `memory store`; set false for strict-insert). #2775 parity. */
  upsert?: boolean;
  /** ADR-323: who/what produced this value, so shared-namespace retrieval can filter by trust level instead of conflating a user's stated claim with an agent's own output. Default: "unknown". */
  provenance_type?: "user_claim" | "agent_output" | "system_observation" | "tool_result" | "unknown";
}

/**
 * Persistent key-value store with vector embedding — survives across sessions and is searchable by meaning, not just by file path. Use when native Write is wrong because the data is not a file (e.g. a learned pattern, a decision, a budget config) AND you need to recall it later by semantic query, not by path. Defaults to namespace="default". Upsert semantics: writing an existing key updates it (matching the CLI `memory store` default); pass `upsert: false` to force strict-insert instead.
 * @returns any: this tool declares no output schema
 */
export const memoryStore = tool<MemoryStoreInput, any>("mcp__claude_flow__memory_store");

export interface TransferPluginOfficialInput { [k: string]: never }

/**
 * Get official plugins from the store Use when native package install (`npm i`, `pip install`) is wrong because the artifact lives on IPFS (plugins, witness chains, learned patterns). For npm-registry deps, native npm is fine.
 * @returns any: this tool declares no output schema
 */
export const transferPluginOfficial = tool<TransferPluginOfficialInput, any>("mcp__claude_flow__transfer_plugin-official");
