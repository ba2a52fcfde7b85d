import { isObject } from "../base/json.ts";

/**
 * MCP wants structured content to be an object, so the Python SDKs put every list, text, number and optional object into
 * `{result: X}`. Programs are given X. What counts is the output schema, never an answer:
 *
 * - It is an object whose only property is `result`.
 * - FastMCP (2.10 and later) marks it: `"x-fastmcp-wrap-result": true`.
 * - The official SDK (`mcp`) makes a model of the function's name: `result` is required, the title is `<function>Output`, and
 *   nothing else is said of the object. Functions begin with a small letter or `_`, and classes do not: a model `GetOutput` that somebody
 *   wrote, with one member `result`, stays as it is.
 */
export function isWrappedResult(outputSchema: unknown): boolean {
  if (!isObject(outputSchema) || outputSchema.type !== "object" || !isObject(outputSchema.properties))
    return false;
  const [only, another] = Object.keys(outputSchema.properties);
  if (only !== "result" || another !== undefined) return false;
  if (outputSchema["x-fastmcp-wrap-result"] === true) return true;
  const { required, title } = outputSchema;
  return (
    Array.isArray(required) &&
    required.length === 1 &&
    required[0] === "result" &&
    typeof title === "string" &&
    FUNCTION_OUTPUT.test(title) &&
    Object.keys(outputSchema).every((keyword) => OF_SDK.has(keyword))
  );
}

const FUNCTION_OUTPUT = /^[\p{Ll}_][\p{L}\p{N}_]*Output$/u;
const OF_SDK: ReadonlySet<string> = new Set(["type", "properties", "required", "title", "$defs"]);

/** What is in the wrapper; a value that is none stays as it is. */
export function unwrapResult(structured: unknown): unknown {
  return isObject(structured) && Object.hasOwn(structured, "result") ? structured.result : structured;
}
