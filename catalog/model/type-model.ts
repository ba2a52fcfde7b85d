/**
 * What is known about the type of a value, in no language's terms: the smallest set of forms that the JSON Schemas of
 * tools are reduced to, and that every printer can print.
 */
export type TypeNode =
  | { kind: "any" }
  | { kind: "never" }
  | { kind: "string" | "boolean" | "null" }
  /** `integer` where fractions are refused; not every language tells the two apart. */
  | { kind: "number"; integer?: true }
  | { kind: "literal"; value: string | number | boolean }
  | { kind: "array"; items: TypeNode }
  /** `minItems` is at most the number of `items`; `rest` is what may follow them, if anything may. */
  | { kind: "tuple"; items: TypeNode[]; minItems: number; rest?: TypeNode }
  /** `rest` is what properties without a declaration hold, where the schema says so. */
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

/** What a schema says about a value beyond its type. Text of the server, unescaped. */
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
