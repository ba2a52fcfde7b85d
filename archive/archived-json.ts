import * as z from "zod/mini";
import { ForeignJsonError, parseForeignJson } from "../base/json.ts";
import { ArchiveError } from "./archive-error.ts";

/** The deepest nesting of archived values. Results come from servers, and readers recurse. */
const MAX_JSON_DEPTH = 1_000;

/** The most values in one archived text. The outcome of a call contains a server's answer up to three times. */
const MAX_JSON_VALUES = 4_000_000;

/**
 * Parses JSON text of unknown origin.
 *
 * @throws ForeignJsonError for text that is not JSON, nests too deep, holds too many values, or cannot be written again.
 */
export function parseArchived(json: string): unknown {
  return parseForeignJson(json, {
    maxBytes: json.length,
    maxDepth: MAX_JSON_DEPTH,
    maxValues: MAX_JSON_VALUES,
    maxMembers: MAX_JSON_VALUES,
  });
}

/**
 * Parses JSON text of unknown origin by schema. Returns `undefined` when it does not match the schema, nests too deep, or
 * cannot be written again.
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

/**
 * Returns a schema that also accepts unknown members of objects, which a later version may have added, and keeps or drops
 * them. Everything else stays as strict as in the given schema.
 */
export function openToMore<T>(schema: z.ZodMiniType<T>, more: "keep" | "drop" = "keep"): z.ZodMiniType<T> {
  const { def } = schema._zod as unknown as { def: SchemaDef };
  const inner = (each: z.ZodMiniType) => openToMore(each, more);
  const opened = {
    ...(def.shape === undefined
      ? {}
      : {
          shape: Object.fromEntries(Object.entries(def.shape).map(([name, each]) => [name, inner(each)])),
          catchall: more === "keep" ? z.unknown() : undefined,
        }),
    ...(def.element === undefined ? {} : { element: inner(def.element) }),
    ...(def.innerType === undefined ? {} : { innerType: inner(def.innerType) }),
    ...(def.options === undefined ? {} : { options: def.options.map(inner) }),
  };
  return z.clone(schema, { ...schema._zod.def, ...opened });
}

/** The parts of a schema's definition that hold other schemas: in objects, arrays, optional and nullable values, and unions. */
interface SchemaDef {
  shape?: Readonly<Record<string, z.ZodMiniType>>;
  element?: z.ZodMiniType;
  innerType?: z.ZodMiniType;
  options?: readonly z.ZodMiniType[];
}

/** The largest JSON text under one digest: larger than the largest message of a sandbox. */
export const MAX_BLOB_BYTES = 128 * 1024 * 1024;

/** @throws ArchiveError `unkeepable` for a text of more than `MAX_BLOB_BYTES` bytes of UTF-8. */
export function checkSize(bytes: number): void {
  if (bytes <= MAX_BLOB_BYTES) return;
  const message = `a value of ${bytes} bytes is too large to archive: ${MAX_BLOB_BYTES} is the most`;
  throw new ArchiveError("unkeepable", message);
}

/** @throws ArchiveError `unkeepable` for a text that no reader of an archive would accept. */
export function checkReadable(json: string): void {
  try {
    parseArchived(json);
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    throw new ArchiveError("unkeepable", `a value that ${error.message} cannot be archived`, error);
  }
}
