import { intersect, unite } from "./combine-types.ts";
import { readDocumentation } from "./documentation.ts";
import {
  MAX_ENUM_VALUES,
  MAX_OPTIONAL_ELEMENTS,
  MAX_REFERENCE_LEVELS,
  MAX_SCHEMA_NODES,
  MAX_TOOL_DESCRIPTION_CHARS,
  MAX_TYPE_DEPTH,
} from "./limits.ts";
import { isObject, type JsonObject, member, SchemaReferences } from "./schema-references.ts";
import {
  ANY,
  type Definition,
  type Documentation,
  NEVER,
  type Property,
  type TypeModel,
  type TypeNode,
} from "./type-model.ts";
import { cutAliasCycles, pickReferenced } from "./type-references.ts";

/**
 * Reduces a JSON Schema (draft-07 or 2020-12, unaudited) to a type. Only the keywords read here have any effect;
 * `title`, `$id`, `tsType` and everything else unknown have none. A value that the schema accepts always has the type:
 * what cannot be expressed becomes wider, and a construct that cannot be followed is told to `onProblem`.
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
    this.#described += documentation.description?.length ?? 0;
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

  /** The type of a schema where it stands: a reference when some `$ref` points at it. */
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
    const facets: TypeNode[] = [this.#ownType(schema, depth)];
    if ("$ref" in schema) facets.push(this.#reference(schema.$ref, depth));
    for (const keyword of ["anyOf", "oneOf"]) {
      const members = member(schema, keyword);
      if (!Array.isArray(members) || members.length === 0) continue;
      facets.push(unite(members.map((each) => this.#type(each, depth + 1))));
    }
    const all = member(schema, "allOf");
    if (Array.isArray(all)) facets.push(...all.map((each) => this.#type(each, depth + 1)));
    return intersect(facets, () => this.#problem("an intersection of too many alternatives is wider"));
  }

  #reference(ref: unknown, depth: number): TypeNode {
    const target = typeof ref === "string" ? this.#references.resolve(ref) : undefined;
    if (isObject(target) || typeof target === "boolean") return this.#type(target, depth + 1);
    const where = typeof ref === "string" && !ref.startsWith("#") ? "outside of the schema" : "to nothing";
    this.#problem(`a $ref that points ${where} is any`);
    return ANY;
  }

  /** What `type`, `const`, `enum` and the keywords of objects and arrays say. */
  #ownType(schema: JsonObject, depth: number): TypeNode {
    const byType = unite(this.#typeNames(schema).map((name) => this.#typeNamed(name, schema, depth)));
    const values = Object.hasOwn(schema, "const") ? [schema.const] : member(schema, "enum");
    if (!Array.isArray(values) || values.length === 0) return byType;
    if (values.length > MAX_ENUM_VALUES) {
      this.#problem(`an enum of more than ${MAX_ENUM_VALUES} values is of their type`);
      return byType.kind === "any" ? unite(values.map((value) => widen(literalType(value, 0)))) : byType;
    }
    const literals = unite(values.map((value) => literalType(value, 0)));
    const narrowed = intersect([byType, literals], () => {});
    if (narrowed.kind !== "never") return narrowed;
    this.#problem("an enum whose values contradict its type is of its values");
    return literals;
  }

  #typeNames(schema: JsonObject): string[] {
    const type = member(schema, "type");
    if (typeof type === "string") return [type];
    if (Array.isArray(type) && type.length > 0) return type.map(String);
    if (type !== undefined) this.#problem("a type that is not a name is any");
    if (OBJECT_KEYWORDS.some((keyword) => Object.hasOwn(schema, keyword) && schema[keyword] !== true)) {
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
        return { kind: "number" };
      case "object":
        return this.#object(schema, depth);
      case "array":
        return this.#array(schema, depth);
      case "any":
        return ANY;
      default:
        this.#problem("a type that JSON Schema does not know is any");
        return ANY;
    }
  }

  #object(schema: JsonObject, depth: number): TypeNode {
    const declared = member(schema, "properties");
    const required = member(schema, "required");
    const names = new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
    const properties: Property[] = [];
    for (const [name, value] of isObject(declared) ? Object.entries(declared) : []) {
      const type = this.#type(value, depth + 1);
      const documentation = this.#documentation(value, type);
      properties.push({ name, type, required: names.delete(name), documentation });
    }
    for (const name of names) properties.push({ name, type: ANY, required: true, documentation: {} });
    const rest = this.#rest(schema, depth);
    if (properties.length === 0) return { kind: "object", properties, rest: rest ?? ANY };
    if (rest === undefined || rest.kind === "never") return { kind: "object", properties };
    // An index signature must allow what the properties hold; only `any` is sure to.
    return { kind: "object", properties, rest: ANY };
  }

  #rest(schema: JsonObject, depth: number): TypeNode | undefined {
    const patterns = member(schema, "patternProperties");
    const types = isObject(patterns)
      ? Object.values(patterns).map((each) => this.#type(each, depth + 1))
      : [];
    const additional = ["additionalProperties", "unevaluatedProperties"].find((each) =>
      Object.hasOwn(schema, each),
    );
    if (additional !== undefined) types.push(this.#type(schema[additional], depth + 1));
    return types.length === 0 ? undefined : unite(types);
  }

  #array(schema: JsonObject, depth: number): TypeNode {
    const items = member(schema, "items");
    const prefix = member(schema, "prefixItems") ?? (Array.isArray(items) ? items : undefined);
    if (!Array.isArray(prefix) || prefix.length === 0) {
      return { kind: "array", items: Array.isArray(items) ? ANY : this.#type(items, depth + 1) };
    }
    const elements = prefix.map((each) => this.#type(each, depth + 1));
    const after = this.#type(Array.isArray(items) ? schema.additionalItems : items, depth + 1);
    const minItems = Math.min(elements.length, countOf(schema.minItems) ?? 0);
    const closed =
      after.kind === "never" || (countOf(schema.maxItems) ?? Number.POSITIVE_INFINITY) <= elements.length;
    if (elements.length - minItems > MAX_OPTIONAL_ELEMENTS) {
      return { kind: "array", items: unite(closed ? elements : [...elements, after]) };
    }
    const tuple = { kind: "tuple" as const, items: elements, minItems };
    return closed ? tuple : { ...tuple, rest: after };
  }
}

const OBJECT_KEYWORDS = ["properties", "required", "additionalProperties", "patternProperties"];
const ARRAY_KEYWORDS = ["items", "prefixItems"];

/** What is shorter written out than named. */
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

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? Math.floor(value) : undefined;
}

/** The type of exactly this JSON value. */
function literalType(value: unknown, depth: number): TypeNode {
  if (value === null) return { kind: "null" };
  if (typeof value === "string" || typeof value === "boolean") return { kind: "literal", value };
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
