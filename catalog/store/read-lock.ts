import { join } from "node:path";
import type * as z from "zod";
import { ForeignJsonError, parseForeignJson } from "../../base/json/parse-json.ts";
import { CatalogError } from "../catalog-error.ts";
import { MAX_CATALOG_VALUES } from "./catalog.ts";
import { Lockfile } from "./lockfile.ts";
import { MAX_OWN_FILE_BYTES, readOwnFile } from "./own-file.ts";
import { shownName } from "./shown-name.ts";

export const LOCK = "ptc.lock.json";

/** Definitions nest 256 levels at most, and stand a few levels deep themselves. */
const MAX_DEPTH = 300;

/** The lock of a folder; `undefined` when there is none. @throws CatalogError */
export async function readLock(dir: string): Promise<Lockfile | undefined> {
  const text = await readOwnFile(dir, LOCK);
  return text && parseFile(join(dir, LOCK), text, Lockfile);
}

/** Parses one of the two files. @throws CatalogError */
export function parseFile<T>(path: string, text: Uint8Array, schema: z.ZodType<T>): T {
  const broken = (why: string, cause: unknown): CatalogError =>
    new CatalogError("broken", `${path} ${why}`, { remedy: "run `ptc generate`", cause });
  let value: unknown;
  try {
    value = parseForeignJson(text, {
      maxBytes: MAX_OWN_FILE_BYTES,
      maxDepth: MAX_DEPTH,
      maxValues: MAX_CATALOG_VALUES,
    });
  } catch (cause) {
    if (!(cause instanceof ForeignJsonError)) throw cause;
    // A parser's message quotes the text, so it is not shown.
    throw broken(cause.code === "not_json" ? "is not JSON" : shownName(cause.message), cause);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.join(".") ?? "";
  throw broken(`is not what ptc writes${where === "" ? "" : ` (at '${shownName(where)}')`}`, parsed.error);
}
