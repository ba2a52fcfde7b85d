/**
 * The process of one Python program: Pyodide, with the runner of the other engines in it (python/start.py). Pyodide gives Python what
 * JavaScript has, so the JavaScript around it has nothing: it finds neither Node.js nor a browser, generates no code from texts, loads
 * no module, and has of the globals those of the language alone. What Python needs from outside are four devices below /dev, which move
 * bytes between it and descriptors that are open already.
 */

import { readFileSync, readSync } from "node:fs";
import * as modules from "node:module";
import { Socket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { INTERPRETER_FAILED, MAKE_SNAPSHOT, UNUSABLE_SNAPSHOT } from "../../protocol/runners.ts";
import { writeAll } from "../node/write-all.ts";
import { type EmscriptenModule, shareMemory } from "./shared-memory.ts";
import { withMaximumMemory } from "./wasm-memory.ts";

const CHANNEL = 3;
const STDOUT = 1;
const STDERR = 2;
const RECEIVE_BYTES = 256 * 1024;
/** How long the process looks away from the channel while it waits: ever longer, so that waiting costs little. */
const FIRST_PAUSE_MS = 0.05;
const MAX_PAUSE_MS = 5;
const PAUSE_GROWTH = 1.2;
/** A major device number that neither Emscripten nor Pyodide uses. */
const DEVICES = 200;

/** Globals beyond those of the language that Pyodide needs. */
const KEPT = new Set([
  "WebAssembly",
  "TextDecoder",
  "TextEncoder",
  "URL",
  "queueMicrotask",
  "setTimeout",
  "clearTimeout",
]);

type Bytes = Int8Array | Uint8Array;

/** As Emscripten calls it: a place in the interpreter's memory. */
interface Device {
  read(stream: unknown, buffer: Bytes, offset: number, length: number): number;
  write(stream: unknown, buffer: Bytes, offset: number, length: number): number;
}

interface FileSystem {
  makedev(major: number, minor: number): number;
  registerDevice(dev: number, device: Device): void;
  mkdev(path: string, mode: number, dev: number): void;
  mkdirTree(path: string): void;
  writeFile(path: string, content: string): void;
}

interface Pyodide {
  FS: FileSystem;
  _module: EmscriptenModule;
  makeMemorySnapshot(): Uint8Array;
  runPython(code: string): unknown;
}

/** Reads the channel while the interpreter waits, which holds the only thread. */
class Waiting {
  readonly #pause = new Int32Array(new SharedArrayBuffer(4));
  readonly #buffer = new Uint8Array(RECEIVE_BYTES);
  #received: Uint8Array = new Uint8Array();

  constructor() {
    // Makes reads of the descriptor return at once where nothing has come.
    new Socket({ fd: CHANNEL, readable: true, writable: true, manualStart: true } as object).unref();
  }

  sleep(ms: number): void {
    if (ms > 0) Atomics.wait(this.#pause, 0, 0, ms);
  }

  /** Waits until something has come, but at most for a time, without bound if that is negative. Returns whether it has. */
  receive(timeoutMs: number): boolean {
    const until = timeoutMs < 0 ? Number.POSITIVE_INFINITY : performanceNow() + timeoutMs;
    for (
      let pause = FIRST_PAUSE_MS;
      this.#received.length === 0;
      pause = Math.min(pause * PAUSE_GROWTH, MAX_PAUSE_MS)
    ) {
      const count = readNow(this.#buffer);
      if (count === 0) leave(0);
      if (count !== undefined) this.#received = this.#buffer.subarray(0, count);
      else {
        const left = until - performanceNow();
        if (left <= 0) return false;
        this.sleep(Math.min(pause, left));
      }
    }
    return true;
  }

  /** Waits for bytes, and takes as many as there are and fit. */
  take(most: number): Uint8Array {
    this.receive(-1);
    const taken = this.#received.subarray(0, most);
    this.#received = this.#received.subarray(taken.length);
    return taken;
  }
}

const { performance, process } = globalThis;
const performanceNow = () => performance.now();
const leave = (code: number): never => process.exit(code);

/** `undefined` where nothing has come yet. */
function readNow(buffer: Uint8Array): number | undefined {
  try {
    return readSync(CHANNEL, buffer);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    return 0;
  }
}

function writesTo(fd: number): Device {
  return {
    read: () => 0,
    write(_stream, buffer, offset, length) {
      writeAll(fd, Uint8Array.from(buffer.subarray(offset, offset + length)));
      return length;
    },
  };
}

/** Whether something has been sent to the host, which is first the hello. */
let hasGreeted = false;

function openDevices(): Readonly<Record<string, Device>> {
  const waiting = new Waiting();
  const decoder = new TextDecoder();
  let answer = 0;
  const commands: Readonly<Record<string, (argument: string) => void>> = {
    wait: (ms) => {
      answer = Number(waiting.receive(Number(ms)));
    },
    sleep: (ms) => waiting.sleep(Number(ms)),
    zone: (name) => {
      process.env.TZ = name;
    },
    exit: (code) => leave(Number(code)),
  };
  return {
    channel: {
      write(stream, buffer, offset, length) {
        hasGreeted = true;
        return writesTo(CHANNEL).write(stream, buffer, offset, length);
      },
      read(_stream, buffer, offset, length) {
        const taken = waiting.take(length);
        buffer.set(taken, offset);
        return taken.length;
      },
    },
    control: {
      read(_stream, buffer, offset) {
        buffer[offset] = "0".charCodeAt(0) + answer;
        return 1;
      },
      write(_stream, buffer, offset, length) {
        const text = decoder.decode(Uint8Array.from(buffer.subarray(offset, offset + length)));
        const [name = "", argument = ""] = text.split(" ");
        if (Object.hasOwn(commands, name)) commands[name]?.(argument);
        return length;
      },
    },
    claim: writesTo(STDOUT),
    console: writesTo(STDERR),
  };
}

/** Takes from this realm what is Node.js's. */
function leaveNode(): void {
  const { webcrypto } = process.getBuiltinModule("node:crypto");
  const language = new Set([...languageGlobals(), ...KEPT]);
  for (const name of Object.getOwnPropertyNames(globalThis))
    if (!language.has(name)) Reflect.deleteProperty(globalThis, name);
  const silent = () => {};
  Object.assign(globalThis, {
    console: { log: silent, info: silent, debug: silent, warn: silent, error: silent },
    crypto: { getRandomValues: (view: Uint8Array) => webcrypto.getRandomValues(view) },
    performance: { now: performanceNow },
  });
}

function languageGlobals(): string[] {
  const { runInNewContext } = process.getBuiltinModule("node:vm");
  return runInNewContext("Object.getOwnPropertyNames(globalThis)") as string[];
}

/** Nothing more is loaded from now on, whoever asks. */
function loadNothingMore(): void {
  const { registerHooks } = modules as { registerHooks?: (hooks: object) => void };
  registerHooks?.({
    resolve(specifier: string) {
      throw new Error(`'${specifier}' is not loaded`);
    },
  });
}

/** What a snapshot is made of, and where a program goes on from. */
const PREPARE = `
import sys
sys.path.insert(0, "/opt/ptc")
from start import prepare
_ptc_start = prepare()
`;

/** @param folder the package `pyodide`. @param memoryBytes the most memory of the interpreter, with the program's values. */
async function open(
  folder: string,
  memoryBytes: number,
  snapshot: "make" | Uint8Array | undefined,
): Promise<Pyodide> {
  const devices = openDevices();
  const sources = JSON.parse(readFileSync(join(import.meta.dirname, "python.json"), "utf8")) as object;
  const lock = JSON.parse(readFileSync(join(folder, "pyodide-lock.json"), "utf8")) as object;
  const binary = withMaximumMemory(
    readFileSync(join(folder, "pyodide.asm.wasm")),
    memoryBytes,
    snapshot === "make" ? 0 : snapshot?.length,
  );
  const library = new Uint8Array(readFileSync(join(folder, "python_stdlib.zip")));
  leaveNode();
  // Of the places that Pyodide knows, a worker in a shell has the least: it needs these, while it is loaded.
  const shell = {
    WorkerGlobalScope: class {},
    read: () => "",
    load: () => {},
    readbuffer: (path: string) => (path.endsWith(".wasm") ? binary : library),
  };
  Object.assign(globalThis, shell);
  const load = (name: string) => import(pathToFileURL(join(folder, name)).href);
  const [{ loadPyodide }, { default: createPyodideModule }] = await Promise.all([
    load("pyodide.mjs"),
    load("pyodide.asm.mjs"),
  ]);
  loadNothingMore();
  const pyodide = (await loadPyodide({
    createPyodideModule,
    indexURL: "/",
    packageBaseUrl: "/",
    lockFileContents: { ...lock, packages: {} },
    jsglobals: Object.create(null) as object,
    stdin: () => null,
    stdout: (line: string) => writeAll(STDERR, Buffer.from(`${line}\n`)),
    stderr: (line: string) => writeAll(STDERR, Buffer.from(`${line}\n`)),
    env: { HOME: "/workspace", PYTHONHASHSEED: "0", TZ: "UTC" },
    ...(snapshot === "make" ? { _makeSnapshot: true } : snapshot && { _loadSnapshot: snapshot }),
  })) as Pyodide;
  for (const name of Object.keys(shell)) Reflect.deleteProperty(globalThis, name);
  const { FS } = pyodide;
  for (const [index, [name, device]] of Object.entries(devices).entries()) {
    const dev = FS.makedev(DEVICES, index);
    FS.registerDevice(dev, device);
    FS.mkdev(`/dev/ptc-${name}`, 0o600, dev);
  }
  for (const [path, text] of Object.entries(sources)) {
    const full = `/opt/ptc/${path}`;
    FS.mkdirTree(full.slice(0, full.lastIndexOf("/")));
    FS.writeFile(full, text as string);
  }
  shareMemory(pyodide._module, memoryBytes);
  return pyodide;
}

const { Buffer } = globalThis;
const [folder = "", memoryBytes, version = "", snapshotFile] = process.argv.splice(2);
const isMade = snapshotFile === MAKE_SNAPSHOT;
const loaded = isMade ? undefined : snapshotFile;
try {
  const snapshot = isMade ? "make" : loaded === undefined ? undefined : new Uint8Array(readFileSync(loaded));
  const pyodide = await open(folder, Number(memoryBytes), snapshot);
  if (loaded === undefined) pyodide.runPython(PREPARE);
  if (isMade) {
    writeAll(STDOUT, pyodide.makeMemorySnapshot());
    leave(0);
  }
  const runtime = `; Pyodide ${version.replace(/[^\w.]/g, "")}`;
  pyodide.runPython(`import platform; _ptc_start(f"Python {platform.python_version()}${runtime}")`);
} catch (error) {
  if (loaded !== undefined && !hasGreeted) leave(UNUSABLE_SNAPSHOT);
  // That of Python ends with what was thrown, after its traceback.
  const said = error instanceof Error ? error.message : String(error);
  const [why] = said.trim().split("\n").slice(-1);
  writeAll(STDERR, Buffer.from(`${INTERPRETER_FAILED.says}${why}\n`));
  leave(INTERPRETER_FAILED.code);
}
