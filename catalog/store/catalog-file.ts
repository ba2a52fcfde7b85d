import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { textDigest } from "../../base/text-digest.ts";
import { CatalogError } from "../catalog-error.ts";
import { LEARNED_FILE, parseLearned } from "../learned/learned-types.ts";
import { Catalog } from "./catalog.ts";
import { readOwnFile } from "./own-file.ts";
import { LOCK, parseFile, readLock } from "./read-lock.ts";
import type { StoredCatalog } from "./stored-catalog.ts";
import { type CatalogEdit, renderEdits, verifyCatalog } from "./verify-catalog.ts";
import { finishCommit } from "./write-generated.ts";

/** What is in a folder, when any of it may have been edited. */
export interface FoundCatalog extends StoredCatalog {
  /** The entries that do not hold. `catalog` is without them. */
  edits: readonly CatalogEdit[];
  /** The catalog as it was found, edited entries included: nothing in it may be trusted. */
  unverified: Catalog;
}

/**
 * Reads what `ptc generate` left in a folder; `undefined` when it left nothing there. A write that was interrupted after
 * it was decided is finished first.
 *
 * @throws CatalogError when a file is there and cannot be used, or an entry is not what was written, with one line that
 * says what to do.
 */
export async function readCatalog(dir: string): Promise<StoredCatalog | undefined> {
  const found = await findCatalog(dir);
  if (found === undefined) return undefined;
  const { catalog, lock, learned, edits } = found;
  if (edits.length > 0) throw new CatalogError("edited", renderEdits(dir, edits));
  return { catalog, lock, learned };
}

/** Reads like `readCatalog`, but leaves edited entries out and returns them as `edits`. @throws CatalogError */
export async function findCatalog(dir: string): Promise<FoundCatalog | undefined> {
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt === ATTEMPTS;
    const found = await readBoth(dir).catch((error: unknown) => {
      if (isLast || !isMendable(error)) throw error;
      return "broken" as const;
    });
    if (found !== "broken" && (isLast || found === undefined || found.edits.length === 0)) return found;
    await delay(PAUSE_MS);
  }
}

/** Reading is tried again because another process may be writing: for a moment one file is older than the other. */
const ATTEMPTS = 3;
const PAUSE_MS = 50;

async function readBoth(dir: string): Promise<FoundCatalog | undefined> {
  await finishCommit(dir);
  const text = await readOwnFile(dir, CATALOG);
  const unverified = text && parseFile(join(dir, CATALOG), text, Catalog);
  const lock = await readLock(dir);
  if (text === undefined && lock === undefined) return undefined;
  if (text === undefined || unverified === undefined || lock === undefined) {
    const missing = join(dir, text === undefined ? CATALOG : LOCK);
    throw new CatalogError("broken", `${missing} is missing`, { remedy: "run `ptc generate`" });
  }
  const learned = await readOwnFile(dir, LEARNED_FILE).catch(() => undefined);
  const digest = lock.files?.get(CATALOG);
  const isAsWritten = digest === undefined ? undefined : digest === textDigest(text);
  return {
    lock,
    unverified,
    learned: learned && parseLearned(learned),
    ...verifyCatalog({ catalog: unverified, lock, isAsWritten }),
  };
}

/**
 * Reads like `findCatalog`, for whoever writes everything anew: returns as much as holds, and what could not be read.
 *
 * @throws CatalogError for what could not be written either.
 */
export async function salvageCatalog(
  dir: string,
): Promise<{ found?: FoundCatalog | undefined; unreadable?: CatalogError }> {
  try {
    return { found: await findCatalog(dir) };
  } catch (error) {
    if (!isMendable(error)) throw error;
    const lock = await readLock(dir).catch((cause: unknown) => {
      if (!isMendable(cause)) throw cause;
      return undefined;
    });
    if (lock === undefined) return { unreadable: error };
    const nothing: Catalog = { version: 1, servers: [] };
    return { found: { lock, catalog: nothing, unverified: nothing, edits: [] }, unreadable: error };
  }
}

function isMendable(error: unknown): error is CatalogError {
  return error instanceof CatalogError && (error.code === "broken" || error.code === "too-large");
}

const CATALOG = "catalog.json";
