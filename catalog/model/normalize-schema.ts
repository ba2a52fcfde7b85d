import { isObject } from "../../base/json/is-object.ts";
import { arrayType } from "./array-type.ts";
import { intersect, unite } from "./combine-types.ts";
import { conditionalTypes } from "./conditional-type.ts";
import { readDocumentation } from "./documentation.ts";
import {
  MAX_DESCRIPTION_CHARS,
  MAX_REFERENCE_LEVELS,
  MAX_SCHEMA_NODES,
  MAX_TOOL_DESCRIPTION_CHARS,
  MAX_TYPE_DEPTH,
} from "./limits.ts";
import { narrowToValues } from "./literal-type.ts";
import { objectType } from "./object-type.ts";
import { type JsonObject, member, SchemaReferences } from "./schema-references.ts";
import type { SchemaWalk } from "./schema-walk.ts";
import {
  ANY,
  type Definition,
  type Documentation,
  NEVER,
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
    };
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

/** Whether a type is shorter written out than named. */
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
