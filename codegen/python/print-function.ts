import { pascalCase } from "../../catalog/identifiers.ts";
import type { Documentation, Property, TypeNode } from "../../catalog/model/type-model.ts";
import type { ToolModel } from "../../catalog/tool-model.ts";
import { observedNote, UNWRAPPED_NOTE } from "../observed-note.ts";
import { parameterNames } from "./python-names.ts";
import { docstring, indent } from "./python-text.ts";
import { printToolMark } from "./tool-mark.ts";
import { type ArgumentObject, argumentObjects, followReferences } from "./types/argument-objects.ts";
import { describe, type PythonTypes } from "./types/python-types.ts";

/** Alternative objects of arguments for which a function has a signature each. */
const MAX_SIGNATURES = 8;

interface FunctionRequest {
  tool: ToolModel;
  name: string;
  types: PythonTypes;
  /** What the dict of all arguments is called. */
  inputName: string;
  /** The annotation of what it returns. */
  returns: string;
}

/**
 * A tool's function with keyword parameters alone, and again with one dict that has the properties by their exact names.
 * Arguments that are one of several objects have signatures of their own.
 */
export function printFunction({ tool, name, types, inputName, returns }: FunctionRequest): string {
  const root = followReferences(tool.input.root, tool.input);
  const objects = argumentObjects(tool.input);
  const description = describeFunction(tool);
  const head = `async def ${name}`;
  if (objects === undefined) {
    const annotation = root.kind === "object" ? types.annotate(root, inputName) : "Mapping[str, Any]";
    const dict = annotation.startsWith("dict[str, Never]")
      ? `${head}() -> ${returns}:`
      : `${head}(arguments: ${annotation} = ..., /, **others: Any) -> ${returns}:`;
    return [printToolMark({ tool, parameters: new Map(), inputName: "" }), dict, ...bodyOf(description)].join(
      "\n",
    );
  }
  const all = mergeProperties(objects);
  const parameters = parameterNames(all.map((property) => property.name));
  const merged: ArgumentObject = { kind: "object", properties: all };
  const variants = objects.length > MAX_SIGNATURES ? [merged] : objects;
  const annotations = new Map<Property, string>();
  for (const property of variants.flatMap(({ properties }) => properties)) {
    annotations.set(
      property,
      types.annotate(property.type, pascalCase(tool.identifier) + pascalCase(property.name)),
    );
  }
  const documented = describeArguments(description, all, parameters);
  const signatures = variants.map((variant, i) =>
    [
      "@overload",
      `${head}(`,
      ...printParameters(variant, parameters, annotations),
      `) -> ${returns}:${i === 0 && documented.length > 0 ? "" : " ..."}`,
      ...(i === 0 ? indent(documented) : []),
    ].join("\n"),
  );
  declareInput(types, inputName, objects);
  const dict = ["@overload", `${head}(arguments: ${inputName}, /) -> ${returns}: ...`].join("\n");
  return [printToolMark({ tool, parameters, inputName }), ...signatures, dict].join("\n");
}

/** What a tool says of itself, and where its result was observed and not declared, that. */
function describeFunction(tool: ToolModel): string {
  const { description = "" } = tool;
  const note = tool.isUnwrapped === true ? UNWRAPPED_NOTE : observedNote(tool);
  if (note === undefined) return description;
  return `${description}${description === "" ? "" : "\n\n"}The result is ${note}.`;
}

/** Every property of some objects; those are required that all of them require. */
function mergeProperties(objects: readonly ArgumentObject[]): Property[] {
  const merged = new Map<string, Property>();
  for (const { properties } of objects) {
    for (const property of properties) {
      const known = merged.get(property.name);
      const isRequired =
        property.required &&
        objects.every((each) =>
          each.properties.some(({ name, required }) => name === property.name && required),
        );
      const type: TypeNode =
        known === undefined || JSON.stringify(known.type) === JSON.stringify(property.type)
          ? property.type
          : { kind: "union", members: [known.type, property.type] };
      const { documentation } = known?.documentation.description === undefined ? property : known;
      merged.set(property.name, { name: property.name, type, required: isRequired, documentation });
    }
  }
  return [...merged.values()];
}

function printParameters(
  { properties, rest }: ArgumentObject,
  parameters: ReadonlyMap<string, string>,
  annotations: ReadonlyMap<Property, string>,
): string[] {
  const others =
    rest === undefined || rest.kind === "never" ? [] : [`**${freeName("others", parameters)}: Any,`];
  const ordered = [
    ...properties.filter(({ required }) => required),
    ...properties.filter(({ required }) => !required),
  ];
  return indent([
    "*,",
    ...ordered.map((property) => {
      const end = property.required ? "," : " = ...,";
      return `${parameters.get(property.name)}: ${annotations.get(property) ?? "Any"}${end}`;
    }),
    ...others,
  ]);
}

function freeName(wanted: string, parameters: ReadonlyMap<string, string>): string {
  return [...parameters.values()].includes(wanted) ? freeName(`${wanted}_`, parameters) : wanted;
}

function declareInput(types: PythonTypes, name: string, objects: readonly ArgumentObject[]): void {
  const documentation: Documentation = { description: `The arguments of the tool, by their exact names.` };
  const [only, another] = objects;
  if (only !== undefined && another === undefined) types.declareObject(name, only, documentation, false);
  else types.declare(name, { type: { kind: "union", members: [...objects] }, documentation });
}

function bodyOf(description: string): string[] {
  const lines = docstring(description);
  return lines.length === 0 ? ["    ..."] : indent(lines);
}

/** A docstring with what is known of each argument. */
function describeArguments(
  description: string,
  properties: readonly Property[],
  parameters: ReadonlyMap<string, string>,
): string[] {
  const described = properties.flatMap(({ name, documentation }) => {
    const text = describe(documentation);
    const [first, ...rest] = text.split("\n");
    return first === undefined || text === ""
      ? []
      : [[`    ${parameters.get(name)}: ${first}`, ...rest.map((line) => `        ${line}`)].join("\n")];
  });
  const args = described.length === 0 ? [] : ["Args:", ...described];
  const apart = description !== "" && args.length > 0 ? [""] : [];
  return docstring([...(description === "" ? [] : [description]), ...apart, ...args].join("\n"));
}
