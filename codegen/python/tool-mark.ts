import type { ToolModel } from "../../catalog/tool-model.ts";
import { quoteString } from "../escape.ts";

/** The comment before a tool's function, which says what the function calls. */
export interface ToolMark {
  /** The tool's namespaced name. */
  tool: string;
  /** Properties by the names of parameters that are called otherwise. */
  parameters: Readonly<Record<string, string>>;
  /** The type of all arguments as a dict; empty where nothing is known of them. */
  input: string;
  /** In how many calls its result was observed; `undefined` where the tool declares what it returns. */
  observed?: number | undefined;
  /** Whether its result is what the server wraps as `{result: ...}`. */
  unwrapped?: boolean | undefined;
}

const MARK = "# ptc ";

/** Follows the mark of a tool that programs may not call, in an archived module. */
export const NOT_AVAILABLE = " not available";

const MARKED = /^# ptc (\{.*\})( not available)?$/;

/** The line of a mark: JSON in a comment, with nothing invisible in it. */
export function printToolMark(request: {
  tool: ToolModel;
  parameters: ReadonlyMap<string, string>;
  inputName: string;
}): string {
  const renamed = [...request.parameters].filter(([property, parameter]) => property !== parameter);
  const parameters = renamed.map(
    ([property, parameter]) => `${quoteString(parameter)}: ${quoteString(property)}`,
  );
  const members = [
    `"tool": ${quoteString(request.tool.namespacedName)}`,
    ...(request.inputName === "" ? [] : [`"input": ${quoteString(request.inputName)}`]),
    ...(request.tool.observedCalls === undefined ? [] : [`"observed": ${request.tool.observedCalls}`]),
    ...(request.tool.isUnwrapped === true ? ['"unwrapped": true'] : []),
    ...(parameters.length === 0 ? [] : [`"parameters": {${parameters.join(", ")}}`]),
  ];
  return `${MARK}{${members.join(", ")}}`;
}

/** Reads the line of a mark; `undefined` for any other line. */
export function readToolMark(line: string): (ToolMark & { isMarked: boolean }) | undefined {
  const [, json, mark] = MARKED.exec(line) ?? [];
  if (json === undefined) return undefined;
  try {
    const {
      tool,
      parameters = {},
      input = "",
      observed,
      unwrapped = false,
    } = JSON.parse(json) as Partial<ToolMark>;
    if (typeof tool !== "string" || !tool.startsWith("mcp__")) return undefined;
    return { tool, parameters, input, observed, unwrapped, isMarked: mark !== undefined };
  } catch {
    return undefined;
  }
}
