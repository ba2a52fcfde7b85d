import { isObject, writeJson } from "../../base/json.ts";
import {
  MAX_DEFAULT_CHARS,
  MAX_DESCRIPTION_CHARS,
  MAX_ENUM_VALUES,
  MAX_OPTIONAL_ELEMENTS,
  MAX_REFERENCE_LEVELS,
  MAX_SCHEMA_NODES,
  MAX_TOOL_DESCRIPTION_CHARS,
  MAX_TYPE_DEPTH,
} from "./limits.ts";
import { type JsonObject, member, SchemaReferences } from "./schema-references.ts";
import {
  ANY,
  cutAliasCycles,
  type Definition,
  type Documentation,
  intersect,
  NEVER,
  type Property,
  pickReferenced,
  type TypeModel,
  type TypeNode,
  unite,
} from "./type-model.ts";

/**
 * Reduces an unchecked JSON Schema (draft-07 or 2020-12) to a type. Only the keywords read here have any effect.
 * `title`, `$id`, `tsType` and everything else unknown have none. A value that the schema accepts always has the type:
 * constructs that a type cannot express become wider, and `onProblem` receives those that cannot be followed.
 */
export function normalizeSchema(schema: unknown, onProblem: (message: string) => void): TypeModel {
  return new Normalizer(schema, onProblem).model();
}

class Normalizer {
  readonly #schema: unknown;
  readonly #references: SchemaReferences;
  readonly #definitions = new Map<string, Definition>();
  readonly #onProblem: (message: string) => void;
  readonly #reported = new Set<string>();
  #nodes = 0;
  #described = 0;
  #level = 0;

  constructor(schema: unknown, onProblem: (message: string) => void) {
    this.#schema = schema;
    this.#onProblem = onProblem;
    this.#references = new SchemaReferences(schema);
  }

  model(): TypeModel {
    const root = this.#type(this.#schema, 0);
    const documentation = this.#documentation(this.#schema, root);
    const cut = cutAliasCycles(root, this.#definitions);
    if (cut > 0) this.#problem("a type that is defined as itself is any");
    return { root, documentation, definitions: pickReferenced(root, this.#definitions) };
  }

  #documentation(schema: unknown, type: TypeNode): Documentation {
    if (!isObject(schema)) return {};
    const documentation = readDocumentation(schema, type);
    const length = documentation.description?.length ?? 0;
    if (length > MAX_DESCRIPTION_CHARS)
      this.#problem(`a description is cut after ${MAX_DESCRIPTION_CHARS} characters`);
    this.#described += length;
    if (this.#described > MAX_TOOL_DESCRIPTION_CHARS && documentation.description !== undefined) {
      this.#problem(`descriptions beyond ${MAX_TOOL_DESCRIPTION_CHARS} characters are left out`);
      delete documentation.description;
    }
    return documentation;
  }

  #problem(message: string): void {
    if (this.#reported.has(message)) return;
    this.#reported.add(message);
    this.#onProblem(message);
  }

  /** The type of a schema in its place, which is a reference if some `$ref` points at the schema. */
  #type(schema: unknown, depth: number): TypeNode {
    if (schema === true || schema === undefined) return ANY;
    if (schema === false) return NEVER;
    if (!isObject(schema)) {
      this.#problem("a schema that is neither an object nor a boolean is any");
      return ANY;
    }
    const name = this.#references.nameOf(schema);
    if (name === undefined) return this.#inline(schema, depth);
    const known = this.#definitions.get(name);
    if (known !== undefined) return isAtom(known.type) ? known.type : { kind: "reference", name };
    const definition: Definition = { type: { kind: "reference", name }, documentation: {} };
    this.#definitions.set(name, definition);
    definition.type = this.#inline(schema, 0);
    if (definition.type.kind === "reference" && definition.type.name === name) definition.type = ANY;
    definition.documentation = this.#documentation(schema, definition.type);
    return isAtom(definition.type) ? definition.type : { kind: "reference", name };
  }

  #inline(schema: JsonObject, depth: number): TypeNode {
    if (++this.#nodes > MAX_SCHEMA_NODES) {
      this.#problem(`a schema of more than ${MAX_SCHEMA_NODES} parts is any beyond them`);
      return ANY;
    }
    if (depth > MAX_TYPE_DEPTH) {
      this.#problem(`a schema deeper than ${MAX_TYPE_DEPTH} levels is any beyond them`);
      return ANY;
    }
    if (this.#level >= MAX_REFERENCE_LEVELS) {
      this.#problem("a chain of too many references is any beyond them");
      return ANY;
    }
    this.#level++;
    const type = this.#combined(schema, depth);
    this.#level--;
    return member(schema, "nullable") === true ? unite([type, { kind: "null" }]) : type;
  }

  #combined(schema: JsonObject, depth: number): TypeNode {
    const own = this.#ownType(schema, depth);
    const facets: TypeNode[] = [own];
    if ("$ref" in schema) facets.push(this.#reference(schema.$ref, depth));
    for (const keyword of ["anyOf", "oneOf"]) {
      const members = member(schema, keyword);
      if (!Array.isArray(members) || members.length === 0) continue;
      facets.push(unite(members.map((each) => this.#type(each, depth + 1))));
    }
    const all = member(schema, "allOf");
    if (Array.isArray(all)) facets.push(...all.map((each) => this.#type(each, depth + 1)));
    if (own.kind === "object") {
      const conditional = [schema, ...(Array.isArray(all) ? all.filter(isObject) : [])];
      facets.push(...conditional.flatMap((each) => conditionalTypes(each, schema, this.#walkAt(depth))));
    }
    return intersect(facets, () => this.#problem("an intersection of too many alternatives is wider"));
  }

  #walkAt(depth: number): SchemaWalk {
    return {
      typeOf: (schema) => this.#type(schema, depth + 1),
      documentationOf: (schema, type) => this.#documentation(schema, type),
      resolve: (ref) => (typeof ref === "string" ? this.#references.resolve(ref) : undefined),
    };
  }

  #reference(ref: unknown, depth: number): TypeNode {
    const target = typeof ref === "string" ? this.#references.resolve(ref) : undefined;
    if (isObject(target) || typeof target === "boolean") return this.#type(target, depth + 1);
    const where = typeof ref === "string" && !ref.startsWith("#") ? "outside of the schema" : "to nothing";
    this.#problem(`a $ref that points ${where} is any`);
    return ANY;
  }

  /** The type according to `type`, `const`, `enum` and the keywords of objects and arrays. */
  #ownType(schema: JsonObject, depth: number): TypeNode {
    const byType = unite(this.#typeNames(schema).map((name) => this.#typeNamed(name, schema, depth)));
    return narrowToValues(byType, schema, (message) => this.#problem(message));
  }

  #typeNames(schema: JsonObject): string[] {
    const type = member(schema, "type");
    if (typeof type === "string") return [type];
    if (Array.isArray(type) && type.length > 0) return type.map(String);
    if (type !== undefined) this.#problem("a type that is not a name is any");
    const says = (keyword: string): boolean => Object.hasOwn(schema, keyword) && schema[keyword] !== true;
    if (OBJECT_KEYWORDS.some(says) || Array.isArray(member(schema, "required"))) {
      return ["object"];
    }
    return ARRAY_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword)) ? ["array"] : ["any"];
  }

  #typeNamed(name: string, schema: JsonObject, depth: number): TypeNode {
    switch (name) {
      case "string":
      case "number":
      case "boolean":
      case "null":
        return { kind: name };
      case "integer":
        return { kind: "number", integer: true };
      case "object":
        return objectType(schema, this.#walkAt(depth));
      case "array":
        return arrayType(schema, this.#walkAt(depth));
      case "any":
        return ANY;
      default:
        this.#problem("a type that JSON Schema does not know is any");
        return ANY;
    }
  }
}

const OBJECT_KEYWORDS = ["properties", "additionalProperties", "patternProperties"];
const ARRAY_KEYWORDS = ["items", "prefixItems"];

/** Whether a type is shorter than a name for it. */
function isAtom(type: TypeNode): boolean {
  switch (type.kind) {
    case "any":
    case "never":
    case "string":
    case "number":
    case "boolean":
    case "null":
    case "literal":
      return true;
    default:
      return false;
  }
}

/** The type of an array: a tuple if it has `prefixItems` or draft-07's list of `items`, or else a list. */
function arrayType(schema: JsonObject, walk: SchemaWalk): TypeNode {
  const items = member(schema, "items");
  const prefix = member(schema, "prefixItems") ?? (Array.isArray(items) ? items : undefined);
  if (!Array.isArray(prefix) || prefix.length === 0) {
    return { kind: "array", items: Array.isArray(items) ? ANY : walk.typeOf(items) };
  }
  const elements = prefix.map((each) => walk.typeOf(each));
  const after = walk.typeOf(Array.isArray(items) ? schema.additionalItems : items);
  const minItems = Math.min(elements.length, countOf(schema.minItems) ?? 0);
  const closed =
    after.kind === "never" || (countOf(schema.maxItems) ?? Number.POSITIVE_INFINITY) <= elements.length;
  if (elements.length - minItems > MAX_OPTIONAL_ELEMENTS) {
    return { kind: "array", items: unite(closed ? elements : [...elements, after]) };
  }
  const tuple = { kind: "tuple" as const, items: elements, minItems };
  return closed ? tuple : { ...tuple, rest: after };
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? Math.floor(value) : undefined;
}

/** The most names that a map lists. A map of more names is one of any name. */
const MAX_MAP_NAMES = 256;

/** The only names that `propertyNames` allows, if it lists them, as for a map whose keys are an enum; else `undefined`. */
function allowedNames(schema: unknown, walk: SchemaWalk, level = 0): string[] | undefined {
  if (!isObject(schema) || level > 8) return undefined;
  const values = Object.hasOwn(schema, "const") ? [schema.const] : member(schema, "enum");
  if (Array.isArray(values)) {
    const names = values.filter((value) => typeof value === "string");
    return names.length > MAX_MAP_NAMES ? undefined : names;
  }
  if ("$ref" in schema) return allowedNames(walk.resolve(schema.$ref), walk, level + 1);
  for (const keyword of ["anyOf", "oneOf"]) {
    const members = member(schema, keyword);
    if (!Array.isArray(members) || members.length === 0 || members.length > MAX_MAP_NAMES) continue;
    const lists = members.map((each) => allowedNames(each, walk, level + 1));
    const names = new Set(lists.flatMap((list) => list ?? []));
    return lists.includes(undefined) || names.size > MAX_MAP_NAMES ? undefined : [...names];
  }
  const all = member(schema, "allOf");
  const [first, ...others] = (Array.isArray(all) ? all.slice(0, 8) : [])
    .map((each) => allowedNames(each, walk, level + 1))
    .filter((names) => names !== undefined);
  return first?.filter((name) => others.every((names) => names.includes(name)));
}

/**
 * The type of an object: its properties, and the type of further properties if the schema declares it. A schema that does not
 * mention further properties accepts any, but its type has none, so that the compiler finds a misspelt name. Names that are only
 * required, or the only ones allowed, have the type of further properties.
 */
function objectType(schema: JsonObject, walk: SchemaWalk): Extract<TypeNode, { kind: "object" }> {
  const declared = member(schema, "properties");
  const required = member(schema, "required");
  const names = new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
  const properties: Property[] = [];
  for (const [name, value] of isObject(declared) ? Object.entries(declared) : []) {
    const type = walk.typeOf(value);
    const documentation = walk.documentationOf(value, type);
    // In draft 3 `required` is a member of the property, and some servers still write that.
    const isRequired = names.delete(name) || member(value, "required") === true;
    properties.push({ name, type, required: isRequired, documentation });
  }
  const rest = restType(schema, walk);
  const declaredCount = properties.length;
  const type = rest === undefined || rest.kind === "never" ? ANY : rest;
  const allowed = allowedNames(member(schema, "propertyNames"), walk);
  const known = new Set(properties.map(({ name }) => name));
  for (const name of new Set([...(allowed ?? []), ...names])) {
    // A closed object has no names but those that it declares or requires.
    if (known.has(name) || (rest?.kind === "never" && !names.has(name))) continue;
    properties.push({ name, type, required: names.has(name), documentation: {} });
  }
  if (properties.length === 0) return { kind: "object", properties, rest: rest ?? ANY };
  if (rest === undefined || rest.kind === "never" || allowed !== undefined)
    return { kind: "object", properties };
  if (declaredCount === 0) return { kind: "object", properties, rest };
  // An index signature must allow the types of all properties, which only `any` is sure to do.
  return { kind: "object", properties, rest: ANY };
}

function restType(schema: JsonObject, walk: SchemaWalk): TypeNode | undefined {
  const patterns = member(schema, "patternProperties");
  const types = isObject(patterns) ? Object.values(patterns).map((each) => walk.typeOf(each)) : [];
  const additional = ["additionalProperties", "unevaluatedProperties"].find((each) =>
    Object.hasOwn(schema, each),
  );
  if (additional !== undefined) types.push(walk.typeOf(schema[additional]));
  return types.length === 0 ? undefined : unite(types);
}

/** The type of the values that `const` and `enum` allow. */
function narrowToValues(
  byType: TypeNode,
  schema: JsonObject,
  onProblem: (message: string) => void,
): TypeNode {
  const values = Object.hasOwn(schema, "const") ? [schema.const] : member(schema, "enum");
  if (!Array.isArray(values) || values.length === 0) return byType;
  if (values.length > MAX_ENUM_VALUES) {
    onProblem(`an enum of more than ${MAX_ENUM_VALUES} values is of their type`);
    return byType.kind === "any" ? unite(values.map((value) => widen(literalType(value, 0)))) : byType;
  }
  const literals = unite(values.map((value) => literalType(value, 0)));
  const narrowed = intersect([byType, literals], () => {});
  if (narrowed.kind !== "never") return narrowed;
  onProblem("an enum whose values contradict its type is of its values");
  return literals;
}

/** The type of exactly this JSON value. */
function literalType(value: unknown, depth: number): TypeNode {
  if (value === null) return { kind: "null" };
  if (typeof value === "string" || typeof value === "boolean") return { kind: "literal", value };
  // A TypeScript program has such a number as text.
  if (typeof value === "bigint") return { kind: "number", integer: true };
  if (typeof value === "number")
    return Number.isFinite(value) ? { kind: "literal", value } : { kind: "number" };
  if (typeof value !== "object" || depth > 4) return ANY;
  if (Array.isArray(value)) {
    if (value.length > 64) return { kind: "array", items: ANY };
    const items = value.map((each) => literalType(each, depth + 1));
    return { kind: "tuple", items, minItems: items.length };
  }
  const entries = Object.entries(value);
  if (entries.length > 64) return { kind: "object", properties: [], rest: ANY };
  const properties = entries.map(([name, each]) => ({
    name,
    type: literalType(each, depth + 1),
    required: true,
    documentation: {},
  }));
  return properties.length === 0
    ? { kind: "object", properties, rest: NEVER }
    : { kind: "object", properties };
}

function widen(type: TypeNode): TypeNode {
  return type.kind === "literal" ? { kind: typeof type.value as "string" | "number" | "boolean" } : type;
}

type LiteralNode = Extract<TypeNode, { kind: "literal" }>;

/**
 * The types that `if`/`then`/`else`, and schemas that depend on a property, give to an object with the properties of `base`. No
 * type can express "not". If the condition is that a property has one of its listed values, the other case lists its other
 * values. For any other condition, the types only list the possible properties.
 */
function conditionalTypes(schema: JsonObject, base: JsonObject, walk: SchemaWalk): TypeNode[] {
  const dependents = ["dependentSchemas", "dependencies"].flatMap((keyword) => {
    const each = member(schema, keyword);
    return isObject(each) ? Object.values(each) : [];
  });
  const condition = member(schema, "if");
  const branches = condition === undefined ? [] : [condition, member(schema, "then"), member(schema, "else")];
  const mentioned = [...new Set([...dependents, ...branches].flatMap(propertyNames))];
  const types: TypeNode[] = [];
  if (mentioned.length > 0) {
    const properties = mentioned.map((name) => ({ name, type: ANY, required: false, documentation: {} }));
    types.push({ kind: "object", properties });
  }
  const cases = isObject(condition) ? casesOf(condition, base, walk) : undefined;
  if (cases === undefined) return types;
  const holds = intersect([cases.holds, walk.typeOf(member(schema, "then"))], () => {});
  const fails = intersect([cases.fails, walk.typeOf(member(schema, "else"))], () => {});
  return [...types, unite([holds, fails])];
}

/** The types of objects for which a condition on one property's value holds, and for which it fails. */
function casesOf(condition: JsonObject, base: JsonObject, walk: SchemaWalk) {
  const [name, ...others] = propertyNames(condition);
  if (name === undefined || others.length > 0) return undefined;
  if (Object.keys(condition).some((keyword) => !["properties", "required", "type"].includes(keyword)))
    return undefined;
  const asked = literalsOf(walk.typeOf(member(member(condition, "properties"), name)));
  const listed = literalsOf(walk.typeOf(member(member(base, "properties"), name)));
  if (asked === undefined || listed === undefined) return undefined;
  const values = new Set(asked.map(({ value }) => value));
  const isRequired = Array.isArray(condition.required) && condition.required.includes(name);
  const having = (type: TypeNode, required: boolean): TypeNode => ({
    kind: "object",
    properties: [{ name, type, required, documentation: {} }],
  });
  return {
    holds: having(unite(asked), isRequired),
    // An object without the property meets the condition, unless the condition requires it.
    fails: having(unite(listed.filter(({ value }) => !values.has(value))), !isRequired),
  };
}

function literalsOf(type: TypeNode): LiteralNode[] | undefined {
  const members = type.kind === "union" ? type.members : [type];
  const literals = members.filter((each) => each.kind === "literal");
  return literals.length === members.length ? literals : undefined;
}

function propertyNames(schema: unknown): string[] {
  const properties = member(schema, "properties");
  const required = member(schema, "required");
  return [
    ...(isObject(properties) ? Object.keys(properties) : []),
    ...(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []),
  ].filter((name, i, all) => all.indexOf(name) === i);
}

/** Gives parts of the normaliser access to the types of nested schemas. */
interface SchemaWalk {
  typeOf: (schema: unknown) => TypeNode;
  documentationOf: (schema: unknown, type: TypeNode) => Documentation;
  /** The part of the schema that a `$ref` points to. */
  resolve: (ref: unknown) => unknown;
}

/** The documentation in a schema, including that of its items and alternatives, which have no separate place in code. */
function readDocumentation(schema: JsonObject, type: TypeNode): Documentation {
  const description = describe(schema, type, 0);
  const documentation: Documentation = {};
  if (description !== "") documentation.description = cutDescription(description);
  const fallback = member(schema, "default");
  if (fallback !== undefined && isShallow(fallback, 4)) {
    const json = writeJson(fallback);
    if (json.length <= MAX_DEFAULT_CHARS) documentation.default = json;
  }
  const format = member(schema, "format");
  if (typeof format === "string" && /^[A-Za-z0-9-]{1,40}$/.test(format)) documentation.format = format;
  if (member(schema, "deprecated") === true) documentation.deprecated = true;
  return documentation;
}

/** Cuts a description to the length that a module carries. */
export function cutDescription(text: string): string {
  return text.length <= MAX_DESCRIPTION_CHARS
    ? text
    : `${text.slice(0, MAX_DESCRIPTION_CHARS)}... (truncated)`;
}

function describe(schema: JsonObject, type: TypeNode, level: number): string {
  const parts: string[] = [];
  const own = member(schema, "description");
  if (typeof own === "string" && own.trim() !== "") parts.push(own.trim());
  if (level < 4) {
    const items = member(schema, "items");
    if (type.kind === "array" && isObject(items)) {
      const nested = describe(items, type.items, level + 1);
      if (nested !== "") parts.push(`Items: ${nested}`);
    }
    const values = member(schema, "additionalProperties");
    if (isObject(values)) {
      const nested = describe(values, { kind: "any" }, level + 1);
      if (nested !== "") parts.push(`Values: ${nested}`);
    }
    const alternatives = [
      ...describeMembers(schema, "anyOf", level),
      ...describeMembers(schema, "oneOf", level),
    ];
    parts.push(...alternatives.map((each) => (alternatives.length > 1 ? `- ${each}` : each)));
    parts.push(...describeMembers(schema, "allOf", level).filter((each) => !parts.includes(each)));
  }
  return parts.join("\n");
}

function describeMembers(schema: JsonObject, keyword: string, level: number): string[] {
  const members = member(schema, keyword);
  if (!Array.isArray(members)) return [];
  const described = members
    .slice(0, 32)
    .map((each) => (isObject(each) ? describe(each, { kind: "any" }, level + 1) : ""));
  return [...new Set(described)].filter((each) => each !== "" && each !== schema.description);
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1));
}
