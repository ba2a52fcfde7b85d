import { isObject } from "../base/json/is-object.ts";

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

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}
