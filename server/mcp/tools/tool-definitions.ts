import type { ProgramGuide } from "../../../codegen/language-printer.ts";

/**
 * ptc's own tools: all that a model sees, however many tools are behind them. Their text is in the context of every
 * conversation, so together with the instructions it stays under 1,000 tokens.
 */

/** Longer lists of servers are in the instructions alone. */
const MAX_SERVER_LIST_CHARS = 100;

/** The definition of one of ptc's own tools, in the form of `tools/list`. */
export interface OwnToolDefinition {
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

/** Without this, Claude Code loads a tool only after a search has found it. */
const ALWAYS_LOADED = { "anthropic/alwaysLoad": true };

const executeProgram = ({ programs, givesBack, abilities, calls }: ProgramGuide): OwnToolDefinition => ({
  name: "execute_program",
  title: "Run a program that calls tools",
  description: `Runs a ${programs} program that calls MCP tools, in a sandbox without network. Only what it ${givesBack} comes back; results of tool calls stay out of the conversation. Use it for several calls, loops, conditions, filtering or large results. ${abilities}, and nothing is kept between programs.`,
  inputSchema: {
    type: "object",
    properties: {
      code: {
        type: "string",
        description: `The program. Tools: ${calls}.`,
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
});

const SEARCH_TOOLS: OwnToolDefinition = {
  name: "search_tools",
  title: "Search tools",
  description: "Finds tools by what they do; detail `signature` shows how to call them.",
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

const inspectTool = ({ signatures }: ProgramGuide): OwnToolDefinition => ({
  name: "inspect_tool",
  title: "Inspect a tool",
  description: `One tool's description and JSON schemas, or its ${signatures} signature.`,
  inputSchema: {
    type: "object",
    properties: {
      tool_name: { type: "string", description: "mcp__<server>__<tool>" },
      format: { type: "string", enum: ["schema", "signature"], default: "schema" },
    },
    required: ["tool_name"],
  },
  annotations: { readOnlyHint: true },
});

const LIST_CALLABLE_TOOLS: OwnToolDefinition = {
  name: "list_callable_tools",
  title: "List callable tools",
  description: "Names of the tools that programs can call, as JSON. Prefer search_tools.",
  inputSchema: {
    type: "object",
    properties: { server: { type: "string", description: "Only this server" } },
  },
  annotations: { readOnlyHint: true },
};

const READ_OUTPUT: OwnToolDefinition = {
  name: "read_output",
  title: "Read output",
  description: "Reads on in long output.",
  inputSchema: {
    type: "object",
    properties: {
      run: { type: "string" },
      offset: { type: "integer" },
      grep: { type: "string", description: "Plain text" },
    },
    required: ["run"],
  },
  annotations: { readOnlyHint: true },
};

/**
 * @param servers modules of the servers behind ptc: a few are named in `search_tools`, where a model looks for tools.
 * @param guide to the language of programs.
 */
export function buildToolDefinitions(servers: readonly string[], guide: ProgramGuide): OwnToolDefinition[] {
  const names = servers.join(", ");
  const description =
    names === "" || names.length > MAX_SERVER_LIST_CHARS
      ? SEARCH_TOOLS.description
      : `${SEARCH_TOOLS.description} Servers: ${names}.`;
  return [
    executeProgram(guide),
    { ...SEARCH_TOOLS, description },
    inspectTool(guide),
    LIST_CALLABLE_TOOLS,
    READ_OUTPUT,
  ];
}
