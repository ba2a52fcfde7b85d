import { isObject } from "../base/json.ts";

/**
 * Whether a server wraps its results. MCP requires structured content to be an object, so the Python SDKs put every list, text,
 * number and optional object into `{result: X}`. Programs get X. Only the output schema decides, never an answer:
 *
 * - It is an object whose only property is `result`.
 * - FastMCP (2.10 and later) marks it: `"x-fastmcp-wrap-result": true`.
 * - The official SDK (`mcp`) makes a model from the function's name: `result` is required, the title is `<function>Output`, and
 *   the schema says nothing else about the object. Functions begin with a lower-case letter or `_`, and classes do not. ptc
 *   therefore does not unwrap a handwritten model `GetOutput` with the only member `result`.
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

/** Returns the value inside a wrapper. Returns any other value unchanged. */
export function unwrapResult(structured: unknown): unknown {
  return isObject(structured) && Object.hasOwn(structured, "result") ? structured.result : structured;
}
