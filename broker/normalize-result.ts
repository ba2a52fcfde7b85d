import { isObject, parseWrittenJson, writeJson } from "../base/json.ts";
import { MAX_NESTING_DEPTH, MAX_REPLY_FRAME_BYTES } from "../protocol/limits.ts";

/** The outcome of a call as a program sees it, from an MCP `CallToolResult`. */
export type NormalizedResult = { ok: true; data: unknown } | { ok: false; message: string };

/**
 * Reads an MCP tool result (specification 2025-11-25, "Tool Result"). `isError` means a failure. The data is
 * `structuredContent` if there is one, else the text, parsed if it is JSON, else the content blocks. A server may set
 * `isError` to something other than a boolean; then everything but `null` counts as true.
 */
export function normalizeResult(result: unknown): NormalizedResult {
  if (!isObject(result)) return { ok: false, message: "the server's answer is not a tool result" };
  const content = Array.isArray(result.content) ? (result.content as unknown[]) : [];
  if (isFailure(result)) return { ok: false, message: errorText(content, result.structuredContent) };
  if (result.structuredContent !== undefined) return { ok: true, data: result.structuredContent };
  const texts = textsOf(content);
  if (texts === undefined) return { ok: true, data: content };
  return { ok: true, data: parseText(texts.join("\n")) };
}

/** Whether a server says that its tool has failed. */
export function isFailure({ isError }: Record<string, unknown>): boolean {
  return isError !== undefined && isError !== null && isError !== false;
}

/** Whether a result has structured content. */
export function isStructured(result: unknown): boolean {
  return isObject(result) && result.structuredContent !== undefined;
}

/** The texts of content that is only text; `undefined` if there is none, or anything else. */
function textsOf(content: readonly unknown[]): string[] | undefined {
  const texts: string[] = [];
  for (const block of content) {
    if (!isObject(block) || block.type !== "text" || typeof block.text !== "string") return undefined;
    texts.push(block.text);
  }
  return texts.length === 0 ? undefined : texts;
}

/** Texts of at least this many characters are kept for the reply. */
const LARGE_CHARS = 64 * 1024;

/** The texts of large values, if JSON.stringify would write the same, until the reply is written. */
const largeTexts = new WeakMap<object, string>();

/** The JSON text of a large value that `normalizeResult` parsed, if it equals that of JSON.stringify. Returns it only once. */
export function takeText(value: unknown): string | undefined {
  if (!isContainer(value)) return undefined;
  const text = largeTexts.get(value);
  largeTexts.delete(value);
  return text;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Matches how a JSON text (RFC 8259, section 2) begins. */
const MAY_BE_JSON = /^[ \t\n\r]*(?:[[{"\d-]|(?:true|false|null)[ \t\n\r]*$)/;

/**
 * Parses text that is JSON. Text whose value would lose something stays text: a 20-digit id, an infinite number, an object with a
 * duplicate key, a value that is deeper or larger than the bounds.
 */
function parseText(text: string): unknown {
  // Most text is not JSON, and an error for it takes longer than the rest of a call.
  if (!MAY_BE_JSON.test(text)) return text;
  try {
    const { value, isCompact } = parseWrittenJson(text, {
      maxBytes: MAX_REPLY_FRAME_BYTES,
      maxDepth: MAX_NESTING_DEPTH,
    });
    if (isCompact && text.length >= LARGE_CHARS && isContainer(value)) largeTexts.set(value, text);
    return typeof value === "number" && String(value) !== text.trim() ? text : value;
  } catch {
    return text;
  }
}

function errorText(content: readonly unknown[], structured: unknown): string {
  const texts = content.flatMap((block) =>
    isObject(block) && typeof block.text === "string" ? [block.text] : [],
  );
  if (texts.length > 0) return texts.join("\n");
  if (structured !== undefined) return writeJson(structured);
  return "the tool reported an error without saying which";
}
