import { isObject } from "../../../base/json/is-object.ts";

/**
 * Repeats arguments in headers, for proxies to route by: those of input properties marked `x-mcp-header` (MCP 2026-07-28,
 * "Streamable HTTP", "Schema Extension"). Servers reject a call without these headers.
 */

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES = ["string", "integer", "boolean"];
const MAX_DEPTH = 32;

export function buildParameterHeaders(definition: unknown, args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  const visit = (schema: unknown, value: unknown, depth: number): void => {
    if (!isObject(schema) || value === undefined || value === null || depth > MAX_DEPTH) return;
    const name = schema["x-mcp-header"];
    const text = headerText(value);
    if (
      typeof name === "string" &&
      TOKEN.test(name) &&
      TYPES.includes(schema.type as string) &&
      text !== undefined
    ) {
      headers[`Mcp-Param-${name}`] = encode(text);
    }
    if (!isObject(schema.properties) || !isObject(value)) return;
    for (const [key, property] of Object.entries(schema.properties)) {
      if (Object.hasOwn(value, key)) visit(property, value[key], depth + 1);
    }
  };
  if (isObject(definition)) visit(definition.inputSchema, args, 0);
  return headers;
}

function headerText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  return undefined;
}

/** Encodes text that a header cannot hold in Base64, with a mark. */
function encode(text: string): string {
  const plain = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text);
  return plain ? text : `=?base64?${Buffer.from(text, "utf8").toString("base64")}?=`;
}
