import { isObject } from "../../../base/json/is-object.ts";

const MAX_CLIENT_CHARS = 80;

/** What a client says of itself (MCP, Implementation). */
export interface ClientClaim {
  name: string;
  version: string;
}

/** What a client says of itself, bounded; nothing where it says nothing. */
export function claimOf(implementation: unknown): ClientClaim | undefined {
  if (!isObject(implementation)) return undefined;
  const { name, version } = implementation;
  const bounded = (text: unknown) => (typeof text === "string" ? text.slice(0, MAX_CLIENT_CHARS) : "");
  return { name: bounded(name), version: bounded(version) };
}

/** Whether a client shows addresses of its own accord. */
export function canShowUrl(capabilities: unknown): boolean {
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined;
  return isObject(elicitation) && isObject(elicitation.url);
}

/** A client that names no elicitation mode supports forms (MCP 2025-11-25, Elicitation: Capabilities). */
export function canShowForm(capabilities: unknown): boolean {
  if (typeof capabilities !== "object" || capabilities === null) return false;
  const { elicitation } = capabilities as { elicitation?: unknown };
  if (typeof elicitation !== "object" || elicitation === null) return false;
  return "form" in elicitation || !("url" in elicitation);
}
