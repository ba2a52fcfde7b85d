import type { Clock } from "../../base/clock.ts";
import { loadCedar, NoCedarError } from "../../broker/policy/cedar/cedar-engine.ts";
import { type LocatedProblem, type Problems, Rules } from "../../broker/policy/cedar/cedar-rules.ts";
import { DataFlow } from "../../broker/policy/data-flow.ts";
import type { Policy } from "../../broker/policy/policy.ts";
import { everyRules, RuleAuthorizer } from "../../broker/policy/rule-authorizer.ts";
import { PROGRAMS_MODULE } from "../../protocol/tools/programs-module.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { clock as processClock } from "../process-clock.ts";
import { CheckedRules } from "./checked-rules.ts";
import { resolveGroups } from "./local-groups.ts";

/** Decides by lists, labels and rules. @throws ConfigurationError for the first rule that is wrong. */
export async function buildRuleAuthorizer(
  configuration: Configuration,
  policy: Policy,
  clock: Pick<Clock, "wallMs"> = processClock,
): Promise<RuleAuthorizer> {
  const flow = flowOf(configuration);
  const sets: Rules[] = [];
  if (configuration.policy.files.length > 0) {
    const checked = new CheckedRules(configuration);
    const { rules, problems } = await openRules(configuration, checked.isKnown());
    const [first] = problems.errors;
    if (first === undefined) checked.note(rules.all.length);
    else throw new ConfigurationError("invalid", describeRuleProblem(first));
    sets.push(rules);
  }
  for (const { policy: managed } of configuration.managed) {
    if (managed.files.length === 0) continue;
    const { rules, problems } = await openRules({ ...configuration, policy: managed });
    const [first] = problems.errors;
    if (first !== undefined) throw new ConfigurationError("invalid", describeRuleProblem(first));
    sets.push(rules);
  }
  return new RuleAuthorizer({ policy, flow, rules: everyRules(sets), clock });
}

/**
 * The rules of a configuration with all that is wrong with them.
 *
 * @param isChecked whether it is known that nothing is wrong with them, which then is not looked for.
 * @throws ConfigurationError when Cedar is not installed.
 */
export async function openRules(
  configuration: Configuration,
  isChecked = false,
): Promise<{ rules: Rules; problems: Problems }> {
  const { files } = configuration.policy;
  const groups = resolveGroups(configuration.policy.groups);
  try {
    return await Rules.open({ files, groups, flow: flowOf(configuration), isChecked });
  } catch (error) {
    if (!(error instanceof NoCedarError)) throw error;
    throw new ConfigurationError("invalid", `${configuration.file ?? "configuration"}: ${error.message}`, {
      cause: error,
    });
  }
}

/** One line for a person. */
export function describeRuleProblem({ file, line, message }: LocatedProblem): string {
  return `${file}:${line}: ${message}`;
}

function flowOf({ servers }: Pick<Configuration, "servers">): DataFlow {
  // Saved programs have no labels of their own: what they read is read by the calls that they make.
  const programs = [PROGRAMS_MODULE, { tools: {} }] as const;
  return new DataFlow(new Map([programs, ...servers.map(({ name, flow }) => [name, flow] as const)]));
}

/** The schema of rules in Cedar's JSON format. @throws ConfigurationError when Cedar is not installed. */
export async function ruleSchemaJson(): Promise<unknown> {
  try {
    return (await loadCedar()).schemaJson();
  } catch (error) {
    if (!(error instanceof NoCedarError)) throw error;
    throw new ConfigurationError("invalid", error.message, { cause: error });
  }
}
