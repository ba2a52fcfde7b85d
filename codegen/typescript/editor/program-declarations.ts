import { EXTRACT_DECLARATIONS } from "../print-extract.ts";
import { RUNTIME_DECLARATIONS } from "../print-runtime.ts";
import { NODE_DECLARATIONS } from "./node-declarations.ts";

/** What every program finds around it, as the type check declares it and as editors see it. */
export const PROGRAM_DECLARATIONS = {
  runtime: RUNTIME_DECLARATIONS,
  node: NODE_DECLARATIONS,
  extract: EXTRACT_DECLARATIONS,
};
