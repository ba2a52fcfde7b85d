/** Warnings about labels and what accepts them, for `ptc policy check`. */
import { countNoun } from "../../base/quantities.ts";
import { CALL_ENTRY, type DataFlow } from "../../broker/policy/data-flow.ts";
import { similarNames } from "../../catalog/search/similar-names.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration.ts";
import { flowOf, namedLabels } from "./configured-flow.ts";

const MAX_NAMED = 3;

/**
 * Labels that a conversation of these servers comes to carry, and that tools do not accept which accept others: a label that was
 * forgotten, or kept out on purpose. One line for each label, with the number of tools.
 */
export function unacceptedLabels(configuration: Configuration, all: Pick<ToolCatalog, "servers">): string[] {
  const flow = flowOf(configuration);
  const tools = configuration.servers.flatMap(({ name, flow: own }) => {
    const listed = all.servers.find((each) => each.name === name)?.tools.map((each) => each.name);
    return (listed ?? Object.keys(own.tools)).map((tool) => ({ server: name, name: tool }));
  });
  const carried = [...namedLabels(configuration.servers)].sort();
  return carried.flatMap((label) => {
    const lacking = tools.filter((tool) => lacksLabel(flow, tool, label));
    if (lacking.length === 0) return [];
    const named = lacking.slice(0, MAX_NAMED).map(({ server, name }) => `${server}.${name}`);
    const others = lacking.length > MAX_NAMED ? ` and ${lacking.length - MAX_NAMED} more` : "";
    const consequence = flow.asks ? "asked about" : "refused";
    return [
      `'${label}' data will be in conversations of these servers, and ${countNoun(lacking.length, "tool")} that ${lacking.length === 1 ? "accepts" : "accept"} other data ${lacking.length === 1 ? "does" : "do"} not accept it (${named.join(", ")}${others}): such calls are ${consequence}; add the label where that is not meant`,
    ];
  });
}

/** Whether a tool accepts some data, and none with this label: as a whole, or in an argument that accepts another label. */
function lacksLabel(flow: DataFlow, tool: { server: string; name: string }, label: string): boolean {
  const whole = flow.acceptsOf(tool);
  if (whole !== undefined) return !whole.includes(label);
  return Object.entries(flow.argumentsOf(tool) ?? {}).some(([argument, taken]) => {
    const labels = "labels" in taken ? taken.labels : taken;
    return argument !== CALL_ENTRY && labels.length > 0 && !labels.includes(label);
  });
}

/** Labels in `accepts` that nothing carries, which are most likely mistakes. */
export function unknownAcceptedLabels({
  file = "configuration",
  servers,
}: Pick<Configuration, "file" | "servers">): { file: string; line: number; message: string }[] {
  const known = [...namedLabels(servers)];
  const found = servers.flatMap(({ name, flow }) =>
    [
      [name, flow] as const,
      ...Object.entries(flow.tools).map(([tool, own]) => [`${name}.${tool}`, own] as const),
    ].flatMap(([place, { accepts }]) => {
      const given =
        accepts === undefined
          ? []
          : Array.isArray(accepts)
            ? (accepts as readonly string[])
            : Object.values(accepts).flatMap((taken) => ("labels" in taken ? taken.labels : taken));
      return given.filter((label) => !known.includes(label)).map((label) => ({ place, label }));
    }),
  );
  return found.map(({ place, label }) => {
    const [nearest] = similarNames(label, known, 1);
    const advice = nearest === undefined ? "" : `; did you mean '${nearest}'?`;
    return { file, line: 1, message: `accepts of ${place}: nothing carries the label '${label}'${advice}` };
  });
}
