import type { ProgramGuide } from "../../../codegen/language-printer.ts";
import type { GuidedLanguages } from "./instructions.ts";

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
  /** What clients know of tools beside the protocol. No model reads it. */
  _meta?: Record<string, boolean | number | string>;
}

/** Without this, Claude Code loads a tool only after a search has found it. */
const ALWAYS_LOADED = { "anthropic/alwaysLoad": true };

/**
 * Claude Code puts longer results into a file, of which its model sees the beginning. What a program gives out is bounded here
 * already by `execution.max_reply_bytes`, and says how its model reads on.
 */
const OWN_BOUND = { "anthropic/maxResultSizeChars": 200_000 };

/** Words by which Claude Code finds a tool that is not always loaded, beside its name. */
function foundBy(words: string): Record<string, string> {
  return { "anthropic/searchHint": words };
}

/** The argument that chooses a language; none where there is one language only. */
function languageArgument(languages: GuidedLanguages): OwnToolDefinition["inputSchema"]["properties"] {
  if (languages.length === 1) return {};
  return { language: { type: "string", enum: languages.map(({ language }) => language) } };
}

/** The argument that names a session. */
const SESSION_ARGUMENT = {
  session: { type: "string", description: "Keeps variables and files for later programs of the same name" },
};

/** How tools are called in each language. */
function describeCalls([{ guide }, ...others]: GuidedLanguages): string {
  return [guide.calls, ...others.map((each) => `in ${each.guide.signatures} ${each.guide.calls}`)].join("; ");
}

const executeProgram = (
  languages: GuidedLanguages,
  { programs, givesBack, abilities }: ProgramGuide,
  hasSessions: boolean,
): OwnToolDefinition => ({
  name: "execute_program",
  title: "Run a program that calls tools",
  description: `Runs a ${programs} program that calls MCP tools, in a sandbox without network. Only what it ${givesBack} comes back; results of tool calls stay out of the conversation. Use it for several calls, loops, conditions, filtering or large results. ${abilities}, and nothing is kept between programs${hasSessions ? " without `session`" : ""}.`,
  inputSchema: {
    type: "object",
    properties: {
      code: {
        type: "string",
        description: `The program. Tools: ${describeCalls(languages)}.`,
      },
      ...languageArgument(languages),
      data: { type: "object", description: "JSON that the program sees as `data`" },
      timeout_seconds: { type: "number", exclusiveMinimum: 0, description: "Time limit" },
      typecheck: {
        type: "string",
        enum: ["error", "warn", "off"],
        description: "With type errors, error (default) does not run it",
      },
      ...(hasSessions ? SESSION_ARGUMENT : {}),
    },
    required: ["code"],
  },
  annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  _meta: { ...ALWAYS_LOADED, ...OWN_BOUND },
});

const searchTools = (languages: GuidedLanguages): OwnToolDefinition => ({
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
      ...languageArgument(languages),
    },
    required: ["query"],
  },
  annotations: { readOnlyHint: true },
  _meta: ALWAYS_LOADED,
});

const inspectTool = (languages: GuidedLanguages, { signatures }: ProgramGuide): OwnToolDefinition => ({
  name: "inspect_tool",
  title: "Inspect a tool",
  description: `One tool's description and JSON schemas, or its ${signatures} signature.`,
  inputSchema: {
    type: "object",
    properties: {
      tool_name: { type: "string", description: "mcp__<server>__<tool>" },
      format: { type: "string", enum: ["schema", "signature"], default: "schema" },
      ...languageArgument(languages),
    },
    required: ["tool_name"],
  },
  annotations: { readOnlyHint: true },
  _meta: foundBy("MCP tool schema"),
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
  _meta: foundBy("all MCP tools"),
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
  _meta: foundBy("program result rest"),
};

/** What is said of all languages at once. */
function oneGuide([{ guide }, ...others]: GuidedLanguages): ProgramGuide {
  const programs = [guide, ...others.map((each) => each.guide)].map((each) => each.programs);
  return { ...guide, programs: programs.join(" or ") };
}

/**
 * @param servers modules of the servers behind ptc: a few are named in `search_tools`, where a model looks for tools.
 * @param languages of programs; that of programs that name none first.
 * @param hasSessions whether programs may run in sessions.
 */
export function buildToolDefinitions(
  servers: readonly string[],
  languages: GuidedLanguages,
  hasSessions = false,
): OwnToolDefinition[] {
  const guide = oneGuide(languages);
  const search = searchTools(languages);
  const names = servers.join(", ");
  const description =
    names === "" || names.length > MAX_SERVER_LIST_CHARS
      ? search.description
      : `${search.description} Servers: ${names}.`;
  return [
    executeProgram(languages, guide, hasSessions),
    { ...search, description },
    inspectTool(languages, guide),
    LIST_CALLABLE_TOOLS,
    READ_OUTPUT,
  ];
}
