/** The rules about who may call what: their schema, their mistakes, cases that try them, and what they decided in a run. */

import type { ArchiveStore } from "../archive/archive-store.ts";
import type { DamagedRun } from "../archive/listed-run.ts";
import type { CallRecord, ValueFlow } from "../archive/run-record.ts";
import { visibleLine } from "../base/visible-text.ts";
import type { LocatedProblem, Rules } from "../broker/policy/cedar/cedar-rules.ts";
import { PEOPLE_SCHEMA, RULE_SCHEMA } from "../broker/policy/cedar/rule-schema.ts";
import { argumentMembers, lookUpMember } from "../catalog/schema-members.ts";
import { similarNames } from "../catalog/search/similar-names.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { unknownFlowNames } from "../configuration/flow-names.ts";
import { nothingPermitted, openRules, ruleSchemaJson } from "../configuration/policy/build-rules.ts";
import { namedLabels } from "../configuration/policy/configured-flow.ts";
import { unacceptedLabels, unknownAcceptedLabels } from "../configuration/policy/label-warnings.ts";
import { type CaseResult, tryPolicyCases } from "../configuration/policy/policy-cases.ts";
import { shortToolName } from "../server/reports/run-overview.ts";
import { describeRecordedValues } from "../server/reports/value-flows.ts";
import { loadProgramTools } from "../tools/program-tools.ts";
import { Refusal } from "./refusal.ts";
import { selectRun } from "./runs.ts";
import { type Suggestions, suggestEntries } from "./suggestions.ts";
import { layOutTable } from "./terminal/terminal.ts";
import { readTextFile } from "./text-file.ts";

/** The Cedar schema of rules about calls, or of rules about what is another's, as text and in Cedar's JSON format. */
export function policySchema(subject: "calls" | "people"): { text: string; json(): Promise<unknown> } {
  const text = subject === "people" ? PEOPLE_SCHEMA : RULE_SCHEMA;
  return { text, json: () => ruleSchemaJson(text) };
}

const MAX_CASES_BYTES = 4 * 1024 * 1024;

/**
 * Decides about the calls of a file of cases, without making them.
 *
 * @param file its path, as seen from `cwd`.
 * @throws Refusal, ConfigurationError for cases that cannot be read; CatalogError
 */
export async function tryCases(
  configuration: Configuration,
  file: string,
  cwd: string,
): Promise<readonly CaseResult[]> {
  const text = await readTextFile(file, cwd, MAX_CASES_BYTES);
  const { all } = await loadProgramTools(configuration);
  return tryPolicyCases(configuration, all, text, file);
}

/** Entries under which what people approved again and again would not be asked about. Nothing is written. @throws ArchiveError */
export function suggestPolicy(
  archive: Pick<ArchiveStore, "list" | "read">,
  configuration: Configuration,
  since: { sinceMs: number },
  onDamaged: (run: DamagedRun) => void,
): Promise<Suggestions> {
  return suggestEntries(archive, configuration, since, onDamaged);
}

export interface PolicyCheck {
  /** How many rules there are. */
  rules: number;
  errors: readonly LocatedProblem[];
  warnings: readonly LocatedProblem[];
  ofLabels: readonly LocatedProblem[];
}

/**
 * Finds all errors in the rules, labels and `accepts` of a configuration. Warns about what is most likely a mistake: no rule permits
 * anything, a head names an unknown tool, server or group, a rule looks at an argument that its tool does not have, or nothing carries a
 * label. `ofLabels` has warnings about labels that tools do not accept or nothing carries, which may be meant.
 *
 * @throws ConfigurationError for a file that cannot be read.
 */
export async function checkPolicy(configuration: Configuration): Promise<PolicyCheck> {
  const unread = [...configuration.policy.files, ...configuration.lists.files].find(
    ({ problem }) => problem !== undefined,
  );
  if (unread?.problem !== undefined) throw new ConfigurationError("invalid", unread.problem);
  const { file = "configuration" } = configuration;
  const opened = configuration.policy.files.length === 0 ? undefined : await openRules(configuration);
  if (opened !== undefined && opened.problems.errors.length > 0)
    return { rules: opened.rules.all.length, ...opened.problems, ofLabels: [] };
  const { all } = await loadProgramTools(configuration);
  const errors: LocatedProblem[] = unknownFlowNames(configuration, all);
  const ofLabels = [
    ...unknownAcceptedLabels(configuration),
    ...unacceptedLabels(configuration, all).map((message) => ({ file, line: 1, message })),
  ];
  if (opened === undefined) return { rules: 0, errors, warnings: [], ofLabels };
  const { rules, problems } = opened;
  const isListed = all.servers.length > 0;
  const known = {
    Server: configuration.servers.map(({ name }) => name),
    // Over HTTP, logins say groups that no file names.
    ...(configuration.http.auth === undefined ? { Group: Object.keys(configuration.policy.groups) } : {}),
    ...(isListed ? { Tool: all.names() } : {}),
  };
  const unknown = [
    ...nothingPermitted(rules),
    ...unknownNames(rules, known),
    ...unknownArguments(rules, all),
    ...unknownLabels(rules, configuration),
  ];
  return {
    rules: rules.all.length,
    errors,
    warnings: [...problems.warnings, ...unknown].toSorted(
      (a, b) => a.file.localeCompare(b.file) || a.line - b.line,
    ),
    ofLabels,
  };
}

/** Finds arguments that rules about one tool look at, and that it does not have: such a condition never holds. */
function unknownArguments({ all: rules }: Rules, all: Pick<ToolCatalog, "get">): LocatedProblem[] {
  return rules.flatMap(({ file, line, text, resource = [] }) => {
    const tools = resource.flatMap(({ type, id }) => (type === "Tool" ? (all.get(id) ?? []) : []));
    if (tools.length !== resource.length) return [];
    const named = text.matchAll(LOOKS_AT_ARGUMENT);
    return [...new Set([...named].map(([, tag, said]) => tag ?? said ?? ""))].flatMap((name) => {
      const looked = tools.map((tool) => lookUpMember(argumentMembers(tool), name));
      const missing = looked.flatMap((each) => (typeof each === "string" ? [] : each.names));
      if (looked.length === 0 || looked.some((each) => typeof each === "string")) return [];
      const [nearest] = similarNames(name, missing, 1);
      const advice = nearest === undefined ? "" : `; did you mean '${nearest}'?`;
      return [{ file, line, message: `'${tools[0]?.namespacedName}' has no argument '${name}'${advice}` }];
    });
  });
}

const LOOKS_AT_ARGUMENT =
  /\bcontext\s*\.\s*(?:(?:arguments|numbers|lists|labels|origins|hosts|domains)\s*\.\s*(?:has|get)Tag\(\s*"([^"]*)"\s*\)|said\s*\.\s*contains\(\s*"([^"]*)"\s*\))/g;

function unknownNames(
  { all }: Rules,
  known: Readonly<Record<string, readonly string[]>>,
): readonly LocatedProblem[] {
  return all.flatMap(({ file, line, principal = [], resource = [] }) =>
    [...principal, ...resource].flatMap(({ type, id }) => {
      const names = known[type];
      if (names === undefined || names.includes(id)) return [];
      const [nearest] = similarNames(id, names, 1);
      const advice = nearest === undefined ? "" : `; did you mean '${nearest}'?`;
      return [{ file, line, message: `there is no ${type.toLowerCase()} '${id}'${advice}` }];
    }),
  );
}

/** Finds labels in rules that no server or tool has. */
function unknownLabels({ all }: Rules, { servers }: Configuration): LocatedProblem[] {
  const labels = namedLabels(servers);
  return all.flatMap(({ file, line, text }) =>
    [...text.matchAll(/\blabels\.contains(?:All|Any)?\(\s*(\[[^\]]*\]|"[^"]*")/g)]
      .flatMap(([, written = ""]) => [...written.matchAll(/"([^"]*)"/g)])
      .flatMap(([, label = ""]) => {
        if (labels.has(label)) return [];
        const [nearest] = similarNames(label, [...labels], 1);
        const advice = nearest === undefined ? "" : `; did you mean '${nearest}'?`;
        return [{ file, line, message: `no server or tool has the label '${label}'${advice}` }];
      }),
  );
}

/** What decided about the calls of an archived run, as `ptc policy explain --json` prints it. */
interface ExplainedRun {
  run_id: string;
  principal: string;
  calls: readonly ExplainedCall[];
}

interface ExplainedCall {
  /** The number of the call, from 1. */
  call: number;
  tool: string;
  decision: string;
  approver?: string;
  rule: string | null;
  reason: string | null;
  values: readonly ValueFlow[];
}

/**
 * Explains the decisions about the calls of an archived run.
 *
 * @param number one of the calls, from 1; by default all.
 * @returns them, and a line about the other runs that the reference means.
 * @throws Refusal when there is no such run or call; ArchiveError
 */
export async function explainRun(
  archive: Pick<ArchiveStore, "find" | "read">,
  reference: string,
  number: string | undefined,
): Promise<{ explained: ExplainedRun; others: string | undefined }> {
  const { run: listed, others } = await selectRun(archive, reference);
  const { record } = await archive.read(listed.run_id);
  const calls = selectCalls(record.calls, number).map(
    ({ seq, tool, decision, approver, rule, reason, values }): ExplainedCall => ({
      call: seq + 1,
      tool,
      decision,
      ...(approver === undefined ? {} : { approver }),
      rule: rule ?? null,
      reason: reason ?? null,
      values: values ?? [],
    }),
  );
  return { explained: { run_id: record.run_id, principal: record.principal, calls }, others };
}

function selectCalls(calls: readonly CallRecord[], number: string | undefined): readonly CallRecord[] {
  if (number === undefined) return calls;
  const call = calls.find(({ seq }) => String(seq + 1) === number);
  if (call !== undefined) return [call];
  const known = calls.length === 0 ? "this run made none" : `this run made ${calls.length}, from 1`;
  throw new Refusal(`there is no call '${visibleLine(number)}': ${known}`);
}

/** Renders explained decisions for people: a line for each call, with the reason and the values below it. */
export function renderExplained({ calls }: ExplainedRun): string {
  if (calls.length === 0) return "this run made no calls";
  const rows = calls.map(({ call, tool, decision, approver, rule }) => [
    { text: `call ${call}` },
    { text: visibleLine(shortToolName(tool)) },
    { text: approver === undefined ? decision : `${decision} by ${visibleLine(approver)}` },
    { text: rule === null ? "no entry or rule was about it" : visibleLine(rule) },
  ]);
  const lines = layOutTable(rows).flatMap((line, index) => {
    const { reason = null, values = [] } = calls[index] ?? {};
    const flows = describeRecordedValues(values).map((each) => `    ${visibleLine(each)}`);
    return [line, ...(reason === null ? [] : [`    ${visibleLine(reason)}`]), ...flows];
  });
  return lines.join("\n");
}
