import type { Documentation, TypeNode } from "./type-model.ts";

/** What the parts of the normaliser need of each other: the types of the schemas within the one at hand. */
export interface SchemaWalk {
  typeOf: (schema: unknown) => TypeNode;
  documentationOf: (schema: unknown, type: TypeNode) => Documentation;
}
