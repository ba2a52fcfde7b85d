import { ForeignJsonError, parseForeignJson } from "../../base/json/parse-json.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import type { Line } from "./message-lines.ts";
import { MessageOutline } from "./message-outline.ts";

/** JSON-RPC 2.0, section 5.1 */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

/** The levels of a message around a program's data: the message, its params, and the arguments. */
const DEPTH_AROUND_DATA = 3;
const MAX_DEPTH = MAX_NESTING_DEPTH + DEPTH_AROUND_DATA;

export type ClientMessage =
  | { kind: "blank" }
  | { kind: "message"; message: Record<string, unknown> }
  | { kind: "refused"; refusal: Refusal };

export interface Refusal {
  /** What is wrong with the line, in one line. */
  reason: string;
  code: number;
  id: string | number | null;
  /** Whether the message is a response, which must not be answered. */
  isAnswer: boolean;
}

/**
 * Parses one line that a client sent.
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
  const bytes = withoutMark(line.bytes);
  if (isBlank(bytes)) return { kind: "blank" };
  let value: unknown;
  try {
    value = parseForeignJson(bytes, { maxBytes: limits.maxBytes, maxDepth: MAX_DEPTH });
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    if (error.code === "not_utf8" || error.code === "not_json")
      return refuse(PARSE_ERROR, "message is not JSON in UTF-8", {});
    const outline = new MessageOutline();
    outline.push(bytes);
    return refuse(INVALID_REQUEST, `message ${error.message}`, outline.members());
  }
  const members = typeof value === "object" && value !== null ? { ...value } : {};
  if (isMessage(value)) return { kind: "message", message: members };
  return refuse(INVALID_REQUEST, "message is no JSON-RPC 2.0 request, notification or response", members);
}

/** Drops the byte order mark with which some clients begin. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

function refuse(code: number, reason: string, members: Record<string, unknown>): ClientMessage {
  const { id } = members;
  const known = typeof id === "string" || typeof id === "number" ? id : null;
  const isAnswer = !("method" in members) && ("result" in members || "error" in members);
  return { kind: "refused", refusal: { reason, code, id: known, isAnswer } };
}
