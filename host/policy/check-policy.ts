import type { LocatedProblem, Rules } from "../../broker/policy/cedar/cedar-rules.ts";
import { similarNames } from "../../catalog/search/similar-names.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { loadProgramTools } from "../tools/program-tools.ts";
import { openRules } from "./build-rules.ts";

/**
 * Finds all that is wrong with the rules of a configuration, and what is most likely not meant: rules of which none permits anything,
 * a head that names a tool, a server or a group that there is not, and a label that nothing carries.
 *
 * @throws ConfigurationError for a file that cannot be read.
 */
export async function checkPolicy(
  configuration: Configuration,
): Promise<{ rules: number; errors: readonly LocatedProblem[]; warnings: readonly LocatedProblem[] }> {
  const unread = configuration.policy.files.find(({ problem }) => problem !== undefined);
  if (unread?.problem !== undefined) throw new ConfigurationError("invalid", unread.problem);
  if (configuration.policy.files.length === 0) return { rules: 0, errors: [], warnings: [] };
  const { rules, problems } = await openRules(configuration);
  if (problems.errors.length > 0) return { rules: rules.all.length, ...problems };
  const { all } = await loadProgramTools(configuration);
  const isListed = all.servers.length > 0;
  const known = {
    Server: configuration.servers.map(({ name }) => name),
    Group: Object.keys(configuration.policy.groups),
    ...(isListed ? { Tool: all.names() } : {}),
  };
  const unknown = [
    ...nothingPermitted(rules),
    ...unknownNames(rules, known),
    ...unknownLabels(rules, configuration),
  ];
  return {
    rules: rules.all.length,
    errors: [],
    warnings: [...problems.warnings, ...unknown].toSorted(
      (a, b) => a.file.localeCompare(b.file) || a.line - b.line,
    ),
  };
}

/** Rules take nothing away from what nothing permits. */
function nothingPermitted({ all: [first, ...others] }: Rules): LocatedProblem[] {
  if (first === undefined || [first, ...others].some(({ effect }) => effect === "permit")) return [];
  const message =
    "no rule permits anything, so that every call is denied; `permit (principal, action, resource);` permits what no rule forbids";
  return [{ file: first.file, line: first.line, message }];
}

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

/** A text that a rule holds against labels and that no server or tool has. */
function unknownLabels({ all }: Rules, { servers }: Configuration): LocatedProblem[] {
  const labels = new Set(
    servers.flatMap(({ flow }) => [flow, ...Object.values(flow.tools)].flatMap((each) => each.labels ?? [])),
  );
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
