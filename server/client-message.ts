import { nestingDepth } from "../protocol/frames.ts";
import { MAX_NESTING_DEPTH } from "../protocol/limits.ts";
import type { Line } from "./message-lines.ts";
import { MessageOutline } from "./message-outline.ts";

/** JSON-RPC 2.0, section 5.1 */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

/** A message, its params, and their arguments: what lies around the data of a program. */
const DEPTH_AROUND_DATA = 3;
const MAX_DEPTH = MAX_NESTING_DEPTH + DEPTH_AROUND_DATA;

export type ClientMessage =
  | { kind: "blank" }
  | { kind: "message"; message: Record<string, unknown> }
  | { kind: "refused"; refusal: Refusal };

export interface Refusal {
  /** Whose fault it was, in one line. */
  reason: string;
  code: number;
  id: string | number | null;
  /** Whether it answers a request of ours: then it must not be answered itself. */
  isAnswer: boolean;
}

/**
 * Reads one line of a client's.
 *
 * @param isMessage whether a value has the form of a JSON-RPC message of MCP.
 */
export function parseClientMessage(
  line: Line,
  limits: { maxBytes: number },
  isMessage: (value: unknown) => boolean,
): ClientMessage {
  if (line.kind === "too-large") {
    const reason = `message larger than ${limits.maxBytes} bytes`;
    return refuse(INVALID_REQUEST, reason, line.outline.members());
  }
  if (nestingDepth(line.bytes) > MAX_DEPTH) {
    const outline = new MessageOutline();
    outline.push(line.bytes);
    return refuse(INVALID_REQUEST, `message nests deeper than ${MAX_DEPTH} levels`, outline.members());
  }
  let value: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(line.bytes);
    if (text.trim() === "") return { kind: "blank" };
    value = JSON.parse(text);
  } catch {
    return refuse(PARSE_ERROR, "message is not JSON in UTF-8", {});
  }
  const members = typeof value === "object" && value !== null ? { ...value } : {};
  if (isMessage(value)) return { kind: "message", message: members };
  return refuse(INVALID_REQUEST, "message is no JSON-RPC 2.0 request, notification or response", members);
}

function refuse(code: number, reason: string, members: Record<string, unknown>): ClientMessage {
  const { id } = members;
  const known = typeof id === "string" || typeof id === "number" ? id : null;
  const isAnswer = !("method" in members) && ("result" in members || "error" in members);
  return { kind: "refused", refusal: { reason, code, id: known, isAnswer } };
}
