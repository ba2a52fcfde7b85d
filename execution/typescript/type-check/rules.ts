import type { DeclaredTool } from "../../../codegen/generated-module.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";
import { type Checker, type Diagnostic, type Node, nodeAt, type SourceFile } from "../typescript-api.ts";
import { judgeArgument, judgeCount } from "./arguments.ts";
import type { GeneratedTypes } from "./generated-types.ts";
import { judgeImport } from "./imports.ts";
import { judgeName } from "./names.ts";
import { judgeProperty, judgeUse } from "./properties.ts";
import { isTriedOrMade } from "./tried-properties.ts";

/** One mistake in a program. */
export interface TypeMistake {
  /** The place in the program's text, in UTF-16 code units. */
  start: number;
  text: string;
  /** The tool whose arguments are wrong. */
  tool: DeclaredTool | undefined;
}

export interface RuleContext {
  checker: Checker;
  file: SourceFile;
  generated: GeneratedTypes;
  /** The modules of all servers. */
  modules: ModuleSource;
}

/** Codes of TypeScript's diagnostics that may stop a program. Diagnostics with other codes are ignored. */
const UNKNOWN_NAME = new Set([
  2304, 2552, 2580, 2581, 2582, 2583, 2584, 2591, 2592, 2593, 2662, 2663, 2693, 2867, 2868, 18004,
]);
const UNKNOWN_EXPORT = new Set([1192, 2305, 2613, 2614, 2724]);
const UNKNOWN_PROPERTY = new Set([2339, 2551]);
const WRONG_ARGUMENT = new Set([2322, 2345, 2353, 2559, 2561, 2739, 2740, 2741, 2820]);
const WRONG_COUNT = new Set([2554, 2555]);
const TOO_EARLY = new Set([2448, 2449]);
const NOT_CALLABLE = 2349;
const NOT_ITERABLE = 2488;
const MAY_STOP: ReadonlySet<number> = new Set([
  ...UNKNOWN_NAME,
  ...UNKNOWN_EXPORT,
  ...UNKNOWN_PROPERTY,
  ...WRONG_ARGUMENT,
  ...WRONG_COUNT,
  ...TOO_EARLY,
  NOT_CALLABLE,
  NOT_ITERABLE,
]);
/** The most diagnostics that are judged, because judging asks TypeScript's process. */
const MAX_JUDGED = 200;

/** Selects the diagnostics that are mistakes when the program runs, in the program's order. */
export async function findMistakes(
  diagnostics: readonly Diagnostic[],
  context: RuleContext,
): Promise<TypeMistake[]> {
  const placed = diagnostics
    .filter(({ code }) => MAY_STOP.has(code))
    .map((diagnostic) => ({ diagnostic, node: nodeAt(context.file, diagnostic.pos, diagnostic.end) }));
  const tried = new Set<string>();
  for (const { diagnostic, node } of placed)
    if (UNKNOWN_PROPERTY.has(diagnostic.code) && isTriedOrMade(node)) tried.add(node.getText());

  const findings = new Map<string, TypeMistake>();
  for (const { diagnostic, node } of placed.slice(0, MAX_JUDGED)) {
    const verdict = await judge(diagnostic, node, tried, context);
    if (verdict === undefined) continue;
    const finding = typeof verdict === "string" ? { text: verdict, tool: undefined } : verdict;
    // An unknown name is reported once, not at each place that uses it.
    const key = UNKNOWN_NAME.has(diagnostic.code) ? finding.text : `${diagnostic.pos} ${finding.text}`;
    if (!findings.has(key)) findings.set(key, { start: diagnostic.pos, ...finding });
  }
  return [...findings.values()].sort((a, b) => a.start - b.start);
}

async function judge(
  diagnostic: Diagnostic,
  node: Node,
  tried: ReadonlySet<string>,
  { checker, file, generated, modules }: RuleContext,
): Promise<string | Omit<TypeMistake, "start"> | undefined> {
  const { code } = diagnostic;
  if (UNKNOWN_NAME.has(code)) return judgeName(diagnostic, node, file, generated, modules);
  if (UNKNOWN_EXPORT.has(code)) return judgeImport(node, file, generated);
  if (WRONG_ARGUMENT.has(code)) return judgeArgument(diagnostic, node, tried, checker, generated);
  if (WRONG_COUNT.has(code)) return judgeCount(node, checker, generated);
  if (UNKNOWN_PROPERTY.has(code))
    return tried.has(node.getText()) ? undefined : judgeProperty(node, checker, generated);
  if (TOO_EARLY.has(code)) return `'${node.getText()}' is used before its declaration`;
  if (code === NOT_CALLABLE) return judgeUse(node, "called", checker, generated);
  if (code === NOT_ITERABLE) return judgeUse(node, "iterated", checker, generated);
  return undefined;
}
