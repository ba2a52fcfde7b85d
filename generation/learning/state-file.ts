import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { CatalogError } from "../../catalog/catalog-error.ts";
import {
  isNewerState,
  type LearnedState,
  NOTHING_OBSERVED,
  parseState,
  renderState,
} from "../../catalog/learned/learned-state.ts";
import { LockError, lockFile } from "../../system/lock-file.ts";
import { hideFromGit, PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";

const MAX_BYTES = 64 * 1024 * 1024;
const PATIENCE_MS = 10_000;

/** Where a project's observations are kept, beside `ptc.yaml`: of this machine's user alone, as the archive is. */
export function stateFile(configuration: { readonly directory: string }): string {
  return join(configuration.directory, PRIVATE_FOLDER_NAME, "learned.json");
}

/** Reads the state. One that is missing, or that ptc did not write, is as if nothing had been observed. Never rejects. */
export async function readState(path: string): Promise<LearnedState> {
  return stateIn(await readText(path));
}

function stateIn(text: Uint8Array | undefined): LearnedState {
  return (text && parseState(text)) ?? NOTHING_OBSERVED;
}

async function readText(path: string): Promise<Uint8Array | undefined> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const status = await file.stat();
      return status.isFile() && status.size <= MAX_BYTES ? await file.readFile() : undefined;
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/**
 * Changes the state while no other process does. The file is replaced as a whole. One that a newer
 * ptc has written is left as it is: what is observed then is not kept, and is observed again the next time.
 *
 * @throws CatalogError `write-failed`, also when another process does not let go of it.
 */
export async function changeState(
  path: string,
  change: (state: LearnedState) => Promise<LearnedState>,
): Promise<LearnedState> {
  const folder = dirname(path);
  const made = await mkdir(folder, { recursive: true, mode: 0o700 }).catch(refuse(path));
  hideFromGit(folder, made !== undefined);
  const release = await lock(`${path}.lock`);
  try {
    const text = await readText(path);
    const before = stateIn(text);
    const after = await change(before);
    if (text !== undefined && isNewerState(text)) return after;
    if (after.position !== before.position || after.observed !== before.observed)
      await replace(path, renderState(after));
    return after;
  } finally {
    release();
  }
}

async function lock(path: string): Promise<() => void> {
  try {
    return await lockFile(path, { patienceMs: PATIENCE_MS });
  } catch (cause) {
    if (!(cause instanceof LockError)) return refuse(path)(cause);
    throw new CatalogError(
      "write-failed",
      cause.code === "busy"
        ? `another ptc is learning types and does not let go of ${path}: try again later`
        : cause.message,
    );
  }
}

async function replace(path: string, text: string): Promise<void> {
  const next = join(dirname(path), `.${basename(path)}-${randomBytes(6).toString("hex")}`);
  try {
    const file = await open(next, "wx", 0o600);
    try {
      await file.writeFile(text);
    } finally {
      await file.close();
    }
    await rename(next, path);
  } catch (cause) {
    await rm(next, { force: true });
    refuse(path)(cause);
  }
}

function refuse(path: string): (cause: unknown) => never {
  return (cause) => {
    const { code } = cause as NodeJS.ErrnoException;
    const message = `${path} cannot be written (${code}): check its folder and its disk`;
    throw new CatalogError("write-failed", message, { cause });
  };
}
