/**
 * Pyodide, Python compiled to WebAssembly, which people install beside ptc. Loading it takes seconds of processor time, so a snapshot
 * is made of its memory once per user, when the runner in it is ready and no program has come near it, and each program starts from that.
 */

import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { parseForeignJson } from "../../base/json.ts";

/** The version whose inside the runner knows. */
export const PYODIDE_VERSION = "314.0.7";

const LIMITS = { maxBytes: 64 * 1024, maxDepth: 8 };
const PRIVATE = 0o700;
const OTHERS = 0o077;
const MAX_SNAPSHOT_BYTES = 512 * 1024 * 1024;
const MAX_MAKING_MS = 120_000;
/** Snapshots of other versions are kept for as long as somebody may go back to them. */
const KEPT_MS = 14 * 24 * 60 * 60 * 1000;

export interface Pyodide {
  folder: string;
  version: string;
}

/** Finds the package as a module in a folder would. @returns it, or in one line why there is none that can be used, and what to do. */
export function findPyodide(from: string): Pyodide | string {
  const install = `install it beside ptc: npm install pyodide@${PYODIDE_VERSION} (with --global if ptc is)`;
  try {
    const manifest = createRequire(join(from, "package.json")).resolve("pyodide/package.json");
    const { version } = parseForeignJson(readFileSync(manifest, "utf8"), LIMITS) as { version?: unknown };
    if (version !== PYODIDE_VERSION)
      return `Python with the engine wasm needs version ${PYODIDE_VERSION} of the package pyodide, and ${String(version).slice(0, 40)} is here; ${install}`;
    return { folder: dirname(manifest), version };
  } catch {
    return `Python with the engine wasm needs the package pyodide; ${install}`;
  }
}

/** Where the snapshots of a user are. */
export function pyodideFolder({
  XDG_CACHE_HOME,
  HOME,
}: Readonly<Record<string, string | undefined>>): string {
  return join(XDG_CACHE_HOME || join(HOME || homedir(), ".cache"), "ptc/pyodide");
}

/** How the process that makes a snapshot is started. It writes the snapshot to its stdout. */
export interface SnapshotCommand {
  args: readonly string[];
  env: NodeJS.ProcessEnv;
}

/** The snapshots of one user. */
export class PyodideSnapshots {
  readonly #folder: string;
  readonly #made = new Map<string, Promise<string | undefined>>();

  /** @param folder where they are kept; by default in the user's cache. */
  constructor(folder = pyodideFolder(process.env)) {
    this.#folder = folder;
  }

  /**
   * The file of a snapshot, which is made if it is not there.
   *
   * @param parts everything that the memory depends on.
   * @returns `undefined` where none can be made or kept. Programs then start without one.
   */
  file(parts: readonly string[], command: SnapshotCommand): Promise<string | undefined> {
    const key = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
    const known = this.#made.get(key) ?? this.#find(key, command).catch(() => undefined);
    this.#made.set(key, known);
    return known;
  }

  async #find(key: string, command: SnapshotCommand): Promise<string | undefined> {
    mkdirSync(this.#folder, { recursive: true, mode: PRIVATE });
    if (!isPrivate(this.#folder)) return undefined;
    const file = join(this.#folder, `${key}.bin`);
    if (statSync(file, { throwIfNoEntry: false }) !== undefined) return file;
    const made = await make(command);
    if (made === undefined) return undefined;
    const unfinished = join(this.#folder, `${randomUUID()}.part`);
    try {
      writeFileSync(unfinished, made, { mode: 0o600 });
      renameSync(unfinished, file);
    } finally {
      rmSync(unfinished, { force: true });
    }
    this.#removeOld(file);
    return file;
  }

  #removeOld(newest: string): void {
    for (const name of readdirSync(this.#folder)) {
      const file = join(this.#folder, name);
      const found = statSync(file, { throwIfNoEntry: false });
      if (file !== newest && found !== undefined && Date.now() - found.mtimeMs > KEPT_MS)
        rmSync(file, { force: true });
    }
  }
}

/** Whether nobody but this user can put a file into a folder. Windows keeps a user's cache from others itself. */
function isPrivate(folder: string): boolean {
  if (process.platform === "win32") return true;
  const { uid, mode } = statSync(folder);
  if (uid !== process.getuid?.()) return false;
  if ((mode & OTHERS) !== 0) chmodSync(folder, PRIVATE);
  return true;
}

function make({ args, env }: SnapshotCommand): Promise<Buffer | undefined> {
  const child = spawn(process.execPath, [...args], {
    env,
    // It looks for a channel, as every runner does, and gets nothing from it.
    stdio: ["ignore", "pipe", "ignore", "pipe"],
    windowsHide: true,
    timeout: MAX_MAKING_MS,
    killSignal: "SIGKILL",
  });
  const pieces: Buffer[] = [];
  let bytes = 0;
  child.stdout?.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes > MAX_SNAPSHOT_BYTES) child.kill("SIGKILL");
    else pieces.push(piece);
  });
  return new Promise((resolve) => {
    child.once("error", () => resolve(undefined));
    child.once("close", (code) => resolve(code === 0 && bytes > 0 ? Buffer.concat(pieces) : undefined));
  });
}
