import type { Documentation, TypeNode } from "./type-model.ts";

/** Gives the parts of the normaliser the types of the schemas within theirs. */
export interface SchemaWalk {
  typeOf: (schema: unknown) => TypeNode;
  documentationOf: (schema: unknown, type: TypeNode) => Documentation;
}
