/**
 * Pyodide, Python compiled to WebAssembly, which people install beside ptc. Loading it takes seconds of processor time, so a snapshot
 * is made of its memory once per user, when the runner in it is ready and no program has come near it, and each program starts from that.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseForeignJson } from "../../base/json.ts";

/** The version whose inside the runner knows. */
export const PYODIDE_VERSION = "314.0.7";

const LIMITS = { maxBytes: 64 * 1024, maxDepth: 8 };
const PRIVATE = 0o700;
const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
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
  return resolve(XDG_CACHE_HOME || join(HOME || homedir(), ".cache"), "ptc/pyodide");
}

/** How the process that makes a snapshot is started. It writes the snapshot to its stdout. */
interface SnapshotCommand {
  args: readonly string[];
  env: NodeJS.ProcessEnv;
}

/**
 * The snapshots of one user. A snapshot's name contains its length, so a partial file is never used. Each program looks for the file
 * again, because others may have removed it.
 */
export class PyodideSnapshots {
  readonly #folder: string;
  readonly #onMaker: (maker: ChildProcess) => void;
  /** Those that are being made. */
  readonly #making = new Map<string, Promise<string | undefined>>();
  readonly #makers = new Set<ChildProcess>();

  /**
   * @param folder where they are kept; by default in the user's cache.
   * @param onMaker called with each process that makes a snapshot.
   */
  constructor(folder = pyodideFolder(process.env), onMaker: (maker: ChildProcess) => void = () => {}) {
    this.#folder = folder;
    this.#onMaker = onMaker;
  }

  /**
   * The file of a snapshot, which is made if it is not there.
   *
   * @param parts everything that the memory depends on.
   * @returns `undefined` where none can be made or kept. Programs then start without one.
   */
  async file(parts: readonly string[], command: SnapshotCommand): Promise<string | undefined> {
    const key = createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
    try {
      if (!prepareFolder(this.#folder)) return undefined;
      return this.#find(key) ?? (await this.#makeOnce(key, command));
    } catch {
      return undefined;
    }
  }

  /** Takes away one that cannot be loaded. */
  remove(file: string): void {
    rmSync(file, { force: true });
  }

  /** Ends the processes that make snapshots. Who waits for one gets none. */
  close(): void {
    for (const maker of this.#makers) maker.kill("SIGKILL");
  }

  #find(key: string): string | undefined {
    for (const name of readdirSync(this.#folder)) {
      const [, bytes] = name.startsWith(`${key}-`) ? (/-(\d+)\.bin$/.exec(name) ?? []) : [];
      if (bytes === undefined) continue;
      const file = join(this.#folder, name);
      if (isOwnFile(file, Number(bytes))) {
        // Tells this one, which is in use, from old ones.
        const now = new Date();
        utimesSync(file, now, now);
        return file;
      }
      rmSync(file, { force: true, recursive: true });
    }
    return undefined;
  }

  #makeOnce(key: string, command: SnapshotCommand): Promise<string | undefined> {
    const known = this.#making.get(key);
    if (known !== undefined) return known;
    const made = this.#make(key, command).finally(() => this.#making.delete(key));
    this.#making.set(key, made);
    return made;
  }

  async #make(key: string, command: SnapshotCommand): Promise<string | undefined> {
    const memory = await this.#run(command);
    if (memory === undefined) return undefined;
    const file = join(this.#folder, `${key}-${memory.length}.bin`);
    const unfinished = join(this.#folder, `${randomUUID()}.part`);
    try {
      writeFileSync(unfinished, memory, { mode: 0o600, flush: true });
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
      const found = lstatSync(file, { throwIfNoEntry: false });
      if (file !== newest && found !== undefined && Date.now() - found.mtimeMs > KEPT_MS)
        rmSync(file, { force: true });
    }
  }

  #run({ args, env }: SnapshotCommand): Promise<Buffer | undefined> {
    const maker = spawn(process.execPath, [...args], {
      env,
      // It looks for a channel, as every runner does, and gets nothing from it.
      stdio: ["ignore", "pipe", "ignore", "pipe"],
      windowsHide: true,
      timeout: MAX_MAKING_MS,
      killSignal: "SIGKILL",
    });
    this.#makers.add(maker);
    this.#onMaker(maker);
    const pieces: Buffer[] = [];
    let bytes = 0;
    maker.stdout?.on("data", (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > MAX_SNAPSHOT_BYTES) maker.kill("SIGKILL");
      else pieces.push(piece);
    });
    return new Promise((resolve) => {
      const end = (memory?: Buffer) => {
        this.#makers.delete(maker);
        resolve(memory);
      };
      maker.once("error", () => end());
      maker.once("close", (code) => end(code === 0 && bytes > 0 ? Buffer.concat(pieces) : undefined));
    });
  }
}

/**
 * Makes a folder that only this user can write to, or makes it so. If others could write to it, its files are removed.
 * Windows keeps a user's cache from others itself.
 *
 * @returns whether it can be used.
 */
function prepareFolder(folder: string): boolean {
  mkdirSync(folder, { recursive: true, mode: PRIVATE });
  if (process.platform === "win32") return true;
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.()) return false;
  if ((found.mode & OTHERS) !== 0) chmodSync(folder, PRIVATE);
  if ((found.mode & OTHERS_WRITE) !== 0)
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  return true;
}

/** Whether this is a file of this user that nobody else writes, of this length. */
function isOwnFile(path: string, bytes: number): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile() || found.size !== bytes) return false;
  if (process.platform === "win32") return true;
  return found.uid === process.getuid?.() && (found.mode & OTHERS_WRITE) === 0;
}
