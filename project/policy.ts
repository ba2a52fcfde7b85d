/** The rules about who may call what: their schema, their mistakes, and cases that try them. */
import type { ArchiveStore } from "../archive/archive-store.ts";
import type { DamagedRun } from "../archive/listed-run.ts";
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
import { loadProgramTools } from "../tools/program-tools.ts";
import { type Suggestions, suggestEntries } from "./suggestions.ts";

/** The Cedar schema of rules about calls, or of rules about what is another's, as text and in Cedar's JSON format. */
export function policySchema(subject: "calls" | "people"): { text: string; json(): Promise<unknown> } {
  const text = subject === "people" ? PEOPLE_SCHEMA : RULE_SCHEMA;
  return { text, json: () => ruleSchemaJson(text) };
}

/**
 * Decides about the calls of a file of cases, without making them.
 *
 * @param file the name of the file in messages.
 * @throws ConfigurationError for cases that cannot be read; CatalogError
 */
export async function tryCases(
  configuration: Configuration,
  text: string,
  file: string,
): Promise<readonly CaseResult[]> {
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
