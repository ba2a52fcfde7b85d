import type { Tool } from "../../../catalog/tool.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { type DataFlow, describeRead } from "../data-flow.ts";
import type { RunHistory } from "../run-history.ts";
import type { CedarRequest } from "./cedar-engine.ts";
import { listArguments } from "./rule-arguments.ts";
import type { RuleAction } from "./rule-schema.ts";
import type { RuleNeeds } from "./rule-set.ts";

/** A tool as rules see it. */
export type RuledTool = Pick<Tool, "namespacedName" | "server" | "name" | "annotations" | "method" | "title">;

/** A call about which rules decide. */
export interface RuledCall {
  readonly context: RunContext;
  readonly tool: RuledTool;
  readonly arguments: unknown;
  readonly run: RunHistory;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

interface RequestSurroundings {
  /** All groups of the principal. */
  groups: readonly string[];
  flow: DataFlow;
}

/** A request as Cedar takes it, with what the rules look at, or why there is none. */
export function buildRequest(
  needs: RuleNeeds,
  action: RuleAction,
  { context, tool, arguments: args, run, nowMs }: RuledCall,
  { groups, flow }: RequestSurroundings,
): CedarRequest | string {
  const principal = { type: "User", id: context.principal };
  const resource = { type: "Tool", id: tool.namespacedName };
  const entities: CedarRequest["entities"] = [];
  if (needs.principal)
    entities.push({ uid: principal, attrs: {}, parents: groups.map((id) => ({ type: "Group", id })) });
  if (needs.resource)
    entities.push({
      uid: resource,
      attrs: attributesOf(tool, flow),
      parents: [{ type: "Server", id: tool.server }],
    });
  const told: CedarRequest["context"] = {};
  const request = { principal, action: { type: "Action", id: action }, resource, context: told, entities };
  // Nothing is known of a call when a tool is looked for.
  if (action === "list") return request;
  if (needs.source) told.source = context.source;
  if (needs.now) told.now = { __extn: { fn: "datetime", arg: new Date(nowMs).toISOString() } };
  if (needs.run) {
    const unknown = run.reads.find((read) => flow.labelsOf(read) === undefined);
    if (unknown !== undefined)
      return `this run has read ${describeRead(unknown)}, whose server is not configured any more`;
    told.run = {
      calls: run.calls,
      callsOfTool: run.callsOfTool,
      servers: [...new Set(run.reads.map(({ server }) => server))],
      labels: flow.labelsRead(run.reads),
    };
  }
  if (needs.arguments || needs.numbers || needs.lists) {
    const listed = listArguments(args);
    if (listed === undefined) return "its arguments are too many or too long for rules to look at";
    const decimal = (arg: string) => ({ __extn: { fn: "decimal", arg } });
    const tags = [
      ["arguments", "Arguments", listed.texts],
      ["numbers", "Numbers", mapValues(listed.numbers, decimal)],
      ["lists", "Lists", mapValues(listed.lists, (items) => [...items])],
    ] as const;
    for (const [name, type, values] of tags) {
      if (!needs[name]) continue;
      const uid = { type, id: "call" };
      entities.push({ uid, attrs: {}, parents: [], tags: values });
      told[name] = { __entity: uid };
    }
  }
  return request;
}

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}

function attributesOf(tool: RuledTool, flow: DataFlow) {
  const accepts = flow.acceptsOf(tool);
  return {
    name: tool.name,
    server: tool.server,
    labels: [...(flow.labelsOf(tool) ?? [])],
    ...(accepts === undefined ? {} : { accepts: [...accepts] }),
    claims: claimsOf(tool),
  };
}

const HINTS = {
  readOnly: "readOnlyHint",
  destructive: "destructiveHint",
  idempotent: "idempotentHint",
  openWorld: "openWorldHint",
} as const;

/** What the server says of its tool, as far as it is of the types that the protocol names (MCP, "ToolAnnotations"). */
function claimsOf({ annotations = {}, title }: RuledTool): Record<string, boolean | string> {
  const claims: Record<string, boolean | string> = title === undefined ? {} : { title };
  for (const [name, hint] of Object.entries(HINTS)) {
    const value = Object.hasOwn(annotations, hint) ? annotations[hint] : undefined;
    if (typeof value === "boolean") claims[name] = value;
  }
  return claims;
}
