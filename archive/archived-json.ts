import type * as z from "zod/mini";
import { parseForeignJson } from "../base/json.ts";

/** The deepest nesting of archived values. Results come from servers, and readers recurse. */
const MAX_JSON_DEPTH = 1_000;

/** The most values in one archived text. The outcome of a call contains a server's answer up to three times. */
const MAX_JSON_VALUES = 4_000_000;

/**
 * Parses JSON text of unknown origin.
 *
 * @throws ForeignJsonError for what is no JSON, nests too deep, or holds too much or what cannot be written again.
 */
export function parseArchived(json: string): unknown {
  return parseForeignJson(json, {
    maxBytes: json.length,
    maxDepth: MAX_JSON_DEPTH,
    maxValues: MAX_JSON_VALUES,
  });
}

/**
 * Parses JSON text of unknown origin by schema. `undefined` when it is not what the schema says, nests too deep, or holds
 * what cannot be written again.
 */
export function parseJson<T>(schema: z.ZodMiniType<T>, json: string): T | undefined {
  let value: unknown;
  try {
    value = parseArchived(json);
  } catch {
    return undefined;
  }
  return schema.safeParse(value).data;
}
