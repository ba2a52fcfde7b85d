/**
 * The tools that a model sees, however many lie behind them. Every word of this is in the context of every conversation:
 * together with the instructions it stays under 1,000 tokens.
 */

const MAX_SERVER_LIST_CHARS = 100;

export interface ToolDefinition {
  name: string;
  title: string;
  description: string;
  inputSchema: {
    type: "object";
    properties: Record<string, Record<string, string | number | string[]>>;
    required?: string[];
  };
  annotations: { readOnlyHint: boolean; destructiveHint?: boolean; openWorldHint?: boolean };
  _meta?: Record<string, boolean>;
}

/** Claude Code puts tools off until it has searched for them, all but those that ask not to be. */
const ALWAYS_LOADED = { "anthropic/alwaysLoad": true };

const EXECUTE_PROGRAM: ToolDefinition = {
  name: "execute_program",
  title: "Run a program that calls tools",
  description:
    "Runs a TypeScript or JavaScript program that calls MCP tools, in a sandbox without network. Only what it prints with console.log or sets as globalThis.result comes back; results of tool calls stay out of the conversation. Use it for several calls, loops, conditions, filtering or large results. Top-level await works, Node's built-in modules can be imported, and nothing is kept between programs.",
  inputSchema: {
    type: "object",
    properties: {
      code: {
        type: "string",
        description:
          'The program. Tools: `import * as x from "./servers/<server>/index.js"; await x.someTool({...})`, or `await mcp__<server>__<tool>({...})`.',
      },
      data: { type: "object", description: "JSON that the program sees as `data`" },
      timeout_seconds: { type: "number", exclusiveMinimum: 0, description: "Time limit" },
      typecheck: {
        type: "string",
        enum: ["error", "warn", "off"],
        description: "What to do about type errors; default error: do not run",
      },
    },
    required: ["code"],
  },
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  _meta: ALWAYS_LOADED,
};

const SEARCH_TOOLS: ToolDefinition = {
  name: "search_tools",
  title: "Search tools",
  description: "Finds tools by what they do.",
  inputSchema: {
    type: "object",
    properties: {
      query: { type: "string", description: "What you need, in words" },
      server: { type: "string", description: "Only this server" },
      detail: { type: "string", enum: ["name", "description", "signature"], default: "description" },
      limit: { type: "integer", minimum: 1, maximum: 100, default: 10 },
    },
    required: ["query"],
  },
  annotations: { readOnlyHint: true },
  _meta: ALWAYS_LOADED,
};

const INSPECT_TOOL: ToolDefinition = {
  name: "inspect_tool",
  title: "Inspect a tool",
  description:
    "One tool's TypeScript signature, description and JSON schemas. In a signature a property's description stands behind its type.",
  inputSchema: {
    type: "object",
    properties: { tool_name: { type: "string", description: "mcp__<server>__<tool>" } },
    required: ["tool_name"],
  },
  annotations: { readOnlyHint: true },
};

const LIST_CALLABLE_TOOLS: ToolDefinition = {
  name: "list_callable_tools",
  title: "List callable tools",
  description: "The names of all tools that programs can call, as JSON. Long: prefer search_tools.",
  inputSchema: {
    type: "object",
    properties: { server: { type: "string", description: "Only this server" } },
  },
  annotations: { readOnlyHint: true },
};

/** The definitions, with the servers behind them named where a model looks for tools. */
export function buildToolDefinitions(servers: readonly string[]): ToolDefinition[] {
  const names = listUpTo(servers, MAX_SERVER_LIST_CHARS);
  const description =
    names === "" ? SEARCH_TOOLS.description : `${SEARCH_TOOLS.description} Servers: ${names}.`;
  return [EXECUTE_PROGRAM, { ...SEARCH_TOOLS, description }, INSPECT_TOOL, LIST_CALLABLE_TOOLS];
}

/** As many items as fit, and how many more there are. */
export function listUpTo(items: readonly string[], maxChars: number, separator = ", "): string {
  let text = "";
  for (const [index, item] of items.entries()) {
    const next = text === "" ? item : text + separator + item;
    const rest = items.length - index - 1;
    if (next.length > maxChars) return `${text}${text === "" ? "" : separator}and ${rest + 1} more`;
    text = next;
  }
  return text;
}
