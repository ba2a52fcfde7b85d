import type { ExampleCall, ProgramGuide, ToolPrinter } from "../../../codegen/language-printer.ts";
import { EXTRACT_SERVER } from "../../../protocol/tools/extract-tool.ts";
import { listServerNames } from "./server-names.ts";

/** Languages, with what a model is told of programs in them. */
type GuidedLanguage = Pick<ToolPrinter, "language" | "guide">;
export type GuidedLanguages = readonly [GuidedLanguage, ...GuidedLanguage[]];

const BEFORE = `ptc runs one short program that calls many MCP tools, and returns only what the program prints. Do not use it for what your own tools do (files, shell), nor for a single call of a tool that you have directly.

1. search_tools with detail "signature" finds tools and shows how to call them.
2. execute_program runs, for example:`;

/** Stands for a tool where none of those that there are makes an example. */
const ANY_TOOL: ExampleCall = {
  module: "<server>",
  tool: { name: "some_tool", identifier: "someTool" },
  argument: "key",
};

/** When to use which, where tools of servers are listed beside ptc's own. */
const DIRECT =
  "The mcp__ tools listed here are those of programs: call one directly only for one small result.";

/**
 * The instructions that a client shows its model once. At most 2,000 characters, whatever servers are configured.
 *
 * @param servers modules of all configured servers.
 * @param languages of programs; the example is in the first.
 * @param examples calls of tools that there are; the first that the language can show is the example.
 * @param hasDirect whether tools of servers are listed beside ptc's own.
 */
export function buildInstructions(
  servers: readonly string[],
  [{ guide }, ...others]: GuidedLanguages,
  examples: readonly ExampleCall[] = [],
  hasDirect = false,
): string {
  const named = servers.filter((server) => server !== EXTRACT_SERVER);
  const asks =
    named.length === servers.length ? [] : [`${guide.extract} coerces text to such data, by a model.`];
  const known = named.length === 0 ? "No servers are configured." : `Servers: ${listServerNames(named)}`;
  const besides = others.map(({ language, guide: { brief } }) => `With language "${language}": ${brief}`);
  return [
    BEFORE,
    printExample(guide, examples),
    guide.rules,
    ...asks,
    ...besides,
    ...(hasDirect ? [DIRECT] : []),
    known,
  ].join("\n\n");
}

function printExample(guide: ProgramGuide, examples: readonly ExampleCall[]): string {
  for (const call of [...examples, ANY_TOOL]) {
    const text = guide.example(call);
    if (text !== undefined) return text;
  }
  return "";
}
