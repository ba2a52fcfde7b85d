/** A call's outcome as a script sees it, from an MCP `CallToolResult`. */
export type NormalizedResult = { ok: true; data: unknown } | { ok: false; message: string };

/**
 * Reads an MCP tool result (specification 2025-11-25, "Tool Result"): `isError` is a failure; the data is
 * `structuredContent` if there is one, else the text, parsed when it is JSON, else the content blocks.
 */
export function normalizeResult(result: unknown): NormalizedResult {
  if (!isObject(result)) return { ok: false, message: "the server's answer is not a tool result" };
  const content = Array.isArray(result.content) ? (result.content as unknown[]) : [];
  if (result.isError === true) return { ok: false, message: errorText(content, result.structuredContent) };
  if (result.structuredContent !== undefined) return { ok: true, data: result.structuredContent };
  const texts = textsOf(content);
  if (texts === undefined) return { ok: true, data: content };
  return { ok: true, data: parseText(texts.join("\n")) };
}

/** Bytes that this result would have put before the model: its text and blocks, or else its structured content. */
export function resultBytes(result: unknown): number {
  if (!isObject(result)) return 0;
  const content = Array.isArray(result.content) ? (result.content as unknown[]) : [];
  if (content.length === 0) {
    return result.structuredContent === undefined ? 0 : jsonBytes(result.structuredContent);
  }
  let bytes = 0;
  for (const block of content) {
    bytes +=
      isObject(block) && typeof block.text === "string" ? Buffer.byteLength(block.text) : jsonBytes(block);
  }
  return bytes;
}

/** The texts of content that is nothing but text; `undefined` when there is none or something else beside it. */
function textsOf(content: readonly unknown[]): string[] | undefined {
  const texts: string[] = [];
  for (const block of content) {
    if (!isObject(block) || block.type !== "text" || typeof block.text !== "string") return undefined;
    texts.push(block.text);
  }
  return texts.length === 0 ? undefined : texts;
}

/** JSON text as its value. A number that would not survive, such as a 20-digit id, stays text. */
function parseText(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
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
  if (structured !== undefined) return JSON.stringify(structured);
  return "the tool reported an error without saying which";
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
