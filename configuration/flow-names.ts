/**
 * Names that labels and `accepts` mention: arguments of tools, fields of results, labels and lists. A wrong name guards nothing, and
 * nobody would notice.
 */
import { isObject } from "../base/json.ts";
import { visibleLine } from "../base/visible-text.ts";
import { CALL_ENTRY, labelsIn } from "../broker/policy/data-flow.ts";
import { argumentMembers, lookUpMember, resultMembers } from "../catalog/schema-members.ts";
import { similarNames } from "../catalog/search/similar-names.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import { LOCAL_SERVER } from "../upstream/local/local-tool.ts";
import type { Configuration, FlowName } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import type { Settings } from "./settings/settings.ts";
import { renderPath, type YamlSource } from "./yaml-source.ts";

interface FlowSettings {
  readonly labels?: readonly unknown[] | undefined;
  readonly results?: Readonly<Record<string, unknown>> | undefined;
  readonly accepts?: unknown;
}

/** Every argument and field that labels and `accepts` name. */
export function locateFlowNames(
  { servers, tools: { local } }: Pick<Settings, "servers" | "tools">,
  source: YamlSource,
): FlowName[] {
  const namesOf = (
    server: string,
    tool: string | undefined,
    { labels = [], results = {}, accepts }: FlowSettings,
    path: readonly PropertyKey[],
  ): FlowName[] => {
    const at = (kind: FlowName["kind"], name: string, own: readonly PropertyKey[]): FlowName => {
      const place = [...path, ...own];
      return { server, tool, kind, name, key: renderPath(place), line: source.lineOf([...place, name]) };
    };
    const conditions = labels.flatMap((label, index) =>
      (["unless", "when"] as const).flatMap((key) => {
        const patterns = isObject(label) ? label[key] : undefined;
        return isObject(patterns)
          ? Object.keys(patterns).map((name) => at("argument", name, ["labels", index, key]))
          : [];
      }),
    );
    const fields = Object.keys(results).map((name) => at("field", name, ["results"]));
    const accepted = isObject(accepts)
      ? Object.keys(accepts).map((name) => at("argument", name, ["accepts"]))
      : [];
    return [...conditions, ...fields, ...accepted].filter(({ name }) => name !== "*" && name !== CALL_ENTRY);
  };
  return [
    ...servers.flatMap((server, index) => [
      ...namesOf(server.name, undefined, server, ["servers", index]),
      ...Object.entries(server.tools ?? {}).flatMap(([tool, own]) =>
        namesOf(server.name, tool, own, ["servers", index, "tools", tool]),
      ),
    ]),
    ...local.flatMap((own, index) => namesOf(LOCAL_SERVER, own.name, own, ["tools", "local", index])),
  ];
}

/** A problem at its line of the configuration. */
interface FlowProblem {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/**
 * The names of arguments and fields that the tools of a setting do not have. Unknown tools are left out, and so are tools that take
 * arguments or give results which their schemas do not name.
 */
export function unknownFlowNames(
  { file = "configuration", flowNames }: Pick<Configuration, "file" | "flowNames">,
  all: Pick<ToolCatalog, "servers">,
): FlowProblem[] {
  return flowNames.flatMap(({ server, tool, kind, name, key, line }) => {
    const listed = all.servers.find((each) => each.name === server)?.tools ?? [];
    const tools = listed.filter((each) => tool === undefined || each.name === tool);
    const [first] = tools;
    if (first === undefined) return [];
    const members = kind === "argument" ? argumentMembers : resultMembers;
    const looked = tools.map((each) => lookUpMember(members(each), name));
    if (looked.some((each) => each === "found" || each === "unknown")) return [];
    const known = looked.flatMap((each) => (typeof each === "string" ? [] : each.names));
    const [nearest] = similarNames(name.split(".").at(-1) ?? name, known, 1);
    const advice =
      nearest === undefined
        ? known.length === 0
          ? "it has none"
          : `it has ${[...new Set(known)].slice(0, 8).map(visibleLine).join(", ")}`
        : `did you mean '${visibleLine(nearest)}'?`;
    const whose = tool === undefined ? `no tool of '${server}'` : `'${server}.${tool}'`;
    const what = kind === "argument" ? "argument" : "field in its results";
    const has = tool === undefined ? `${whose} has an ${what}` : `${whose} has no ${what}`;
    const message = `${key}: ${kind === "argument" ? has : has.replace("an field", "a field")} '${visibleLine(name)}', so that it guards nothing; ${advice}`;
    return [{ file, line, message }];
  });
}

/** Labels in `accepts` that are the names of lists, and of no label: the list is meant, and its values are not accepted. */
export function findListsAsLabels({ servers, tools, extract, lists = {} }: Settings): Problem[] {
  const labelled = [
    ...servers.flatMap((server) => [server, ...Object.values(server.tools ?? {})]),
    ...tools.local,
    ...(extract === undefined ? [] : [extract]),
  ];
  const labels = new Set(labelled.flatMap((each) => labelsIn(each)));
  const isMeant = (label: unknown) =>
    typeof label === "string" && Object.hasOwn(lists, label) && !labels.has(label);
  const inList = (given: unknown, path: readonly PropertyKey[]): Problem[] =>
    Array.isArray(given)
      ? given.flatMap((label, index) =>
          isMeant(label)
            ? [
                {
                  path: [...path, index],
                  message: `'${label}' is a list, and nothing carries a label of that name; did you mean { lists: [${label}] }?`,
                },
              ]
            : [],
        )
      : [];
  const inAccepts = (accepts: unknown, path: readonly PropertyKey[]): Problem[] =>
    isObject(accepts)
      ? Object.entries(accepts).flatMap(([argument, taken]) => [
          ...inList(taken, [...path, argument]),
          ...(isObject(taken) ? inList(taken.labels, [...path, argument, "labels"]) : []),
        ])
      : inList(accepts, path);
  return [
    ...servers.flatMap((server, index) => [
      ...inAccepts(server.accepts, ["servers", index, "accepts"]),
      ...Object.entries(server.tools ?? {}).flatMap(([tool, { accepts }]) =>
        inAccepts(accepts, ["servers", index, "tools", tool, "accepts"]),
      ),
    ]),
    ...tools.local.flatMap(({ accepts }, index) => inAccepts(accepts, ["tools", "local", index, "accepts"])),
    ...inAccepts(extract?.accepts, ["extract", "accepts"]),
  ];
}
