import type { Template } from "./template.ts";

/** The server of the tools that the configuration itself has, and its module in code. */
export const LOCAL_SERVER = "local";

/** A command that is called as a tool. */
export interface LocalTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  /** Of a tool whose output is JSON. */
  readonly outputSchema?: object | undefined;
  readonly annotations?: object | undefined;
  readonly program: string;
  /** The elements of the command line after the program. */
  readonly elements: readonly Template[];
  /** What the command reads; without it, the arguments as JSON. */
  readonly stdin: Template | undefined;
  readonly output: "text" | "json";
  /** Those that mean no failure. */
  readonly exitCodes: readonly number[];
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  /** Absolute. */
  readonly cwd: string;
  /** Why it cannot be called, in one line. */
  readonly off?: string | undefined;
}

/** The name of a variable of one tool among those of all tools. A tool's name holds no `/`. */
export function ownVariable(tool: string, variable: string): string {
  return `${tool}/${variable}`;
}

/** Whether a name that `ownVariable` made is that of a variable of this tool. */
export function isOwnVariable(tool: string, own: string): boolean {
  return own.startsWith(ownVariable(tool, ""));
}

/** The variables of one tool, of those of all tools. */
export function variablesOf(
  tool: string,
  all: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const own = ownVariable(tool, "");
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) =>
      isOwnVariable(tool, name) ? [[name.slice(own.length), value]] : [],
    ),
  );
}

/** A tool as servers list theirs (MCP 2025-11-25, "Tool"). */
export function describeLocalTool({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
  output,
}: LocalTool): object {
  const schema = output === "text" ? { type: "string" } : outputSchema;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema,
    ...(schema === undefined ? {} : { outputSchema: schema }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}
