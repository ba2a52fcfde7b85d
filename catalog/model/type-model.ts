import { writeJson } from "../../base/json.ts";
import { MAX_INTERSECTION_VARIANTS } from "./limits.ts";

/**
 * The type of a value, independent of any language: the smallest set of forms that the JSON Schemas of tools are reduced to,
 * and that every printer can print.
 */
export type TypeNode =
  | { kind: "any" }
  | { kind: "never" }
  | { kind: "string" | "boolean" | "null" }
  /** `integer` if fractions are refused. Not every language distinguishes the two. */
  | { kind: "number"; integer?: true }
  | { kind: "literal"; value: string | number | boolean }
  | { kind: "array"; items: TypeNode }
  /** `minItems` is at most the number of `items`. `rest` is the type of further items, if any are allowed. */
  | { kind: "tuple"; items: TypeNode[]; minItems: number; rest?: TypeNode }
  /** `rest` is the type of undeclared properties, if the schema declares it. */
  | { kind: "object"; properties: Property[]; rest?: TypeNode }
  | { kind: "union"; members: TypeNode[] }
  | { kind: "intersection"; members: TypeNode[] }
  /** `name` is a key of the `definitions` of the model that holds this node. */
  | { kind: "reference"; name: string };

export interface Property {
  name: string;
  type: TypeNode;
  required: boolean;
  documentation: Documentation;
}

/** The information about a value in its schema beyond the type. Unescaped text from the server. */
export interface Documentation {
  description?: string;
  /** JSON text. */
  default?: string;
  format?: string;
  deprecated?: true;
}

export interface Definition {
  type: TypeNode;
  documentation: Documentation;
}

/** The type of a tool's input or output. */
export interface TypeModel {
  root: TypeNode;
  documentation: Documentation;
  /** Named types by their name in the schema, in the order of their first use. */
  definitions: Map<string, Definition>;
}

export const ANY: TypeNode = { kind: "any" };
export const NEVER: TypeNode = { kind: "never" };

/** The type of a value that has one of these types. */
export function unite(types: readonly TypeNode[]): TypeNode {
  const members: TypeNode[] = [];
  const seen = new Set<string>();
  for (const type of types.flatMap((type) => (type.kind === "union" ? type.members : [type]))) {
    if (type.kind === "any") return ANY;
    if (type.kind === "never") continue;
    const key = scalarKey(type);
    if (key !== undefined) {
      if (seen.has(key)) continue;
      seen.add(key);
    }
    members.push(type);
  }
  const kept = members.filter((type) => {
    if (type.kind === "number") return type.integer !== true || !seen.has("number");
    if (type.kind !== "literal") return true;
    return !seen.has(typeof type.value) && !(Number.isInteger(type.value) && seen.has("integer"));
  });
  if (kept.length === 0) return NEVER;
  return kept.length === 1 && kept[0] !== undefined ? kept[0] : { kind: "union", members: kept };
}

/**
 * The type of a value that has all of these types. Objects merge into one, and scalars and bare types narrow each other.
 * Everything else stays an intersection. If its alternatives multiply beyond what a compiler can handle, they are left out,
 * which gives a wider type, and `onWidened` is called.
 */
export function intersect(types: readonly TypeNode[], onWidened: () => void): TypeNode {
  const flat = types.flatMap((type) => (type.kind === "intersection" ? type.members : [type]));
  let base: TypeNode[] = [ANY];
  const others: TypeNode[] = [];
  for (const type of [...flat.filter(isSimple), ...flat.filter((type) => !isSimple(type))]) {
    const alternatives = type.kind === "union" ? narrowUnion(type.members, base) : [type];
    const merges =
      alternatives.every(isSimple) &&
      ((alternatives.length === 1 && base.length === 1) ||
        alternatives.every(isPlain) ||
        base.every(isPlain)) &&
      base.length * alternatives.length <= MAX_INTERSECTION_VARIANTS * 8;
    if (merges) {
      base = base.flatMap((a) => alternatives.flatMap((b) => intersectSimple(a, b) ?? []));
      if (base.length === 0) return NEVER;
    } else {
      others.push(unite(alternatives));
    }
  }
  const variants = others.reduce((n, type) => n * (type.kind === "union" ? type.members.length : 1), 1);
  const kept = variants > MAX_INTERSECTION_VARIANTS ? others.filter((type) => type.kind !== "union") : others;
  if (kept.length < others.length) onWidened();
  const own = unite(base);
  const members = own.kind === "any" || (isBare(own) && kept.length > 0) ? kept : [own, ...kept];
  if (members.length === 0) return own;
  return members.length === 1 && members[0] !== undefined ? members[0] : { kind: "intersection", members };
}

function isSimple(type: TypeNode): boolean {
  return type.kind !== "union" && type.kind !== "reference" && type.kind !== "intersection";
}

/** Whether a type says only that a value is an object or an array. */
function isBare(type: TypeNode): boolean {
  if (type.kind === "object") return type.properties.length === 0 && type.rest?.kind === "any";
  return type.kind === "array" && type.items.kind === "any";
}

function isPlain(type: TypeNode): boolean {
  return type.kind === "any" || isBare(type) || scalarKey(type) !== undefined;
}

/** The members of a union that are possible for a value of one of the types in `base`. */
function narrowUnion(members: readonly TypeNode[], base: readonly TypeNode[]): TypeNode[] {
  return members.filter(
    (member) => !isSimple(member) || base.some((type) => intersectSimple(type, member) !== undefined),
  );
}

/** The type of a value that has both of two simple types, or `undefined` if there is no such value. */
function intersectSimple(a: TypeNode, b: TypeNode): TypeNode | undefined {
  if (a.kind === "any") return b;
  if (b.kind === "any") return a;
  if (a.kind === "literal" || b.kind === "literal") {
    const [literal, other] = a.kind === "literal" ? [a, b] : [b as Extract<TypeNode, { kind: "literal" }>, a];
    if (other.kind === "literal") return other.value === literal.value ? literal : undefined;
    return other.kind === typeof literal.value ? literal : undefined;
  }
  if (a.kind === "object" && b.kind === "object") return mergeObjects(a, b);
  const aIsList = a.kind === "array" || a.kind === "tuple";
  const bIsList = b.kind === "array" || b.kind === "tuple";
  if (aIsList && bIsList) {
    if (a.kind === "array" && a.items.kind === "any") return b;
    if (b.kind === "array" && b.items.kind === "any") return a;
    return { kind: "intersection", members: [a, b] };
  }
  if (a.kind === "number" && b.kind === "number") return a.integer === true ? a : b;
  return a.kind === b.kind ? a : undefined;
}

function mergeObjects(
  a: Extract<TypeNode, { kind: "object" }>,
  b: Extract<TypeNode, { kind: "object" }>,
): TypeNode {
  const properties = new Map<string, Property>(a.properties.map((property) => [property.name, property]));
  for (const property of b.properties) {
    const known = properties.get(property.name);
    properties.set(property.name, known === undefined ? property : mergeProperty(known, property));
  }
  const rest =
    a.rest !== undefined && b.rest !== undefined
      ? intersect([a.rest, b.rest], () => {})
      : [a, b].filter((each) => !isBare(each)).find(({ rest }) => rest !== undefined && rest.kind !== "never")
          ?.rest;
  const merged = { kind: "object" as const, properties: [...properties.values()] };
  return rest === undefined ? merged : { ...merged, rest };
}

function mergeProperty(a: Property, b: Property): Property {
  return {
    name: a.name,
    type: intersect([a.type, b.type], () => {}),
    required: a.required || b.required,
    documentation: { ...b.documentation, ...a.documentation },
  };
}

/** A text that is equal for equal scalar types. `undefined` for types with structure. */
function scalarKey(type: TypeNode): string | undefined {
  switch (type.kind) {
    case "string":
    case "boolean":
    case "null":
      return type.kind;
    case "number":
      return type.integer === true ? "integer" : "number";
    case "literal":
      return `=${writeJson(type.value)}`;
    case "reference":
      return `#${type.name}`;
    default:
      return undefined;
  }
}

/**
 * Replaces references that would define a named type as itself, without an object or array in between, by any, because no
 * language can print them. Returns their number.
 */
export function cutAliasCycles(root: TypeNode, definitions: ReadonlyMap<string, Definition>): number {
  let cut = 0;
  const open = new Set<string>();
  const done = new Set<string>();
  const walk = (type: TypeNode): TypeNode => {
    switch (type.kind) {
      case "reference": {
        if (open.has(type.name)) {
          cut++;
          return ANY;
        }
        const definition = definitions.get(type.name);
        if (definition === undefined) return ANY;
        if (!done.has(type.name)) {
          open.add(type.name);
          definition.type = walk(definition.type);
          open.delete(type.name);
          done.add(type.name);
        }
        return type;
      }
      case "union":
      case "intersection":
        type.members.forEach((each, i) => {
          type.members[i] = walk(each);
        });
        return type;
      default:
        return type;
    }
  };
  walk(root);
  for (const name of definitions.keys()) walk({ kind: "reference", name });
  return cut;
}

/** The definitions that a type refers to, directly or through others, in the order of their first use. */
export function pickReferenced(
  root: TypeNode,
  definitions: ReadonlyMap<string, Definition>,
): Map<string, Definition> {
  const picked = new Map<string, Definition>();
  const queue: TypeNode[] = [root];
  const visit = (type: TypeNode): void => {
    if (type.kind !== "reference") {
      childrenOf(type).forEach(visit);
      return;
    }
    const definition = picked.has(type.name) ? undefined : definitions.get(type.name);
    if (definition === undefined) return;
    picked.set(type.name, definition);
    queue.push(definition.type);
  };
  for (let type = queue.pop(); type !== undefined; type = queue.pop()) visit(type);
  return picked;
}

function childrenOf(type: TypeNode): TypeNode[] {
  switch (type.kind) {
    case "array":
      return [type.items];
    case "tuple":
      return type.rest === undefined ? type.items : [...type.items, type.rest];
    case "object": {
      const types = type.properties.map((property) => property.type);
      return type.rest === undefined ? types : [...types, type.rest];
    }
    case "union":
    case "intersection":
      return type.members;
    default:
      return [];
  }
}
