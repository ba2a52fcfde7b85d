import type * as z from "zod/mini";
import { nestingDepth } from "../protocol/frames.ts";

/** Deepest nesting of what is archived: results come from servers, and every reader of them recurses. */
export const MAX_JSON_DEPTH = 1_000;

export function nestsTooDeep(json: Uint8Array): boolean {
  return nestingDepth(json) > MAX_JSON_DEPTH;
}

/** Parses JSON text of unknown origin by schema. `undefined` when it is not what the schema says, or nests too deep. */
export function parseJson<T>(schema: z.ZodMiniType<T>, json: string): T | undefined {
  if (nestsTooDeep(Buffer.from(json, "utf8"))) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  return schema.safeParse(value).data;
}
