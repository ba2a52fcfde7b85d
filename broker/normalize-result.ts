import { isDeepStrictEqual } from "node:util";
import { isObject, parseWrittenJson, writeJson } from "../base/json.ts";
import { MAX_NESTING_DEPTH, MAX_REPLY_FRAME_BYTES } from "../protocol/limits.ts";

/** The outcome of a call as a program sees it, from an MCP `CallToolResult`. */
export type NormalizedResult =
  | {
      ok: true;
      data: unknown;
      /** How the result is none that MCP allows, as a predicate. */
      problem?: string;
      /** What the result holds that is not in `data`, such as "an image". */
      beside?: string;
    }
  | { ok: false; message: string; data?: unknown };

/**
 * Reads an MCP tool result (specification 2025-11-25, "Tool Result"). `isError` means a failure. The data is
 * `structuredContent` if there is one, else the text, parsed if it is JSON, else the content blocks. Several texts are one text of
 * several lines, unless each of them is JSON: then they are a list, which servers send as one text for each item. A server may set
 * `isError` to something other than a boolean; then everything but `null` counts as true.
 */
export function normalizeResult(result: unknown): NormalizedResult {
  if (!isObject(result)) return { ok: false, message: "the server's answer is not a tool result" };
  const { content, problem } = readContent(result);
  if (isFailure(result)) {
    const { structuredContent: data = null } = result;
    return { ok: false, message: errorText(content, data), ...(data === null ? {} : { data }) };
  }
  if (isStructured(result)) {
    const beside = describeBeside(content, result.structuredContent);
    return { ok: true, data: result.structuredContent, ...(beside === undefined ? {} : { beside }) };
  }
  const texts = textsOf(content);
  const data = texts === undefined ? content : parseTexts(texts);
  return { ok: true, data, ...(problem === undefined ? {} : { problem }) };
}

/** The content blocks of a result. What a server sends instead of a list is read as what it most likely means. */
function readContent({ content }: Record<string, unknown>): {
  content: readonly unknown[];
  problem?: string;
} {
  if (Array.isArray(content)) return { content };
  if (content === undefined || content === null) return { content: [], problem: "without any content" };
  const is = isObject(content) ? "an object" : `a ${typeof content}`;
  const problem = `with content that is ${is}, where MCP has a list of content blocks`;
  if (typeof content === "string") return { content: [{ type: "text", text: content }], problem };
  return { content: [content], problem };
}

/** Whether a server says that its tool has failed. */
export function isFailure({ isError }: Record<string, unknown>): boolean {
  return isError !== undefined && isError !== null && isError !== false;
}

/** Whether a result has structured content. `null` is what some servers write for none. */
export function isStructured(result: unknown): boolean {
  return isObject(result) && result.structuredContent !== undefined && result.structuredContent !== null;
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

function parseTexts(texts: readonly string[]): unknown {
  const lines = texts.join("\n");
  const whole = parseText(lines);
  if (whole !== lines || texts.length === 1) return whole;
  const items: unknown[] = [];
  for (const text of texts) {
    const item = parseText(text);
    if (item === text) return lines;
    items.push(item);
  }
  return items;
}

const KINDS: Readonly<Record<string, string>> = {
  image: "an image",
  audio: "sound",
  resource: "a resource",
  resource_link: "a link to a resource",
};

/**
 * What content blocks hold that structured content does not, in words. A text holds nothing else if it is the same JSON, as MCP
 * asks servers to send it, or a part of the structured content, such as its only member, or one of its items.
 */
function describeBeside(content: readonly unknown[], structured: unknown): string | undefined {
  const kinds = new Set<string>();
  const parts = new Parts(structured);
  for (const block of content) {
    if (!isObject(block)) continue;
    if (block.type !== "text")
      kinds.add((typeof block.type === "string" ? KINDS[block.type] : undefined) ?? "another content block");
    else if (typeof block.text === "string" && !kinds.has("text") && !parts.has(block.text))
      kinds.add("text");
  }
  return kinds.size === 0 ? undefined : [...kinds].join(", ");
}

/** Bounds on comparing: of what is larger, JSON counts as the same and other text as something else. */
const MAX_COMPARED_CHARS = 1024 * 1024;
const MAX_PARTS = 10_000;
const MAX_COMPARISONS = 10_000;
/** Servers send the whole, or what is directly in it, or its items, or their members. */
const MAX_PART_DEPTH = 3;

/** A value with its members, their members and so on. */
class Parts {
  readonly #whole: unknown;
  #parts: unknown[] | undefined;
  /** Items follow each other in texts as in lists, so a search begins where the last one ended. */
  #at = 0;
  #comparisons = 0;

  constructor(whole: unknown) {
    this.#whole = whole;
  }

  /** Whether a text is one of them, itself or as JSON. */
  has(text: string): boolean {
    const trimmed = text.trim();
    if (trimmed === "") return true;
    const json = MAY_BE_JSON.test(text) ? this.#parse(text) : undefined;
    if (json === TOO_LARGE) return true;
    this.#parts ??= collectParts(this.#whole);
    const { length } = this.#parts;
    for (let tried = 0; tried < length; tried++) {
      if (++this.#comparisons > MAX_COMPARISONS) return true;
      const index = (this.#at + tried) % length;
      const part = this.#parts[index];
      const isSame =
        typeof part === "string" && part.trim() === trimmed
          ? true
          : json !== undefined && isDeepStrictEqual(part, json.value);
      if (!isSame) continue;
      this.#at = index + 1;
      return true;
    }
    return false;
  }

  #parse(text: string): { value: unknown } | typeof TOO_LARGE | undefined {
    if (text.length > MAX_COMPARED_CHARS) return TOO_LARGE;
    const value = parseText(text);
    return value === text ? undefined : { value };
  }
}

const TOO_LARGE = Symbol("too large");

/** A value, then what is in it, level by level. */
function collectParts(whole: unknown): unknown[] {
  const parts: unknown[] = [whole];
  let level: unknown[] = [whole];
  for (let depth = 0; depth < MAX_PART_DEPTH && parts.length < MAX_PARTS; depth++) {
    level = level.flatMap((each) => (isContainer(each) ? (Object.values(each) as unknown[]) : []));
    for (const each of level) if (parts.length < MAX_PARTS) parts.push(each);
  }
  return parts;
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
  if (structured !== null) return writeJson(structured);
  return "the tool reported an error without saying which";
}
