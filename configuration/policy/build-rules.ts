import { mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { clock as processClock } from "../../base/clock.ts";
import { loadCedar, NoCedarError } from "../../broker/policy/cedar/cedar-engine.ts";
import { type LocatedProblem, type Problems, Rules } from "../../broker/policy/cedar/cedar-rules.ts";
import { PEOPLE_SCHEMA, RULE_SCHEMA } from "../../broker/policy/cedar/rule-schema.ts";
import type { Policy } from "../../broker/policy/policy.ts";
import { everyRules, RuleAuthorizer } from "../../broker/policy/rule-authorizer.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { version } from "../../system/package.ts";
import { writePrivateFileSync } from "../../system/private-file.ts";
import { PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";
import type { Configuration } from "../configuration.ts";
import { ConfigurationError } from "../configuration-error.ts";
import { flowOf } from "./configured-flow.ts";
import { resolveGroups } from "./local-groups.ts";

/** What of a configuration its rules are made of. */
type RulesConfiguration = Pick<Configuration, "file" | "directory" | "policy" | "managed"> &
  Parameters<typeof flowOf>[0];

/**
 * Builds the authorizer that decides by lists, labels and rules.
 *
 * @param how `isNoted`: whether it is noted in the project's folder that the rules are valid. `isApart`: whether everything is
 * decided in this thread, because it can be ended.
 * @throws ConfigurationError for the first invalid rule.
 */
export async function buildRuleAuthorizer(
  configuration: RulesConfiguration,
  policy: Policy,
  clock: Pick<Clock, "wallMs"> = processClock,
  { isNoted = true, isApart = false } = {},
): Promise<RuleAuthorizer> {
  const flow = flowOf(configuration);
  const sets: Rules[] = [];
  if (configuration.policy.files.length > 0) {
    const checked = new CheckedRules(configuration);
    const { rules, problems } = await openRules(configuration, { isChecked: checked.isKnown(), isApart });
    const [first] = problems.errors;
    if (first !== undefined) throw new ConfigurationError("invalid", describeRuleProblem(first));
    if (isNoted) checked.note(rules.all.length);
    sets.push(rules);
  }
  for (const { policy: managed } of configuration.managed) {
    if (managed.files.length === 0) continue;
    const { rules, problems } = await openRules({ ...configuration, policy: managed }, { isApart });
    const [first] = problems.errors;
    if (first !== undefined) throw new ConfigurationError("invalid", describeRuleProblem(first));
    sets.push(rules);
  }
  return new RuleAuthorizer({ policy, flow, rules: everyRules(sets), clock });
}

/**
 * The rules of a configuration with all their problems.
 *
 * @param how `isChecked`: whether the rules are known to be valid. They are then not checked again.
 * @throws ConfigurationError when Cedar is not installed.
 */
export async function openRules(
  configuration: Omit<RulesConfiguration, "directory" | "managed">,
  { isChecked = false, isApart = false } = {},
): Promise<{ rules: Rules; problems: Problems }> {
  const { files } = configuration.policy;
  const groups = resolveGroups(configuration.policy.groups);
  try {
    return await Rules.open({ files, groups, flow: flowOf(configuration), isChecked, isApart });
  } catch (error) {
    if (!(error instanceof NoCedarError)) throw error;
    throw new ConfigurationError("invalid", `${configuration.file ?? "configuration"}: ${error.message}`, {
      cause: error,
    });
  }
}

/** A warning if no rule permits anything, because every call is then denied. */
export function nothingPermitted({ all: [first, ...others] }: Rules): LocatedProblem[] {
  if (first === undefined || [first, ...others].some(({ effect }) => effect === "permit")) return [];
  const message =
    "no rule permits anything, so that every call is denied; `permit (principal, action, resource);` permits what no rule forbids";
  return [{ file: first.file, line: first.line, message }];
}

/** One line for a person. */
function describeRuleProblem({ file, line, message }: LocatedProblem): string {
  return `${file}:${line}: ${message}`;
}

/** A schema of rules in Cedar's JSON format. @throws ConfigurationError when Cedar is not installed. */
export async function ruleSchemaJson(schema: string): Promise<unknown> {
  try {
    return (await loadCedar()).schemaJson(schema);
  } catch (error) {
    if (!(error instanceof NoCedarError)) throw error;
    throw new ConfigurationError("invalid", error.message, { cause: error });
  }
}

/** Checking fewer rules than this is faster than writing a file. */
const MIN_RULES = 100;
const MAX_BYTES = 256;

/**
 * Remembers by digest which rules are valid, so that not every process checks a thousand rules again. No decision depends on this: an
 * invalid rule cannot be evaluated, and a call that cannot be decided is denied.
 */
class CheckedRules {
  readonly #path: string;
  readonly #digest: string;

  constructor({ directory, policy }: Pick<Configuration, "directory" | "policy">) {
    this.#path = join(directory, PRIVATE_FOLDER_NAME, "rules-checked");
    const files = policy.files.map(({ file, text }) => [file, text]);
    this.#digest = digestOf([version, RULE_SCHEMA, PEOPLE_SCHEMA, files]);
  }

  /** Whether exactly these rules were noted. */
  isKnown(): boolean {
    try {
      const { size } = statSync(this.#path);
      return size <= MAX_BYTES && readFileSync(this.#path, "utf8").trim() === this.#digest;
    } catch {
      return false;
    }
  }

  /** Notes that the rules are valid. If that fails, they are checked again the next time. */
  note(rules: number): void {
    if (rules < MIN_RULES || this.isKnown()) return;
    try {
      mkdirSync(join(this.#path, ".."), { recursive: true, mode: 0o700 });
      writePrivateFileSync(this.#path, `${this.#digest}\n`);
    } catch {
      // See above.
    }
  }
}
