/** Entries under which what people approved again and again would not have been asked about. Nothing is written. */
import { type ArchiveStore, allRuns } from "../archive/archive-store.ts";
import type { DamagedRun } from "../archive/listed-run.ts";
import { isObject } from "../base/json.ts";
import { oneLine } from "../base/visible-text.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { isByReviewer } from "../configuration/interceptor-settings.ts";

/** A call of the archive that a person was, or would have been, asked about. */
export interface AskedCall {
  readonly runId: string;
  /** The number of the call within its run, from 1. */
  readonly call: number;
  readonly tool: string;
  /** `undefined` if the archive does not have them. */
  readonly arguments: unknown;
  /** Whether the archive has its arguments as they were. */
  readonly isKept?: boolean;
  readonly answer: "approved" | "denied" | "nobody";
}

/** An argument that has to match for a call to go without a question. */
interface Condition {
  /** In the notation of rules: `to`, `message.subject`. */
  readonly path: string;
  /** The text itself, or with `*` for anything at its beginning or its end. */
  readonly pattern: string;
}

interface Suggestion {
  readonly tool: string;
  /** What has to match; at least one. */
  readonly where: readonly Condition[];
  /** The paths of the other arguments of the approved calls, of which any value passes. */
  readonly free: readonly string[];
  /** The entries: that of `ptc.yaml`, and a rule in Cedar. */
  readonly entries: { readonly yaml: string; readonly cedar: string };
  /** How many questions there would not have been. */
  readonly saves: number;
  /** The runs in which a person approved such calls, the newest first. */
  readonly runs: readonly string[];
  /** What else of the archive would have passed: calls that nobody has approved. */
  readonly also: readonly { readonly runId: string; readonly call: number }[];
}

export interface Suggestions {
  readonly suggestions: readonly Suggestion[];
  /** Tools that were approved often, and of which nothing is suggested. */
  readonly without: readonly { readonly tool: string; readonly why: string }[];
  readonly runs: number;
  readonly questions: number;
}

/** Approved so often, in so many runs, counts as again and again. */
const MIN_APPROVED = 3;
const MIN_RUNS = 2;
const MAX_CALLS = 20_000;
const MAX_CONDITIONS = 6;
const MAX_TEXT_CHARS = 300;
const MIN_PREFIX_CHARS = 4;

/** Reads the archive and suggests entries. @throws ArchiveError */
export async function suggestEntries(
  archive: Pick<ArchiveStore, "list" | "read">,
  configuration: Pick<Configuration, "policy">,
  filter: { sinceMs?: number },
  onDamaged: (run: DamagedRun) => void,
): Promise<Suggestions> {
  const calls: AskedCall[] = [];
  let runs = 0;
  for await (const listed of allRuns(archive, filter, onDamaged)) {
    if (listed.source === "replay" || listed.calls === 0) continue;
    if (calls.length >= MAX_CALLS) break;
    const run = await archive.read(listed.run_id);
    runs++;
    for (const call of run.record.calls) {
      const answer = answerOf(call);
      const isKept = call.unkept === undefined;
      if (answer === undefined || (!isKept && answer !== "denied")) continue;
      calls.push({
        runId: listed.run_id,
        call: call.seq + 1,
        tool: call.tool,
        answer,
        isKept,
        arguments: isKept ? await run.argumentsOf(call) : undefined,
      });
    }
  }
  const hasRules = configuration.policy.files.length > 0;
  return { ...suggest(calls, hasRules), runs };
}

function answerOf({
  decision,
  approver,
  rule,
}: {
  decision: string;
  approver?: string | undefined;
  rule?: string | undefined;
}): AskedCall["answer"] | undefined {
  // What a rule in Cedar or a label asks about is asked about whatever `approvals.allow` says. What a reviewer approves is no wish of a
  // person; what it denies is not suggested all the same.
  const isOfList = (rule === undefined || rule.startsWith("approvals.")) && !isByReviewer(approver);
  if (decision === "approved-once" || decision === "approved-for-run")
    return isOfList ? "approved" : undefined;
  if (decision !== "denied") return undefined;
  return approver === undefined || approver === "nobody" ? "nobody" : "denied";
}

/**
 * Suggests at most one entry for each tool: the narrowest that lets everything pass that was approved, and nothing that was denied.
 *
 * @param calls the newest first.
 * @param hasRules whether there are rule files, without which a rule needs one that permits all others.
 */
export function suggest(calls: readonly AskedCall[], hasRules: boolean): Omit<Suggestions, "runs"> {
  const suggestions: Suggestion[] = [];
  const without: { tool: string; why: string }[] = [];
  let permits = hasRules;
  for (const tool of [...new Set(calls.map((each) => each.tool))].sort()) {
    const own = calls.filter((each) => each.tool === tool);
    const approved = own.filter(({ answer }) => answer === "approved");
    const runs = [...new Set(approved.map(({ runId }) => runId))];
    if (approved.length < MIN_APPROVED || runs.length < MIN_RUNS) continue;
    const all = approved.map((each) => valuesOf(each.arguments));
    const where = conditionsOf(all);
    const passes = own.filter((each) => where.every((condition) => fits(condition, each.arguments)));
    const why = whyNone(own, all, where, passes);
    if (why !== undefined) {
      without.push({ tool, why });
      continue;
    }
    const also = passes.filter(({ answer }) => answer === "nobody");
    const free = [...(all[0]?.keys() ?? [])].filter((path) => where.every((each) => each.path !== path));
    suggestions.push({
      tool,
      where,
      free,
      entries: entriesOf(tool, where, permits),
      saves: approved.length,
      runs,
      also: also.map(({ runId, call }) => ({ runId, call })),
    });
    permits = true;
  }
  suggestions.sort((a, b) => b.saves - a.saves);
  return { suggestions, without, questions: calls.length };
}

/** Why nothing is suggested for a tool; `undefined` if something is. */
function whyNone(
  own: readonly AskedCall[],
  all: readonly Values[],
  where: readonly Condition[],
  passes: readonly AskedCall[],
): string | undefined {
  if (own.some(({ answer, isKept }) => answer === "denied" && isKept === false))
    return "one of its calls was denied whose arguments the archive does not have";
  if (all.every((values) => values.size === 0))
    return "it was approved without arguments, and an entry would let any arguments pass";
  for (const path of new Set(all.flatMap((values) => [...values.keys()]))) {
    if (all.some((values) => !values.has(path)))
      return `${oneLine(path, 60)} is in some of the approved calls alone, and no pattern would look at it`;
    if (all.some((values) => values.get(path) === undefined))
      return `${oneLine(path, 60)} is no text, and no pattern would look at it`;
  }
  if (where.length === 0) return "the arguments that were approved have nothing in common";
  if (passes.some(({ answer }) => answer === "denied"))
    return "no pattern tells what was approved from what was denied";
  return undefined;
}

/** What all approved arguments have in common, as patterns on texts that all of them have. */
function conditionsOf(texts: readonly Values[]): Condition[] {
  const [first] = texts;
  if (first === undefined) return [];
  const conditions: Condition[] = [];
  for (const path of first.keys()) {
    if (conditions.length >= MAX_CONDITIONS) break;
    const values = texts.map((each) => each.get(path));
    if (!values.every((value) => value !== undefined)) continue;
    const pattern = patternOf(values);
    if (pattern !== undefined) conditions.push({ path, pattern });
  }
  return conditions;
}

/** A pattern that all values match; `undefined` if they have nothing in common that says something. */
function patternOf(values: readonly string[]): string | undefined {
  const [first = ""] = values;
  if (!values.every(isPlain)) return undefined;
  if (values.every((value) => value === first)) return first;
  const at = first.lastIndexOf("@");
  const domain = at < 1 ? "" : first.slice(at);
  if (
    domain.length > 1 &&
    values.every((value) => value.indexOf("@") === value.length - domain.length && value.endsWith(domain))
  )
    return `*${domain}`;
  if (!values.every((value) => value.startsWith("/") && !value.includes(".."))) return undefined;
  let length = 0;
  while (values.every((value) => value[length] !== undefined && value[length] === first[length])) length++;
  const folder = first.slice(0, first.lastIndexOf("/", Math.max(length - 1, 0)) + 1);
  return folder.length >= MIN_PREFIX_CHARS ? `${folder}*` : undefined;
}

/** Whether a text means the same in a rule as it is. */
function isPlain(text: string): boolean {
  return text.length <= MAX_TEXT_CHARS && /^[\x20-\x7e]*$/.test(text) && !/["\\*]/.test(text);
}

/** Arguments by their paths. `undefined` is for what no pattern looks at: a list, a number, a name that no rule can have. */
type Values = ReadonlyMap<string, string | undefined>;

function valuesOf(args: unknown): Values {
  const found = new Map<string, string | undefined>();
  const collect = (value: unknown, path: string) => {
    const members = isObject(value) && !Array.isArray(value) ? Object.entries(value) : [];
    if (members.length === 0) found.set(path, typeof value === "string" ? value : undefined);
    for (const [name, member] of members) {
      const at = path === "" ? name : `${path}.${name}`;
      if (/^\w+$/.test(name)) collect(member, at);
      else found.set(at, undefined);
    }
  };
  const isWithout = args === null || args === undefined || (isObject(args) && Object.keys(args).length === 0);
  if (!isWithout) collect(args, "");
  return found;
}

function fits({ path, pattern }: Condition, args: unknown): boolean {
  const value = valuesOf(args).get(path);
  if (value === undefined) return false;
  if (pattern.startsWith("*"))
    return value.endsWith(pattern.slice(1)) && value.indexOf("@") === value.length - pattern.length + 1;
  if (pattern.endsWith("*")) return value.startsWith(pattern.slice(0, -1)) && !value.includes("..");
  return value === pattern;
}

function entriesOf(tool: string, where: readonly Condition[], permits: boolean): Suggestion["entries"] {
  const yaml = `approvals: { allow: ["${tool}"] }`;
  const terms = where.flatMap(({ path, pattern }) => {
    const value = `context.arguments.getTag("${path}")`;
    const has = `context.arguments.hasTag("${path}")`;
    // A second @ or a step up would reach what the pattern does not show.
    if (pattern.startsWith("*"))
      return [has, `${value} like "${pattern}"`, `!(${value} like "*@*${pattern.slice(1)}")`];
    if (pattern.endsWith("*")) return [has, `${value} like "${pattern}"`, `!(${value} like "*..*")`];
    return [has, `${value} == "${pattern}"`];
  });
  const rule = [
    `@ask("not as it was approved before")`,
    `forbid (principal, action == Action::"call", resource == Tool::"${tool}")`,
    `unless { ${terms.join(" && ")} };`,
  ].join("\n");
  return { yaml, cedar: permits ? rule : `permit (principal, action, resource);\n\n${rule}` };
}
