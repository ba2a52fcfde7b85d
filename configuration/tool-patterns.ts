import { namespacedName, serverModule } from "../protocol/tools/tool-name.ts";
import type { ToolPattern } from "./configuration.ts";
import type { ConfigurationFile, ServerEntry } from "./schema.ts";
import type { YamlSource } from "./yaml-source.ts";

/** Everything in a configuration that names tools, with its place. */
export function locatePatterns(
  {
    servers,
    tools,
    approvals,
    direct,
  }: Pick<ConfigurationFile, "servers" | "tools" | "approvals" | "direct">,
  source: YamlSource,
): ToolPattern[] {
  return [
    ...locateOwnLabels(servers, source),
    ...locateList(["tools", "allow"], tools.allow ?? [], source),
    ...locateList(["tools", "block"], tools.block, source),
    ...locateList(["approvals", "ask"], approvals.ask, source),
    ...locateList(["approvals", "allow"], approvals.allow, source),
    ...locateList(["direct"], direct, source),
  ];
}

/** The tools that have labels of their own. */
function locateOwnLabels(servers: readonly ServerEntry[], source: YamlSource): ToolPattern[] {
  return servers.flatMap(({ name, tools = {} }, index) =>
    Object.keys(tools).map((tool) => ({
      key: `${renderPath(["servers", index, "tools"])}.${tool}`,
      pattern: namespacedName(serverModule(name), tool),
      line: source.lineOf(["servers", index, "tools", tool]),
    })),
  );
}

function locateList(path: readonly string[], patterns: readonly string[], source: YamlSource): ToolPattern[] {
  return patterns.map((pattern, index) => ({
    key: renderPath([...path, index]),
    pattern,
    line: source.lineOf([...path, index]),
  }));
}

/** Renders a path as `servers[0].env.API_KEY`. */
export function renderPath(path: readonly PropertyKey[]): string {
  return path
    .map((step, index) => {
      if (typeof step === "number") return `[${step}]`;
      const name = String(step).slice(0, 64);
      return index === 0 ? name : `.${name}`;
    })
    .join("");
}
