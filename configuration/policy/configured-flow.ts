import { DataFlow, labelsIn } from "../../broker/policy/data-flow.ts";
import { PROGRAMS_MODULE } from "../../protocol/tool-names.ts";
import type { Configuration } from "../configuration.ts";
import type { PolicyFile } from "../policy-files.ts";

/** The labels of a configuration: whether values are followed, which labels data carries, and which labels tools accept. */

/** Every file of rules, including those of managed settings. */
export function rulesOf({
  policy,
  managed,
}: Pick<Configuration, "policy" | "managed">): readonly PolicyFile[] {
  return [policy, ...managed.map((each) => each.policy)].flatMap(({ files }) => files);
}

/** Whether any server or tool restricts the data that may flow into it, or changes that depend on labelled data are asked about. */
export function hasFlow({
  servers,
  labels,
}: Pick<Configuration, "servers"> & Partial<Pick<Configuration, "labels">>): boolean {
  return (
    labels?.preset === "careful" ||
    servers.some(
      ({ flow }) =>
        flow.accepts !== undefined || Object.values(flow.tools).some(({ accepts }) => accepts !== undefined),
    )
  );
}

/** Whether the decision about a call may depend on what its run has called and read before. */
export function isDecidedByRun(
  configuration: Pick<Configuration, "servers" | "policy" | "managed"> &
    Partial<Pick<Configuration, "labels">>,
): boolean {
  return hasFlow(configuration) || rulesOf(configuration).some(({ text }) => looksAt(text, "run"));
}

/** Whether the values of calls are followed, because there are labels, or rules depend on the origins of values. */
export function followsValues({
  servers,
  policy,
  managed,
}: Pick<Configuration, "servers" | "policy" | "managed">): boolean {
  const hasLabels = servers.some(({ flow }) =>
    [flow, ...Object.values(flow.tools)].some((entry) => labelsIn(entry).length > 0),
  );
  return (
    hasLabels ||
    rulesOf({ policy, managed }).some(({ text }) =>
      ["labels", "origins", "said", "conversation"].some((member) => looksAt(text, member)),
    )
  );
}

/** Every label that data may carry, if labels follow a model's conversation. */
export function everyLabel({ servers, labels }: Pick<Configuration, "servers" | "labels">): string[] {
  if (labels.scope !== "conversation") return [];
  return [...namedLabels(servers)].sort();
}

/** Every label that a server or a tool puts on data. */
export function namedLabels(servers: readonly Pick<Configuration["servers"][number], "flow">[]): Set<string> {
  return new Set(servers.flatMap(({ flow }) => [flow, ...Object.values(flow.tools)].flatMap(labelsIn)));
}

/** Whether rules use a member of the context. */
function looksAt(text: string, member: string): boolean {
  return new RegExp(
    `\\bcontext\\s*(?:\\.\\s*${member}\\b|\\[\\s*"${member}")|\\bcontext\\s+has\\s+"?${member}\\b`,
  ).test(text);
}

/** The flow of data as the configuration labels it. */
export function flowOf({
  servers,
  labels,
  lists,
}: Pick<Configuration, "labels" | "lists"> & {
  servers: readonly (Pick<Configuration["servers"][number], "name" | "flow"> & {
    readonly description?: string | undefined;
  })[];
}): DataFlow {
  // Saved programs have no labels, because they read only through their own calls.
  const programs = [PROGRAMS_MODULE, { tools: {} }] as const;
  return new DataFlow(new Map([programs, ...servers.map(({ name, flow }) => [name, flow] as const)]), {
    lists: lists.values,
    isSticky: labels.scope === "conversation",
    asks: labels.refused === "ask",
    isCareful: labels.preset === "careful",
    descriptions: new Map(servers.map(({ name, description = "" }) => [name, description])),
  });
}
