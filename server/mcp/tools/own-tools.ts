import * as z from "zod/mini";
import { isObject, parseForeignJson } from "../../../base/json.ts";
import { oneLine } from "../../../base/visible-text.ts";
import { similarNames } from "../../../catalog/search/similar-names.ts";
import type { ProgramGuide } from "../../../codegen/language-printer.ts";
import { MAX_CALL_FRAME_BYTES, MAX_CODE_BYTES, MAX_NESTING_DEPTH } from "../../../protocol/limits.ts";
import type { GuidedLanguages } from "./instructions.ts";

const MAX_QUERY_CHARS = 10_000;
const MAX_NAME_CHARS = 1_000;
const MAX_SHOWN_CHARS = 80;
const MAX_TIMEOUT_SECONDS = 86_400;

function text(what: string, maxChars: number) {
  return z.string(`${what} must be a text`).check(
    z.refine((value) => value.trim() !== "", { error: `${what} is empty` }),
    z.maxLength(maxChars, `${what} is longer than ${maxChars} characters`),
  );
}

const server = z.optional(text("server", MAX_NAME_CHARS));
const language = z.optional(text("language", MAX_SHOWN_CHARS));

export const ExecuteProgramArguments = z.object({
  code: z.string("code must be a text: the program").check(
    z.refine((code) => code.trim() !== "", { error: "code is empty: give a program" }),
    z.refine((code) => Buffer.byteLength(code) <= MAX_CODE_BYTES, {
      error: `code is larger than ${MAX_CODE_BYTES} bytes; pass what it works on as data`,
    }),
  ),
  data: z.optional(z.record(z.string(), z.unknown(), "data must be an object")),
  timeout_seconds: z.optional(
    z
      .number("timeout_seconds must be a number")
      .check(
        z.positive("timeout_seconds must be more than 0"),
        z.lte(MAX_TIMEOUT_SECONDS, `timeout_seconds must be at most ${MAX_TIMEOUT_SECONDS}`),
      ),
  ),
  typecheck: z.optional(z.enum(["error", "warn", "off"], "typecheck must be error, warn or off")),
  language,
  session: z.optional(text("session", MAX_NAME_CHARS)),
  dry_run: z.optional(z.boolean("dry_run must be true or false")),
});
export type ExecuteProgramArguments = z.infer<typeof ExecuteProgramArguments>;

const TICKET = /^\s*ticket ([0-9a-f]{16})\s*$/;

/** A text that is not a program in any language. It stands for the suspended program with this ticket, without another tool. */
export function renderTicket(ticket: string): string {
  return `ticket ${ticket}`;
}

/** The ticket that a call brings instead of a program. */
export function ticketIn({ code }: Pick<ExecuteProgramArguments, "code">): string | undefined {
  return TICKET.exec(code)?.[1];
}

export const SearchToolsArguments = z.object({
  query: text("query", MAX_QUERY_CHARS),
  server,
  detail: z._default(
    z.enum(["name", "description", "signature"], "detail must be name, description or signature"),
    "description",
  ),
  limit: z._default(
    z
      .int("limit must be a whole number")
      .check(z.gte(1, "limit must be at least 1"), z.lte(100, "limit must be at most 100")),
    10,
  ),
  language,
});
export type SearchToolsArguments = z.infer<typeof SearchToolsArguments>;

export const InspectToolArguments = z.object({
  tool_name: text("tool_name", MAX_NAME_CHARS),
  format: z._default(z.enum(["schema", "signature"], "format must be schema or signature"), "schema"),
  language,
});
export type InspectToolArguments = z.infer<typeof InspectToolArguments>;

export const ListCallableToolsArguments = z.object({ server });
export type ListCallableToolsArguments = z.infer<typeof ListCallableToolsArguments>;

export const ReadOutputArguments = z.object({
  run: text("run", MAX_NAME_CHARS),
  offset: z._default(z.int("offset must be a whole number").check(z.gte(0, "offset must be at least 0")), 0),
  grep: z.optional(text("grep", MAX_NAME_CHARS)),
});
export type ReadOutputArguments = z.infer<typeof ReadOutputArguments>;

const HOW_TO_CONTINUE = 'a ticket is the code: {"code":"ticket <its digits>"}';

type ParsedArguments<T> = { ok: true; value: T } | { ok: false; message: string };

/** Arguments that models name otherwise, and that no similar spelling leads to. */
const ALSO_CALLED: Readonly<Record<string, readonly string[]>> = {
  code: ["program", "script", "source"],
  data: ["args", "arguments", "input", "inputs", "params"],
  query: ["q", "text", "keywords"],
  tool_name: ["tool", "name"],
  run: ["run_id", "id", "digest"],
  grep: ["pattern", "search"],
};

/**
 * Parses the arguments of a call. Some clients send every argument: one that is null counts as left out. Some send texts: a text counts
 * as the number or object that its JSON stands for where a text is not allowed, and a list of texts as the lines of the program. The
 * error is one line; unknown arguments are errors too.
 *
 * @param served the names of the arguments that the tool's definition has now. By default all that the schema knows.
 */
export function parseArguments<T>(
  schema: z.ZodMiniObject & z.ZodMiniType<T>,
  value: unknown,
  served: readonly string[] = Object.keys(schema.shape),
): ParsedArguments<T> {
  const all = typeof value === "string" ? (jsonIn(value) ?? value) : (value ?? {});
  if (!isObject(all)) return { ok: false, message: "arguments must be an object" };
  const known = Object.keys(schema.shape);
  const given = Object.entries(all).filter(([key, each]) => each !== null || isRequired(schema.shape[key]));
  const unknown = given.find(([key]) => !known.includes(key))?.[0];
  if (unknown !== undefined) {
    const meant = meantBy(unknown, served);
    const hint = meant === undefined ? "" : `; did you mean '${meant}'?`;
    const ticket = unknown === "ticket" && served.includes("code") ? `; ${HOW_TO_CONTINUE}` : hint;
    const message = `there is no argument '${oneLine(unknown, MAX_SHOWN_CHARS)}'; there are ${served.join(", ")}${ticket}`;
    return { ok: false, message };
  }
  const read = given.map(([key, each]) => [key, readLeniently(key, each, schema.shape[key])]);
  const parsed = schema.safeParse(Object.fromEntries(read));
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, message: parsed.error.issues[0]?.message ?? "arguments are wrong" };
}

function isRequired(schema: z.core.$ZodType | undefined): boolean {
  return schema !== undefined && !z.safeParse(schema, undefined).success;
}

function meantBy(name: string, known: readonly string[]): string | undefined {
  const letters = name.toLowerCase();
  return (
    known.find((key) => ALSO_CALLED[key]?.includes(letters)) ??
    known.find((key) => key.startsWith(`${letters}_`)) ??
    similarNames(name, known, 1)[0]
  );
}

/** What an argument stands for, if its own type is not allowed. */
function readLeniently(key: string, value: unknown, schema: z.core.$ZodType | undefined): unknown {
  if (key === "code" && Array.isArray(value) && value.every((line) => typeof line === "string"))
    return value.join("\n");
  if (schema === undefined || typeof value !== "string") return value;
  const issue = z.safeParse(schema, value).error?.issues[0];
  return issue?.code === "invalid_type" ? (jsonIn(value) ?? value) : value;
}

/** The number or object whose JSON text this is; `undefined` if it is none. */
function jsonIn(text: string): unknown {
  try {
    const value = parseForeignJson(text, { maxBytes: MAX_CALL_FRAME_BYTES, maxDepth: MAX_NESTING_DEPTH });
    return typeof value === "number" || typeof value === "object" ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * ptc's own tools. A model sees only these, however many tools are behind them. Their text is in the context of every conversation,
 * so together with the instructions it stays under 1,000 tokens.
 */

/** Longer lists of servers appear only in the instructions. */
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
  /** Facts for clients that the protocol does not define. No model reads them. */
  _meta?: Record<string, boolean | number | string>;
}

/** Without this, Claude Code loads a tool only after a search has found it. */
const ALWAYS_LOADED = { "anthropic/alwaysLoad": true };

/**
 * Claude Code puts longer results into a file and shows its model only the beginning. ptc already bounds a program's output by
 * `execution.max_reply_bytes`, and tells the model how to read on.
 */
const OWN_BOUND = { "anthropic/maxResultSizeChars": 200_000 };

/** Words by which Claude Code finds a tool that is not always loaded, besides its name. */
function foundBy(words: string): Record<string, string> {
  return { "anthropic/searchHint": words };
}

/** The argument that chooses a language; none if only one language is on. */
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
      dry_run: { type: "boolean", description: "Only tells which calls would change something" },
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

/** One guide for all languages together. */
function oneGuide([{ guide }, ...others]: GuidedLanguages): ProgramGuide {
  const programs = [guide, ...others.map((each) => each.guide)].map((each) => each.programs);
  return { ...guide, programs: programs.join(" or ") };
}

/**
 * @param servers modules of the servers behind ptc. `search_tools` names them if they are few, because a model looks there.
 * @param languages the languages of programs. The first is for programs that name none.
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

/** Whether a name is that of one of these tools. */
export function isOwnTool(name: string): boolean {
  return OWN_TOOLS.has(name);
}

const OWN_TOOLS: ReadonlySet<string> = new Set([
  "execute_program",
  "search_tools",
  "inspect_tool",
  "list_callable_tools",
  "read_output",
]);
