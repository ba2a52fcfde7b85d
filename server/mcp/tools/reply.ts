import type { EmittedBlock } from "../../../protocol/emitted.ts";

/** What waits for an approval, for clients that continue it themselves. */
export interface WaitingReply {
  ticket: string;
  /** `mcp__<server>__<tool>`. */
  tool: string;
  /** ISO 8601. */
  expires_at: string;
}

/** The result of a tool call: text for the model, and the envelope as structured content. */
export type ToolReply = {
  content: { type: "text"; text: string }[];
  isError?: true;
  _meta?: Record<string, unknown> & { "ptc/waiting"?: WaitingReply };
};

/** The result of a program: its text, then what it emitted. */
export type ProgramReply = Omit<ToolReply, "content"> & {
  content: EmittedBlock[];
  /** The value of a saved program whose output schema promises an object. */
  structuredContent?: Record<string, unknown>;
};

export function textReply(text: string): ToolReply {
  return { content: [{ type: "text", text }] };
}

export function errorReply(text: string): ToolReply {
  return { ...textReply(text), isError: true };
}
