/**
 * Takes what a program writes to its standard output past the console. Descriptor 1 is the runner's, for the claim, so what
 * Node.js would write there becomes console text: writes of `fs` to the descriptor or to a path that leads to it, and the output of
 * child processes that inherit it. This is for programs that mean well; the host judges what comes out of the sandbox all the same.
 */

import childProcess from "node:child_process";
import fs from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { replaceFunction } from "./environment/replace-function.ts";

const STDOUT = 1;
/** The paths that lead to descriptor 1. */
const PATHS: ReadonlySet<string> = new Set(["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]);
const ALL = Number.POSITIVE_INFINITY;

type Anything = (...args: unknown[]) => unknown;
type Callback = (error: Error | null, ...values: unknown[]) => void;

const { nextTick } = process;
const { from: bufferFrom, concat } = Buffer;

/** From now on `take` gets what is written to descriptor 1 in this thread, except by the runner's own `writeAll`. */
export function captureStandardOutput(take: (bytes: Uint8Array) => void): void {
  captureWrites(take);
  captureFiles(take);
  captureChildren(take);
  syncBuiltinESMExports();
}

/** The functions that take a descriptor. */
function captureWrites(take: (bytes: Uint8Array) => void): void {
  const writeSync = (_fd: unknown, data: unknown, ...place: unknown[]) => {
    const bytes = bytesOf(data, place);
    take(bytes);
    return bytes.length;
  };
  const writevSync = (_fd: unknown, parts: unknown) => {
    const bytes = concat(parts as Uint8Array[]);
    take(bytes);
    return bytes.length;
  };
  replaceFor(fs, "writeSync", isStdout, writeSync);
  replaceFor(fs, "writevSync", isStdout, writevSync);
  for (const [name, write] of [
    ["write", writeSync],
    ["writev", writevSync],
  ] as const) {
    replaceFor(fs, name, isStdout, (fd, data, ...rest) => {
      const done = rest.pop() as Callback;
      const written = write(fd, data, ...rest);
      nextTick(done, null, written, data);
    });
  }
  for (const name of ["closeSync", "fsyncSync", "fdatasyncSync"]) replaceFor(fs, name, isStdout, () => {});
  for (const name of ["close", "fsync", "fdatasync"])
    replaceFor(fs, name, isStdout, (_fd, done: unknown) => {
      if (typeof done === "function") nextTick(done as Callback, null);
    });
}

/** The functions that take a path. */
function captureFiles(take: (bytes: Uint8Array) => void): void {
  const isTaken = (file: unknown) => isStdout(file) || isPath(file);
  const save = (_file: unknown, data: unknown, options: unknown) =>
    take(bytesOf(data, [undefined, encodingIn(options)]));
  for (const name of ["writeFile", "appendFile"]) {
    replaceFor(fs, `${name}Sync`, isTaken, save);
    replaceFor(fs.promises, name, isTaken, async (_file, data, options) => {
      if (typeof data === "string" || ArrayBuffer.isView(data)) return save(_file, data, options);
      for await (const part of data as AsyncIterable<unknown>) save(_file, part, options);
    });
    replaceFor(fs, name, isTaken, (file, data, ...rest) => {
      const done = rest.pop() as Callback;
      save(file, data, rest[0]);
      nextTick(done, null);
    });
  }
  const open = fs.promises.open;
  replaceFor(fs.promises, "open", isPath, async () => captureHandle(await open("/dev/null", "w"), take));
  replaceFor(fs, "openSync", isPath, () => STDOUT);
  replaceFor(fs, "open", isPath, (_path, ...rest) => {
    nextTick(rest.pop() as Callback, null, STDOUT);
  });
}

/** Makes what is written to an opened file the program's output. */
function captureHandle(handle: FileHandle, take: (bytes: Uint8Array) => void): FileHandle {
  const write = async (data: unknown, ...place: unknown[]) => {
    const bytes = bytesOf(data, place);
    take(bytes);
    return { bytesWritten: bytes.length, buffer: data };
  };
  const writev = async (buffers: Uint8Array[]) => {
    const bytes = concat(buffers);
    take(bytes);
    return { bytesWritten: bytes.length, buffers };
  };
  const writeFile = async (data: unknown, options: unknown) => {
    const isWhole = typeof data === "string" || ArrayBuffer.isView(data);
    for await (const part of isWhole ? [data] : (data as AsyncIterable<unknown>))
      take(bytesOf(part, [undefined, encodingIn(options)]));
  };
  return Object.assign(handle, { write, writev, writeFile, appendFile: writeFile }) as FileHandle;
}

/** A child process that would inherit descriptor 1 gets a pipe instead. */
function captureChildren(take: (bytes: Uint8Array) => void): void {
  const { prototype } = childProcess.ChildProcess;
  const spawn = Reflect.get(prototype, "spawn") as Anything;
  replaceFunction(prototype, "spawn", function (this: Child, options: Options) {
    const { stdio, piped } = withoutStdout(options.stdio);
    if (piped.length === 0) return spawn.call(this, options);
    const outcome = spawn.call(this, { ...options, stdio });
    for (const index of piped) {
      const stream = this.stdio?.[index];
      stream?.on("data", take);
      if (options.detached === true) stream?.unref?.();
      if (this.stdio !== undefined) this.stdio[index] = null;
      if (index === STDOUT) this.stdout = null;
      else if (index === STDOUT + 1) this.stderr = null;
    }
    return outcome;
  } as (...args: never[]) => unknown);
  for (const name of ["spawnSync", "execFileSync", "execSync"]) {
    const original = Reflect.get(childProcess, name) as Anything;
    replaceFunction(childProcess, name, (...args: unknown[]) => {
      const at = args.findIndex((each, index) => index > 0 && isOptions(each));
      const options = args[at] as Options | undefined;
      const { stdio, piped } = withoutStdout(options?.stdio);
      // A pipe for anything but the output would be empty or lost.
      if (!piped.includes(STDOUT)) return original(...args);
      // Node.js reads a text for the process in the encoding of its output.
      const { input, encoding } = options ?? {};
      const sent = typeof input === "string" ? bufferFrom(input, textEncodingOf(encoding)) : input;
      args[at] = { ...options, input: sent, stdio, maxBuffer: ALL, encoding: "buffer" };
      return takeSynchronous(() => original(...args), name === "spawnSync", take);
    });
  }
}

function textEncodingOf(encoding: unknown): BufferEncoding {
  return typeof encoding === "string" && Buffer.isEncoding(encoding) ? encoding : "utf8";
}

interface Options {
  input?: unknown;
  encoding?: unknown;
  stdio?: unknown;
  detached?: boolean;
}

interface Child {
  stdio?: ({ on(name: "data", take: (bytes: Uint8Array) => void): void; unref?(): void } | null)[];
  stdout: unknown;
  stderr: unknown;
}

/** Runs a process to its end, and takes what it wrote, as if it had inherited the descriptor. */
function takeSynchronous(run: () => unknown, isSpawn: boolean, take: (bytes: Uint8Array) => void): unknown {
  const empty = (ended: unknown) => {
    const { stdout, output } = ended as { stdout?: unknown; output?: unknown[] | null };
    if (stdout instanceof Uint8Array) take(stdout);
    Reflect.set(ended as object, "stdout", null);
    if (Array.isArray(output)) output[STDOUT] = null;
  };
  try {
    const ended = run();
    if (isSpawn) empty(ended);
    else if (ended instanceof Uint8Array) take(ended);
    return isSpawn ? ended : null;
  } catch (error) {
    if (typeof error === "object" && error !== null && "stdout" in error) empty(error);
    throw error;
  }
}

/** How a child's streams are set up, with pipes for those that would be descriptor 1, and the places of these. */
function withoutStdout(given: unknown): { stdio: unknown; piped: number[] } {
  const stdio = Array.isArray(given) ? [...(given as unknown[])] : [given, given, given];
  const piped: number[] = [];
  stdio.forEach((each, index) => {
    const isInherited = each === "inherit" && index === STDOUT;
    const fd: unknown = typeof each === "object" && each !== null ? Reflect.get(each, "fd") : each;
    if (index === 0 || (!isInherited && fd !== STDOUT)) return;
    stdio[index] = "pipe";
    piped.push(index);
  });
  return { stdio, piped };
}

function isOptions(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isStdout(fd: unknown): boolean {
  return fd === STDOUT;
}

function isPath(path: unknown): boolean {
  if (path instanceof URL) return path.protocol === "file:" && PATHS.has(path.pathname);
  return typeof path === "string" ? PATHS.has(path) : path instanceof Uint8Array && PATHS.has(String(path));
}

/** The bytes that `fs.write` writes of a text (position, encoding) or of bytes (offset, length or an object of these). */
function bytesOf(data: unknown, [first, second]: unknown[]): Buffer {
  if (typeof data === "string")
    return bufferFrom(data, typeof second === "string" ? (second as BufferEncoding) : "utf8");
  const { buffer, byteOffset, byteLength } = data as Uint8Array;
  const options = isOptions(first) ? (first as { offset?: number; length?: number }) : undefined;
  const offset = options?.offset ?? (typeof first === "number" ? first : 0);
  const length = options?.length ?? (typeof second === "number" ? second : byteLength - offset);
  // A copy, because the program may reuse its memory.
  return bufferFrom(new Uint8Array(buffer as ArrayBuffer, byteOffset + offset, length));
}

function encodingIn(options: unknown): unknown {
  return isOptions(options) ? (options as { encoding?: unknown }).encoding : options;
}

/** Replaces a function where its first argument says so. */
function replaceFor(
  target: object,
  name: string,
  isFor: (first: unknown) => boolean,
  replacement: Anything,
): void {
  const original = Reflect.get(target, name) as Anything;
  const replaced = function (this: unknown, ...args: unknown[]) {
    return isFor(args[0]) ? replacement(...args) : original.apply(this, args);
  };
  // Among them is what `util.promisify` goes by.
  for (const symbol of Object.getOwnPropertySymbols(original)) {
    const descriptor = Object.getOwnPropertyDescriptor(original, symbol);
    if (descriptor !== undefined) Object.defineProperty(replaced, symbol, descriptor);
  }
  replaceFunction(target, name, replaced as (...args: never[]) => unknown);
}
