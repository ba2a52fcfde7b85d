import type { DeclaredTool } from "./declared-tools.ts";
import { judgeArgument, judgeCount } from "./type-check-arguments.ts";
import type { GeneratedTypes } from "./type-check-generated.ts";
import { judgeImport, judgeName } from "./type-check-names.ts";
import { isTriedOrMade, judgeProperty, judgeUse } from "./type-check-properties.ts";
import { type Checker, type Diagnostic, type Node, nodeAt, type SourceFile } from "./typescript-api.ts";

/** One mistake in a program. */
export interface Finding {
  /** Where it is in the program's text, in UTF-16 code units. */
  start: number;
  text: string;
  /** The tool whose arguments are wrong. */
  tool: DeclaredTool | undefined;
}

export interface RuleContext {
  checker: Checker;
  file: SourceFile;
  generated: GeneratedTypes;
  /** Server modules that exist. */
  modules: readonly string[];
}

/** TypeScript's numbers of what may stop a program; all its others never do. */
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
/** Judging takes questions to TypeScript's process; a program with more than this has enough to correct. */
const MAX_JUDGED = 200;

/** Sorts out what is a mistake that the program would run into, in the program's order. */
export async function findMistakes(
  diagnostics: readonly Diagnostic[],
  context: RuleContext,
): Promise<Finding[]> {
  const placed = diagnostics
    .filter(({ code }) => MAY_STOP.has(code))
    .map((diagnostic) => ({ diagnostic, node: nodeAt(context.file, diagnostic.pos, diagnostic.end) }));
  const tried = new Set<string>();
  for (const { diagnostic, node } of placed)
    if (UNKNOWN_PROPERTY.has(diagnostic.code) && isTriedOrMade(node)) tried.add(node.getText());

  const findings = new Map<string, Finding>();
  for (const { diagnostic, node } of placed.slice(0, MAX_JUDGED)) {
    const verdict = await judge(diagnostic, node, tried, context);
    if (verdict === undefined) continue;
    const finding = typeof verdict === "string" ? { text: verdict, tool: undefined } : verdict;
    // A name that is unknown is unknown wherever it is used.
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
): Promise<string | Omit<Finding, "start"> | undefined> {
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
