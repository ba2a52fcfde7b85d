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

/** The most levels of merged objects, each of which may repeat its surroundings. A deeper type is any. */
const MAX_MERGED_LEVELS = 6;

/** Whether a part of a type is printed differently for a tool's input and output. */
export function dependsOnSide(type: TypeNode): boolean {
  const isMap = type.kind === "object" && type.properties.length === 0;
  return isMap || type.kind === "array" || type.kind === "tuple";
}

/** A declaration of a type. */
export interface DeclaredType {
  name: string;
  text: string;
}

/** The types of one side of a tool, and their names. */
interface TypeScope {
  model: TypeModel;
  /** Whether these are types of a tool's input. Otherwise they are types of its output. */
  isInput: boolean;
  /** Names of types by the names of definitions. */
  names: ReadonlyMap<string, string>;
  allocator: NameAllocator;
}

type Kind<Name extends TypeNode["kind"]> = Extract<TypeNode, { kind: Name }>;

/** A notation of types for readers of Python. This class walks the model of types, and subclasses write each kind. */
export abstract class PythonNotation<Place> {
  /** @param place the place of the type, in terms of the notation. */
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
  /** @param name the name of a definition. */
  protected abstract reference(name: string): string;
  protected abstract list(items: TypeNode, place: Place): string;
  protected abstract tuple(type: Kind<"tuple">, place: Place): string;
  protected abstract union(members: readonly TypeNode[], place: Place): string;
  protected abstract intersection(type: Kind<"intersection">, place: Place): string;
  protected abstract object(type: Kind<"object">, place: Place): string;
}

/** Prints types of one side of a tool as annotations. Declares each object that an annotation needs under a name. */
export class PythonTypes extends PythonNotation<string> {
  readonly #scope: TypeScope;
  /** Declared or resolved types. A function's parameters and the dict of all of them share types. */
  readonly #known = new Map<TypeNode, string>();
  #declarations: DeclaredType[] = [];
  #merged = 0;

  constructor(scope: TypeScope) {
    super();
    this.#scope = scope;
  }

  /** The declarations since the last call, each before those that it needs. */
  takeDeclarations(): DeclaredType[] {
    const taken = this.#declarations;
    this.#declarations = [];
    return taken;
  }

  /** Prints a type as an annotation. @param name the preferred name of an object without a name. */
  annotate(type: TypeNode, name: string): string {
    return this.print(type, name);
  }

  /** Declares a type under a name, which must be free. */
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

  /** Declares a dict under a name: as a class if its keys can be attributes, or else by a call. */
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
    // A text is a sequence of texts, so only `list` excludes it.
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

/** The documentation of a value as text. */
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

/** The objects that arguments may be, or `undefined` if their properties are unknown. */
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

/** Resolves a type to one that is neither a reference nor an intersection, if possible. */
export function followReferences(type: TypeNode, model: TypeModel): TypeNode {
  let found = withoutIntersection(type, model);
  for (let i = 0; i < MAX_FOLLOWED_IN_A_ROW && found.kind === "reference"; i++) {
    const { type: target } = model.definitions.get(found.name) ?? { type: { kind: "any" as const } };
    found = withoutIntersection(target, model);
  }
  return found;
}

/** The most alternatives of one intersection. Beyond them, it becomes wider. */
const MAX_ALTERNATIVES = 64;

/** The most nested references to follow. */
const MAX_FOLLOWED = 8;

/**
 * Removes an intersection at the top of a type, because Python has no intersection types. Merges objects into one object, and
 * multiplies alternatives. Types that cannot be merged become wider.
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
