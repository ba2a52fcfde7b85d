import { isObject } from "../base/json.ts";
import { byCodeUnit } from "../protocol/canonical-json.ts";
import { MAX_TOOL_NAME_CHARS } from "../protocol/limits.ts";
import { namespacedName } from "../protocol/tool-names.ts";
import { takesNothing } from "./arguments.ts";
import { assignIdentifiers } from "./identifiers.ts";
import type { LearnedType } from "./learned/learned-types.ts";
import type { ToolSide } from "./model/equal-definitions.ts";
import { MAX_DESCRIPTION_CHARS } from "./model/limits.ts";
import { cutDescription, normalizeSchema } from "./model/normalize-schema.ts";
import { ANY, NEVER, pickReferenced, type TypeModel } from "./model/type-model.ts";
import { parseTool, type ServerListing, type ToolDefinition, type Warning } from "./parse-tool.ts";
import { isWrappedResult } from "./wrapped-result.ts";

/**
 * A listed tool as printers need it: its names, the types of its schemas, and its documentation, independent of any language. It
 * precedes `Tool`, which is the same tool after its module was written and its definition was recorded.
 */
export interface ToolModel {
  definition: ToolDefinition;
  /** `mcp__<server_module>__<tool>`, with the unchanged protocol name of the tool. */
  namespacedName: string;
  /** The name of its function in the language of programs, distinct within the server. */
  identifier: string;
  description?: string;
  input: TypeModel;
  output?: TypeModel;
  /** Whether `output` is the value inside the server's wrapper (wrapped-result.ts). */
  isUnwrapped?: true;
  /** The number of calls in which `output` was observed, if the tool declares none. Results may lack members, or have others. */
  observedCalls?: number;
}

export interface ServerModel {
  /** The name in the configuration. */
  name: string;
  module: string;
  description?: string;
  /** By protocol name. */
  tools: ToolModel[];
}

/**
 * Builds the model of a server from its listing. Schemas without an exact type get a wider one, with a warning. Of two tools with
 * one name, the first counts, as it does for the server that answers calls. Leaves out only a tool that no program could call
 * because its name is too long, with a warning.
 *
 * @param nameFunctions names the functions of a server's tools in a language, by their protocol names.
 * @param learnedOf returns the learned type of a tool's results.
 */
export function buildServerModel(
  listing: ServerListing,
  module: string,
  previousIdentifiers?: ReadonlyMap<string, string>,
  nameFunctions = assignIdentifiers,
  learnedOf: (definition: ToolDefinition) => LearnedType | undefined = () => undefined,
): { server: ServerModel; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const definitions = new Map<string, ToolDefinition>();
  let dropped = 0;
  for (const entry of listing.tools) {
    const problems: string[] = [];
    const definition = parseTool(entry, (message) => problems.push(message));
    if (definition === undefined) dropped++;
    else if (namespacedName(module, definition.name).length > MAX_TOOL_NAME_CHARS) {
      const message = `is left out: with its server, its name has more than ${MAX_TOOL_NAME_CHARS} characters`;
      warnings.push({ server: listing.name, tool: definition.name, message });
    } else if (definitions.has(definition.name)) {
      warnings.push({
        server: listing.name,
        tool: definition.name,
        message: "is listed twice; the first one counts",
      });
    } else {
      definitions.set(definition.name, definition);
      for (const message of problems) warnings.push({ server: listing.name, tool: definition.name, message });
    }
  }
  if (dropped > 0) {
    const message = `${dropped} ${dropped === 1 ? "entry" : "entries"} without a name left out of the list of tools`;
    warnings.push({ server: listing.name, message });
  }
  const identifiers = nameFunctions([...definitions.keys()], previousIdentifiers);
  const tools = [...definitions.values()]
    .sort((a, b) => byCodeUnit(a.name, b.name))
    .map((definition) => {
      const identifier = identifiers.get(definition.name) ?? "";
      const warn = (message: string): void => {
        warnings.push({ server: listing.name, tool: definition.name, message });
      };
      return buildToolModel(definition, module, identifier, warn, learnedOf(definition));
    });
  const server: ServerModel = { name: listing.name, module, tools };
  if (listing.description !== undefined) server.description = listing.description;
  return { server, warnings };
}

/**
 * Builds the model of one tool from its definition. Schemas without an exact type become any, and a description that is too long
 * is cut.
 *
 * @param identifier the name of its function, distinct within the server.
 * @param warn receives a phrase that follows the tool's name for everything that became wider or shorter.
 * @param learned the type to use if the definition does not declare its output.
 * @param isUnwrapped whether programs get the value inside the wrapper that the output schema describes.
 */
export function buildToolModel(
  definition: ToolDefinition,
  module: string,
  identifier: string,
  warn: (message: string) => void = () => {},
  learned?: LearnedType,
  isUnwrapped = isWrappedResult(definition.outputSchema),
): ToolModel {
  const tool: ToolModel = {
    definition,
    namespacedName: namespacedName(module, definition.name),
    identifier,
    input: takesNothing(definition.inputSchema)
      ? NO_ARGUMENTS
      : buildType(asArguments(definition.inputSchema, warn), "input", warn),
  };
  const description = definition.description ?? definition.title;
  if (description !== undefined && description.trim() !== "") {
    tool.description = cutDescription(description.trim());
    if (tool.description !== description.trim())
      warn(`its description is cut after ${MAX_DESCRIPTION_CHARS} characters`);
  }
  if (definition.outputSchema !== undefined) {
    const output = buildType(definition.outputSchema, "output", warn);
    tool.output = isUnwrapped ? typeOfResult(output) : output;
    if (isUnwrapped) tool.isUnwrapped = true;
  } else if (learned !== undefined && definition.method === undefined) {
    tool.output = buildType(learned.schema, "output", () => {});
    tool.observedCalls = learned.calls;
  }
  return tool;
}

const NO_ARGUMENTS: TypeModel = {
  root: { kind: "object", properties: [], rest: NEVER },
  documentation: {},
  definitions: new Map(),
};

/** The type of a wrapper's only property. */
function typeOfResult({ root, definitions }: TypeModel): TypeModel {
  const wrapper = root.kind === "reference" ? definitions.get(root.name)?.type : root;
  const result =
    wrapper?.kind === "object" ? wrapper.properties.find(({ name }) => name === "result") : undefined;
  if (result === undefined) return { root: ANY, documentation: {}, definitions: new Map() };
  const { type, documentation } = result;
  return { root: type, documentation, definitions: pickReferenced(type, definitions) };
}

/** Completes a schema of arguments, which are always an object even if the schema does not say so. */
function asArguments(schema: unknown, warn: (message: string) => void): unknown {
  if (isObject(schema)) return schema.type === undefined ? { ...schema, type: "object" } : schema;
  if (schema !== true) warn("input: a schema that is not an object allows any arguments");
  return { type: "object" };
}

/** The inputs and outputs of tools, in order. */
export function toolSides(tools: readonly ToolModel[]): ToolSide[] {
  return tools.flatMap(({ input, output }) => [
    { model: input, isInput: true },
    ...(output === undefined ? [] : [{ model: output, isInput: false }]),
  ]);
}

/** The same tool with unknown types. */
export function withoutTypes(tool: ToolModel): ToolModel {
  const untyped: TypeModel = { root: ANY, documentation: {}, definitions: new Map() };
  return { ...tool, input: untyped, ...(tool.output === undefined ? {} : { output: untyped }) };
}

function buildType(schema: unknown, of: "input" | "output", warn: (message: string) => void): TypeModel {
  try {
    return normalizeSchema(schema, (message) => warn(`${of}: ${message}`));
  } catch {
    warn(`${of}: a schema that cannot be read is any`);
    return { root: ANY, documentation: {}, definitions: new Map() };
  }
}
