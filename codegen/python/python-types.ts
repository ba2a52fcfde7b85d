import { type NameAllocator, pascalCase } from "../../catalog/identifiers.ts";
import {
  ANY,
  type Definition,
  type Documentation,
  intersect,
  type TypeModel,
  type TypeNode,
  unite,
} from "../../catalog/model/type-model.ts";
import {
  ANNOTATION_NAMES,
  docstring,
  indent,
  isPythonName,
  lineComments,
  pythonString,
} from "./python-text.ts";

/** Merged objects within one another, beyond which a type is any: each may repeat what is around it. */
const MAX_MERGED_LEVELS = 6;

/** Whether a part of a type is printed differently for what a program hands to a tool and for what a tool returns. */
export function dependsOnSide(type: TypeNode): boolean {
  const isMap = type.kind === "object" && type.properties.length === 0;
  return isMap || type.kind === "array" || type.kind === "tuple";
}

/** A declaration of a type. */
export interface DeclaredType {
  name: string;
  text: string;
}

/** The types of one side of a tool, and what they are called. */
interface TypeScope {
  model: TypeModel;
  /** Whether values of these types are handed to a tool. Otherwise a tool returns them. */
  isInput: boolean;
  /** Names of types by the names of definitions. */
  names: ReadonlyMap<string, string>;
  allocator: NameAllocator;
}

type Kind<Name extends TypeNode["kind"]> = Extract<TypeNode, { kind: Name }>;

/** A way to write types for readers of Python: this walks the model of types, and a notation says how it writes each kind. */
export abstract class PythonNotation<Place> {
  /** @param place where the type stands, in the terms of the notation. */
  protected print(type: TypeNode, place: Place): string {
    switch (type.kind) {
      case "any":
        return "Any";
      case "never":
        return "Never";
      case "string":
        return "str";
      case "boolean":
        return "bool";
      case "null":
        return "None";
      case "number":
        return type.integer === true ? "int" : "float";
      case "literal":
        return this.literal(type.value);
      case "reference":
        return this.reference(type.name);
      case "array":
        return this.list(type.items, place);
      case "tuple":
        return this.tuple(type, place);
      case "union":
        return this.union(type.members, place);
      case "intersection":
        return this.intersection(type, place);
      case "object":
        return this.object(type, place);
    }
  }

  protected abstract literal(value: string | number | boolean): string;
  /** @param name of a definition. */
  protected abstract reference(name: string): string;
  protected abstract list(items: TypeNode, place: Place): string;
  protected abstract tuple(type: Kind<"tuple">, place: Place): string;
  protected abstract union(members: readonly TypeNode[], place: Place): string;
  protected abstract intersection(type: Kind<"intersection">, place: Place): string;
  protected abstract object(type: Kind<"object">, place: Place): string;
}

/** Prints types of one side of a tool as annotations. Each object that an annotation needs is declared by a name. */
export class PythonTypes extends PythonNotation<string> {
  readonly #scope: TypeScope;
  /** What was declared or resolved: the parameters of a function and the dict of all of them are of the same types. */
  readonly #known = new Map<TypeNode, string>();
  #declarations: DeclaredType[] = [];
  #merged = 0;

  constructor(scope: TypeScope) {
    super();
    this.#scope = scope;
  }

  /** The declarations that were made since this was asked last, each before those that it needs. */
  takeDeclarations(): DeclaredType[] {
    const taken = this.#declarations;
    this.#declarations = [];
    return taken;
  }

  /** A type as an annotation. @param name what an object without a name is called, if it is free. */
  annotate(type: TypeNode, name: string): string {
    return this.print(type, name);
  }

  /** Declares a type by its name, which must not be taken by another. */
  declare(name: string, { type, documentation }: Definition): void {
    const plain = withoutIntersection(type, this.#scope.model);
    if (plain.kind === "object" && plain.properties.length > 0) {
      this.declareObject(name, plain, documentation);
      return;
    }
    const at = this.#declarations.length;
    const annotation = this.annotate(plain, `${name}Item`);
    const text = [`type ${name} = ${annotation}`, ...docstring(describe(documentation))].join("\n");
    this.#declarations.splice(at, 0, { name, text });
  }

  /** Declares a dict by its name: as a class where its keys can be attributes, else by a call. */
  declareObject(name: string, type: ArgumentObject, documentation: Documentation, isDescribed = true): void {
    const at = this.#declarations.length;
    const entries = type.properties.map((property) => ({
      property,
      annotation: required(property.required, this.annotate(property.type, name + pascalCase(property.name))),
    }));
    const open = type.rest !== undefined && type.rest.kind !== "never" ? ", extra_items=Any" : "";
    const used = new Set(
      entries.flatMap(
        ({ annotation }) => annotation.replace(/"(?:[^"\\]|\\.)*"/g, "").match(/[\p{XIDC}]+/gu) ?? [],
      ),
    );
    const isClass = entries.every(
      ({ property: { name: key } }) =>
        isPythonName(key) && !key.startsWith("__") && !used.has(key) && !ANNOTATION_NAMES.has(key),
    );
    const described = (text: Documentation): string => (isDescribed ? describe(text) : "");
    const lines = isClass
      ? [
          `class ${name}(TypedDict${open}):`,
          ...indent(docstring(describe(documentation))),
          ...entries.flatMap(({ property, annotation }) =>
            indent([`${property.name}: ${annotation}`, ...docstring(described(property.documentation))]),
          ),
        ]
      : [
          ...lineComments(describe(documentation)),
          `${name} = TypedDict(`,
          `    ${pythonString(name)},`,
          "    {",
          ...entries.flatMap(({ property, annotation }) =>
            indent(
              [
                ...lineComments(described(property.documentation)),
                `${pythonString(property.name)}: ${annotation},`,
              ],
              8,
            ),
          ),
          "    },",
          ...(open === "" ? [] : ["    extra_items=Any,"]),
          ")",
        ];
    this.#declarations.splice(at, 0, { name, text: lines.join("\n") });
  }

  protected literal(value: string | number | boolean): string {
    return literal(value);
  }

  protected reference(name: string): string {
    return this.#scope.names.get(name) ?? "Any";
  }

  protected tuple({ items, rest }: Kind<"tuple">, name: string): string {
    return this.list({ kind: "union", members: [...items, ...(rest ? [rest] : [])] }, name);
  }

  protected list(items: TypeNode, name: string): string {
    const annotation = this.annotate(items, name);
    // A text is a sequence of texts, so that only a list keeps it out.
    const isSequence = this.#scope.isInput && !this.#admitsText(items);
    return `${isSequence ? "Sequence" : "list"}[${annotation}]`;
  }

  #admitsText(type: TypeNode, followed = 0): boolean {
    switch (type.kind) {
      case "any":
      case "string":
      case "intersection":
        return true;
      case "literal":
        return typeof type.value === "string";
      case "union":
        return type.members.some((each) => this.#admitsText(each, followed));
      case "reference": {
        const definition = this.#scope.model.definitions.get(type.name);
        return definition === undefined || followed > 8 || this.#admitsText(definition.type, followed + 1);
      }
      default:
        return false;
    }
  }

  protected union(members: readonly TypeNode[], name: string): string {
    const literals = members.flatMap((each) =>
      each.kind === "literal" && (typeof each.value !== "number" || Number.isInteger(each.value))
        ? [each]
        : [],
    );
    const values = literals.map(({ value }) => literal(value).slice("Literal[".length, -1));
    const parts = values.length === 0 ? [] : [`Literal[${values.join(", ")}]`];
    for (const each of members) {
      if (literals.some((known) => known === each)) continue;
      parts.push(this.annotate(each, name));
    }
    const distinct = [...new Set(parts)];
    if (distinct.includes("Any")) return "Any";
    return distinct.length === 0 ? "Never" : distinct.join(" | ");
  }

  protected intersection(type: Kind<"intersection">, name: string): string {
    const known = this.#known.get(type);
    if (known !== undefined) return known;
    if (this.#merged >= MAX_MERGED_LEVELS) return "Any";
    this.#merged++;
    const annotation = this.annotate(withoutIntersection(type, this.#scope.model), name);
    this.#merged--;
    this.#known.set(type, annotation);
    return annotation;
  }

  protected object(type: ArgumentObject, wanted: string): string {
    if (type.properties.length === 0) {
      const map = this.#scope.isInput ? "Mapping" : "dict";
      if (type.rest?.kind === "never") return "dict[str, Never]";
      return `${map}[str, ${this.annotate(type.rest ?? { kind: "any" }, `${wanted}Value`)}]`;
    }
    const known = this.#known.get(type);
    if (known !== undefined) return known;
    const name = this.#scope.allocator.allocate(wanted.slice(0, 120), `${wanted} ${JSON.stringify(type)}`);
    this.#known.set(type, name);
    this.declareObject(name, type, {});
    return name;
  }
}

/** What a schema says of a value, as text. */
export function describe({ description = "", ...documentation }: Documentation): string {
  const facts: string[] = [];
  if (documentation.default !== undefined && !/default/i.test(description))
    facts.push(`Default: ${documentation.default}`);
  if (documentation.format !== undefined && !description.toLowerCase().includes(documentation.format))
    facts.push(`Format: ${documentation.format}`);
  if (documentation.deprecated) facts.push("Deprecated.");
  return [description.trim(), ...facts].filter((each) => each !== "").join("\n");
}

function required(isRequired: boolean, annotation: string): string {
  return isRequired ? annotation : `NotRequired[${annotation}]`;
}

function literal(value: string | number | boolean): string {
  if (typeof value === "string") return `Literal[${pythonString(value)}]`;
  if (typeof value === "boolean") return `Literal[${value ? "True" : "False"}]`;
  return Number.isInteger(value) ? `Literal[${BigInt(value)}]` : "float";
}

const MAX_FOLLOWED_IN_A_ROW = 8;

/** An object with declared properties, which are parameters. */
export type ArgumentObject = Extract<TypeNode, { kind: "object" }>;

/** The objects that arguments may be; `undefined` where nothing is known of their properties. */
export function argumentObjects(model: TypeModel): ArgumentObject[] | undefined {
  const root = followReferences(model.root, model);
  const alternatives = (root.kind === "union" ? root.members : [root])
    .map((each) => followReferences(each, model))
    .flatMap((each) => (each.kind === "union" ? each.members : [each]));
  const objects = alternatives.filter((each) => each.kind === "object");
  const isKnown =
    objects.length === alternatives.length && objects.every(({ properties }) => properties.length > 0);
  return isKnown && objects.length > 0 ? objects : undefined;
}

/** A type that is neither a reference nor an intersection, as far as it can be resolved. */
export function followReferences(type: TypeNode, model: TypeModel): TypeNode {
  let found = withoutIntersection(type, model);
  for (let i = 0; i < MAX_FOLLOWED_IN_A_ROW && found.kind === "reference"; i++) {
    const { type: target } = model.definitions.get(found.name) ?? { type: { kind: "any" as const } };
    found = withoutIntersection(target, model);
  }
  return found;
}

/** Alternatives that one intersection may have. Beyond them it is wider. */
const MAX_ALTERNATIVES = 64;

/** References that are followed from one within another. */
const MAX_FOLLOWED = 8;

/**
 * The same type without an intersection at its top: Python has no types for values that have two types. Objects become one
 * object, alternatives are multiplied. What cannot be merged is wider.
 */
export function withoutIntersection(type: TypeNode, model: TypeModel): TypeNode {
  if (type.kind !== "intersection") return type;
  let combinations: TypeNode[][] = [[]];
  for (const member of type.members) {
    const alternatives = alternativesOf(member, model, 0);
    if (combinations.length * alternatives.length > MAX_ALTERNATIVES) continue;
    combinations = combinations.flatMap((before) => alternatives.map((each) => [...before, each]));
  }
  return unite(
    combinations.map((members) => {
      const merged = intersect(members, () => {});
      return merged.kind === "intersection" ? widest(merged.members) : merged;
    }),
  );
}

function alternativesOf(type: TypeNode, model: TypeModel, followed: number): TypeNode[] {
  if (type.kind === "union") return type.members.flatMap((each) => alternativesOf(each, model, followed));
  if (type.kind === "intersection") {
    const resolved = withoutIntersection(type, model);
    return resolved.kind === "intersection" ? [ANY] : alternativesOf(resolved, model, followed + 1);
  }
  if (type.kind !== "reference") return [type];
  const definition = model.definitions.get(type.name);
  if (definition === undefined || followed >= MAX_FOLLOWED) return [ANY];
  return alternativesOf(definition.type, model, followed + 1);
}

/** A type that all values of an intersection of lists have. */
function widest(members: readonly TypeNode[]): TypeNode {
  const isList = members.every(({ kind }) => kind === "array" || kind === "tuple");
  return isList ? { kind: "array", items: ANY } : ANY;
}
