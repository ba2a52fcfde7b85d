import { countNoun } from "../base/quantities.ts";
import type { TypeNode } from "../catalog/model/type-model.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ToolModel } from "../catalog/tool-model.ts";
import type { ToolPrinter } from "./language-printer.ts";

const NO_OUTPUT_SCHEMA =
  "No output schema defined by the upstream server. Inspect the return value in your script.";

const UNWRAPPED =
  "The function returns what is under `result` in this outputSchema: its server wraps each value that is no object, and ptc unwraps it.";

function noteOn({ learned }: Tool): string {
  const note = observedNote({ observedCalls: learned?.calls });
  return note === undefined
    ? NO_OUTPUT_SCHEMA
    : `No output schema defined by the upstream server. The result is ${note}.`;
}

/** Describes a tool as its server listed it: its description and its schemas. */
export function describeTool(tool: Tool): Record<string, unknown> {
  const { namespacedName, description, inputSchema, outputSchema } = tool;
  return {
    name: namespacedName,
    description: description ?? null,
    inputSchema,
    outputSchema: outputSchema ?? null,
    ...(outputSchema === undefined ? { note: noteOn(tool) } : {}),
    ...(tool.unwraps === true ? { note: UNWRAPPED } : {}),
  };
}

/** Like `describeTool`, and adds how a program calls the tool and the server's hints about its effects. */
export async function describeForPrograms(
  tool: Tool,
  printer: ToolPrinter,
): Promise<Record<string, unknown>> {
  const { name, description, ...schemas } = describeTool(tool);
  return {
    name,
    description,
    import: printer.importLine(tool.module),
    signature: await printer.signature(tool, "full"),
    ...schemas,
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
  };
}

/** A note about a result whose type was observed and not declared, or `undefined` if it was declared. */
export function observedNote({ observedCalls }: { observedCalls?: number | undefined }): string | undefined {
  if (observedCalls === undefined) return undefined;
  return `observed in ${countNoun(observedCalls, "call")}, not declared: any member may be missing, and others may come`;
}

/** A note about a result that its server wraps. */
export const UNWRAPPED_NOTE = "the value itself, which the server wraps as {result: ...}; raw has it wrapped";

/** A short form of the note, for lists. */
export function briefObservedNote({ observedCalls }: Pick<ToolModel, "observedCalls">): string | undefined {
  return observedCalls === undefined
    ? undefined
    : `result as observed in ${countNoun(observedCalls, "call")}`;
}

/** The most members of an observed result in a signature, which shows all levels that fit. */
const SHOWN_MEMBERS = { full: 160, compact: 24 } as const;

/**
 * The same tool for a signature. Only the outer levels of a large observed result are left. An object without some of its
 * members says that it has others.
 */
export function withShownOutput(tool: ToolModel, form: "full" | "compact"): ToolModel {
  if (tool.observedCalls === undefined || tool.output === undefined) return tool;
  const { root } = tool.output;
  const most = SHOWN_MEMBERS[form];
  let shown = root;
  for (let depth = MAX_DEPTH; depth > 0 && countMembers(shown) > most; depth--) shown = cutBelow(root, depth);
  return { ...tool, output: { ...tool.output, root: cutMembers(shown, most) } };
}

const MAX_DEPTH = 10;

function countMembers(type: TypeNode): number {
  if (type.kind === "array") return countMembers(type.items);
  if (type.kind === "union") return type.members.reduce((sum, each) => sum + countMembers(each), 0);
  if (type.kind !== "object") return 0;
  const own = type.properties.reduce((sum, property) => sum + 1 + countMembers(property.type), 0);
  return own + (type.rest === undefined ? 0 : countMembers(type.rest));
}

/** Replaces the members of objects below some levels by any. */
function cutBelow(type: TypeNode, levels: number): TypeNode {
  switch (type.kind) {
    case "array":
      return { ...type, items: cutBelow(type.items, levels) };
    case "union":
      return { ...type, members: type.members.map((each) => cutBelow(each, levels)) };
    case "object":
      if (levels === 0) return { kind: "object", properties: [], rest: { kind: "any" } };
      return {
        ...type,
        properties: type.properties.map((each) => ({ ...each, type: cutBelow(each.type, levels - 1) })),
        ...(type.rest && { rest: cutBelow(type.rest, levels - 1) }),
      };
    default:
      return type;
  }
}

/** Keeps only the first members of objects that have more than a signature shows. */
function cutMembers(type: TypeNode, most: number): TypeNode {
  switch (type.kind) {
    case "array":
      return { ...type, items: cutMembers(type.items, most) };
    case "union":
      return { ...type, members: type.members.map((each) => cutMembers(each, most)) };
    case "object":
      return type.properties.length <= most
        ? type
        : { kind: "object", properties: type.properties.slice(0, most), rest: { kind: "any" } };
    default:
      return type;
  }
}
