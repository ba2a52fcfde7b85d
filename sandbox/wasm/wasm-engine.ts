/**
 * Starts programs in an interpreter that is compiled to WebAssembly, in a process of its own for each program. It needs nothing but
 * Node.js, and isolates less than a kernel of its own does (docs/engines.md).
 */

import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { Duplex, Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { MAKE_SNAPSHOT, UNUSABLE_SNAPSHOT } from "../../protocol/runners.ts";
import type { SandboxExit, SandboxOutput } from "../sandbox.ts";
import type {
  EngineDescription,
  SandboxEngine,
  SandboxRequest,
  StartedSandbox,
  StoredImage,
} from "../sandbox-engine.ts";
import { orCancelled, SandboxError } from "../sandbox-error.ts";
import { ProcessKeeper } from "./process-keeper.ts";
import { findPyodide, type Pyodide, PyodideSnapshots } from "./pyodide.ts";
import { WASM_ADVICE, WASM_LACKS } from "./wasm-advice.ts";

/** The name of its only image, which is a part of ptc, and of its only runtime. */
export const WASM_IMAGE = "wasm";

const RUNNER = "runner.mjs";
const PYTHON_RUNNER = "python.mjs";
const MAX_BEGIN_MS = 30_000;
/** Keeps JavaScript that Python reaches through Pyodide from running strings as code. */
const NO_CODE_FROM_TEXTS = "--disallow-code-generation-from-strings";
const MB = 1024 * 1024;
/** Python itself takes 40 MB. */
const MIN_PYTHON_MB = 96;
const CHANNEL = 3;
/** The share of the memory for the interpreter. The process around it needs the rest for what goes through the channel. */
const INTERPRETER_SHARE = 0.75;
const MIN_HEAP_MB = 64;
/** How many turns of the event loop without output show that there is none left in a pipe. */
const QUIET_TURNS = 3;
const SIGNALLED = 128;

export interface WasmOptions {
  /** The folder of the runner's files (scripts/wasm-runner.ts). */
  folder: string;
  /** Finds Pyodide, which programs in Python need, or says in one line what to install; by default from `folder`. */
  findPyodide?: (() => Pyodide | string) | undefined;
  /** Where snapshots of Pyodide are kept; by default in the user's cache. */
  snapshots?: string | undefined;
}

export class WasmEngine implements SandboxEngine {
  readonly name = "wasm";
  readonly platform = "wasm";
  readonly advice = WASM_ADVICE;
  readonly lacks = WASM_LACKS;
  readonly #folder: string;
  readonly #live = new Map<string, { child: ChildProcess; owner: string }>();
  readonly #keeper = new ProcessKeeper();
  /** Aborted for what waits for a snapshot. */
  #closing = new AbortController();
  #digest: string | undefined;

  readonly #findPyodide: () => Pyodide | string;
  readonly #snapshots: PyodideSnapshots;

  constructor({ folder, findPyodide: find = () => findPyodide(folder), snapshots }: WasmOptions) {
    this.#folder = folder;
    this.#findPyodide = find;
    this.#snapshots = new PyodideSnapshots(snapshots, (maker) => this.#keeper.watch(maker));
  }

  async describe(): Promise<EngineDescription> {
    const digest = this.#imageDigest();
    return {
      version: `Node.js ${process.versions.node}`,
      identity: `wasm ${process.versions.node} ${digest ?? "absent"}`,
      profile: createHash("sha256")
        .update(JSON.stringify([permissions("FOLDER"), NO_CODE_FROM_TEXTS]))
        .digest("hex"),
      endpoint: "processes of ptc",
      runtimes: new Map([
        [
          WASM_IMAGE,
          {
            channel: { kind: "direct", why: "each program is a child of ptc" },
            problem:
              digest === undefined
                ? "has no files: build ptc first, with `node scripts/build.ts`"
                : undefined,
          },
        ],
      ]),
    };
  }

  async findImage(reference: string): Promise<StoredImage | undefined> {
    const digest = reference === WASM_IMAGE ? this.#imageDigest() : undefined;
    return digest === undefined ? undefined : { digest };
  }

  async list(): Promise<{ id: string; owner: string }[]> {
    // Those of another ptc end with it (process-keeper.ts).
    return [...this.#live].map(([id, { owner }]) => ({ id, owner }));
  }

  async keepsOutput(): Promise<boolean> {
    return false;
  }

  async remove(id: string): Promise<void> {
    this.#live.get(id)?.child.kill("SIGKILL");
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#closing = new AbortController();
    this.#snapshots.close();
    this.#keeper.close();
  }

  async start(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    const { memoryMb } = request.limits;
    const interpreterMb = Math.floor(memoryMb * INTERPRETER_SHARE);
    const heapMb = Math.max(MIN_HEAP_MB, memoryMb - interpreterMb);
    if (request.runner === "javascript")
      return this.#spawn(this.#javascript(heapMb, interpreterMb), request, output);
    return this.#startPython(heapMb, Math.max(MIN_PYTHON_MB, interpreterMb), request, output);
  }

  async #spawn(
    args: string[],
    { owner, onRequested }: SandboxRequest,
    output: SandboxOutput,
  ): Promise<WasmSandbox> {
    const child = spawn(process.execPath, args, {
      cwd: this.#folder,
      env: cleanEnvironment(),
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      // A signal from the terminal is for ptc, which then ends its programs. Windows ends them with ptc.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    const id = randomUUID();
    this.#live.set(id, { child, owner });
    onRequested?.();
    const started = new WasmSandbox(id, child, output, () => this.#live.delete(id));
    await started.spawned;
    this.#keeper.watch(child);
    return started;
  }

  #javascript(heapMb: number, interpreterMb: number): string[] {
    const memory = String(interpreterMb * MB);
    return [
      ...permissions(this.#folder),
      `--max-old-space-size=${heapMb}`,
      join(this.#folder, RUNNER),
      memory,
    ];
  }

  /** @throws SandboxError `start_failed` if Pyodide is not installed, `cancelled`. */
  async #startPython(
    heapMb: number,
    interpreterMb: number,
    request: SandboxRequest,
    output: SandboxOutput,
  ): Promise<StartedSandbox> {
    const pyodide = this.#findPyodide();
    if (typeof pyodide === "string") throw new SandboxError("start_failed", pyodide);
    const { folder, version } = pyodide;
    const command = (files: readonly string[], ...rest: string[]) => [
      ...permissions(this.#folder, folder, join(folder, "*"), ...files),
      NO_CODE_FROM_TEXTS,
      `--max-old-space-size=${heapMb}`,
      join(this.#folder, PYTHON_RUNNER),
      folder,
      String(interpreterMb * MB),
      version,
      ...rest,
    ];
    const parts = [version, this.#imageDigest() ?? "", process.versions.node];
    const found = this.#snapshots.file(parts, { args: command([], MAKE_SNAPSHOT), env: cleanEnvironment() });
    const { signal = this.#closing.signal } = request;
    const snapshot = await orCancelled(found, AbortSignal.any([signal, this.#closing.signal]));
    if (snapshot === undefined) return this.#spawn(command([]), request, output);
    const started = await this.#spawn(command([snapshot], snapshot), request, output);
    const code = await started.begun(request.signal).catch(async (error: unknown) => {
      await started.kill();
      throw error;
    });
    if (code !== UNUSABLE_SNAPSHOT) return started;
    this.#snapshots.remove(snapshot);
    return this.#spawn(command([]), { ...request, onRequested: undefined }, output);
  }

  /** A digest of the runner and of the interpreter; undefined where they were not built. */
  #imageDigest(): string | undefined {
    this.#digest ??= digestOf(this.#folder);
    return this.#digest;
  }
}

function digestOf(folder: string): string | undefined {
  try {
    const hash = createHash("sha256");
    for (const name of readdirSync(folder).sort())
      hash.update(name).update(
        createHash("sha256")
          .update(readFileSync(join(folder, name)))
          .digest(),
      );
    return `sha256:${hash.digest("hex")}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** What keeps the process of an interpreter from files, other processes, threads, native code, and debuggers. */
function permissions(folder: string, ...others: string[]): string[] {
  const known = process.allowedNodeEnvironmentFlags;
  return [
    "--permission",
    `--allow-fs-read=${folder}`,
    `--allow-fs-read=${join(folder, "*")}`,
    ...others.map((path) => `--allow-fs-read=${path}`),
    "--no-addons",
    "--no-warnings",
    "--disable-proto=delete",
    ...["--disable-sigusr1"].filter((flag) => known.has(flag)),
  ];
}

/** Windows starts no process without its folder. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { SYSTEMROOT } = process.env;
  return { TZ: "UTC", ...(process.platform === "win32" && SYSTEMROOT !== undefined ? { SYSTEMROOT } : {}) };
}

class WasmSandbox implements StartedSandbox {
  readonly id: string;
  readonly connected: Promise<Duplex>;
  readonly exited: Promise<SandboxExit>;
  /** @throws SandboxError `start_failed` */
  readonly spawned: Promise<void>;
  readonly #child: ChildProcess;
  #bytes = 0;

  constructor(id: string, child: ChildProcess, output: SandboxOutput, onEnd: () => void) {
    this.id = id;
    this.#child = child;
    const channel = child.stdio[CHANNEL] as Duplex;
    channel.on("error", () => {});
    this.connected = Promise.resolve(channel);
    this.#pass(child.stdout, (chunk) => output.onStdout(chunk));
    this.#pass(child.stderr, (chunk) => output.onStderr(chunk));
    this.spawned = new Promise((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause) => {
        onEnd();
        reject(new SandboxError("start_failed", `Node.js does not start: ${cause.message}`, { cause }));
      });
    });
    this.exited = new Promise((resolve) => {
      // After its pipes are closed, so all that it wrote has been passed on.
      child.once("close", (code, signal) => {
        onEnd();
        resolve({ code: code ?? SIGNALLED + (signal === null ? 0 : constants.signals[signal]) });
      });
    });
  }

  /** Waits, for at most `MAX_BEGIN_MS`, until the runner writes to its channel. @returns its exit code if it ends first, else `null`. */
  begun(signal: AbortSignal | undefined): Promise<number | null> {
    const channel = this.#child.stdio[CHANNEL] as Duplex;
    const said = Promise.withResolvers<number | null>();
    // The end of the channel is readable too, and the exit code comes after it.
    const look = () => channel.readableLength > 0 && said.resolve(null);
    channel.on("readable", look);
    this.#child.once("exit", said.resolve);
    const late = setTimeout(said.resolve, MAX_BEGIN_MS, null);
    return orCancelled(said.promise, signal).finally(() => {
      clearTimeout(late);
      channel.off("readable", look);
      this.#child.off("exit", said.resolve);
    });
  }

  #pass(stream: Readable | null, pass: (chunk: Buffer) => void): void {
    stream?.on("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      pass(chunk);
    });
  }

  pause(): void {
    this.#signal("SIGSTOP");
  }

  /** The program has no processes but its runner. */
  async clear(): Promise<void> {
    this.#signal("SIGSTOP");
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      const before = this.#bytes;
      await nextTurn();
      if (this.#bytes !== before) quiet = -1;
    }
    // What ended meanwhile is reported by its end.
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) await new Promise(() => {});
  }

  resume(): void {
    this.#signal("SIGCONT");
  }

  leave(): void {
    void this.kill();
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
  }

  async removed(): Promise<void> {
    await this.exited;
  }

  release(): void {
    (this.#child.stdio[CHANNEL] as Duplex).destroy();
  }

  /** Windows has no signals that stop a process: a program goes on there while it waits for a person. */
  #signal(name: "SIGSTOP" | "SIGCONT"): void {
    if (process.platform !== "win32") this.#child.kill(name);
  }
}
