import { randomBytes } from "node:crypto";
import { linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";
import { SEALING_KEY_BYTES, SealingError } from "../../secrets/sealing.ts";
import type { EnvironmentVariables } from "../environment-variables.ts";

const OTHERS = 0o077;

/**
 * The key with which this user's ptc seals what waits for approvals. It is kept apart from what it seals, in the user's own
 * state folder, and made with the first thing to be sealed.
 *
 * @throws SealingError in one line, when there can be none.
 */
export function readHostKey(env: EnvironmentVariables): Buffer {
  const folder = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
  const path = join(folder, "ptc/approvals.key");
  try {
    return readKey(path) ?? makeKey(path);
  } catch (error) {
    if (error instanceof SealingError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new SealingError(`the key for approvals, ${path}, cannot be had (${code ?? "unknown"})`);
  }
}

function readKey(path: string): Buffer | undefined {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return undefined;
  const isOwn = process.getuid === undefined || status.uid === process.getuid();
  if (!status.isFile() || !isOwn || (process.platform !== "win32" && (status.mode & OTHERS) !== 0))
    throw new SealingError(`the key for approvals, ${path}, is not a private file of yours; remove it`);
  const key = readFileSync(path);
  if (key.length === SEALING_KEY_BYTES) return key;
  throw new SealingError(`the key for approvals, ${path}, is not what ptc has written; remove it`);
}

/** Of several processes that make one at a time, the first wins. */
function makeKey(path: string): Buffer {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { mode, uid } = lstatSync(folder);
  const unsafe = whyFolderIsUnsafe(folder, { isLink: false, mode, uid }, process.getuid?.());
  if (unsafe !== undefined) throw new SealingError(`${folder} ${unsafe.what}; ${unsafe.advice}`);
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(draft, randomBytes(SEALING_KEY_BYTES), { mode: 0o600, flag: "wx", flush: true });
    try {
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  } finally {
    rmSync(draft, { force: true });
  }
  const key = readKey(path);
  if (key === undefined) throw new SealingError(`the key for approvals, ${path}, has gone again`);
  return key;
}
