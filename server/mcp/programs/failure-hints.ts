import { visibleLines } from "../../../base/text/visible-text.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { unknownServer, unknownTool } from "../../../catalog/unknown-names.ts";
import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-program.ts";
import { parseNamespacedName } from "../../../protocol/tools/tool-name.ts";

const MAX_SIGNATURES = 2;

const DRIFTED =
  "The tool's definition has just been read again: inspect_tool shows it; then run the program again.";

/** What runtimes say of a tool name that the program built at run time, so that it could not be checked before. */
const UNDEFINED_TOOL = /(mcp__\w+)'? is not defined/;

/** Names of tools in what was found wrong with a program before it ran. */
const TOOL_NAME = /\bmcp__\w+/g;

/**
 * Advice for a model that corrects a failed program, beyond the failure's message. If the program could not be bundled, the
 * reasons say why. If it ran, its failure's message is text of the program's own; it shows which failed call caused it.
 */
export async function hintsFor(
  { envelope: { result }, reasons, advice }: Pick<ExecutedProgram, "envelope" | "reasons" | "advice">,
  calls: readonly ObservedCall[],
  catalog: ToolCatalog,
  printer: ToolPrinter,
): Promise<string[]> {
  if (result.ok) return [];
  const { message } = result.error;
  const hints = new Set<string>();
  const wrong = new Set<string>();
  for (const { tool, outcome } of calls) {
    if (
      outcome.decision === "unavailable" &&
      catalog.find(tool) === undefined &&
      message.includes(tool) &&
      (advice.length === 0 || catalog.isBlocked(tool))
    )
      hints.add(sentence(unknownTool(tool, catalog)));
    if (outcome.decision === "invalid" && message.includes(tool)) wrong.add(tool);
    if (outcome.decision === "drifted") hints.add(DRIFTED);
  }
  for (const name of [...wrong].slice(0, MAX_SIGNATURES)) {
    const tool = catalog.find(name);
    if (tool !== undefined)
      hints.add(`Its signature: ${visibleLines(await printer.signature(tool, "compact"))}`);
  }
  const unknown = reasons.find(({ code }) => code === "unknown_server");
  if (unknown?.code === "unknown_server") hints.add(sentence(unknownServer(unknown.module, catalog)));
  // A program that was refused before it ran has called nothing that could tell why.
  for (const [named] of message.matchAll(TOOL_NAME))
    if (calls.length === 0 && catalog.whyBlocked(named) !== undefined)
      hints.add(sentence(unknownTool(named, catalog)));
  const name = UNDEFINED_TOOL.exec(message)?.[1] ?? "";
  if (parseNamespacedName(name) !== undefined) hints.add(sentence(unknownTool(name, catalog)));
  return [...hints];
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
