/**
 * Reads descriptions away from the thread that serves all: a small one takes a moment, and a large one is read by a process, which is
 * ended when it takes too long. What came of it is kept in memory, and in the project's private folder, under the digest of the text
 * and of the settings.
 */
import { mkdir, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatBytes } from "../../base/quantities.ts";
import { RecentlyUsed } from "../../base/recently-used.ts";
import { LineSplitter } from "../../base/streams.ts";
import { orAborted } from "../../base/waiting.ts";
import { compileCacheVariable } from "../../system/compile-cache.ts";
import { moduleUrl, version } from "../../system/package.ts";
import { writePrivateFile } from "../../system/private-file.ts";
import { hideFromGit } from "../../system/private-folder.ts";
import { signalGroup, spawnGroup } from "../../system/process-group.ts";
import { UpstreamError } from "../upstream-error.ts";
import { type PreparationSettings, type PreparedApi, PreparedReader, prepareApi } from "./prepared-api.ts";

export interface PreparationOptions {
  readonly settings: PreparationSettings;
  /** Says in messages where the text comes from. */
  readonly from: string;
  /** The project's private folder, in which large ones are kept; `undefined` where none is. */
  readonly privateFolder: string | undefined;
  readonly signal: AbortSignal;
  /** Receives one line when it takes long. */
  readonly onSlow: ((message: string) => void) | undefined;
}

/** JSON up to this size is read here, which takes less than starting a process. */
const MAX_SMALL_BYTES = 8 * 1024;
const MAX_MS = 180_000;
const SLOW_MS = 3_000;
/** The heap of the process in MiB: enough for the largest description. */
const MAX_HEAP_MB = 3_072;
const MAX_LINE_BYTES = 8 * 1024 * 1024;
/** What all kept files take together, and how many there are. The oldest go first. */
const MAX_KEPT_BYTES = 256 * 1024 * 1024;
const MAX_KEPT_FILES = 32;
const KEPT_FOLDER = "apis";
const KEPT_NAME = /^[0-9a-f]{64}\.jsonl$/;

/** By key: each principal has a connection. */
const known = new RecentlyUsed<string, PreparedApi>({ maxEntries: 64, maxWeight: 64 * 1024 * 1024 });
/** Those that are being read, so that several connections wait for one process. */
const reading = new Map<string, Promise<PreparedApi>>();

/**
 * What is made of a description.
 *
 * @throws UpstreamError where it cannot be read, or not in time.
 */
export async function prepared(
  bytes: Uint8Array<ArrayBuffer>,
  options: PreparationOptions,
): Promise<PreparedApi> {
  const text = JSON.stringify({ version, ...options.settings });
  const key = await digestOf(bytes, Buffer.from(text));
  const found = known.get(key);
  if (found !== undefined) return found;
  if (bytes.length <= MAX_SMALL_BYTES && /^\s*\{/.test(Buffer.from(bytes.subarray(0, 64)).toString("utf8"))) {
    const reader = new PreparedReader();
    const { from, settings } = options;
    for (const line of prepareApi(Buffer.from(bytes).toString("utf8"), from, settings)) reader.push(line);
    return remember(key, reader.whole(), bytes.length);
  }
  const already = reading.get(key);
  const isUnwanted = () => new UpstreamError("cancelled", `${options.from} is not read: no longer needed`);
  if (options.signal.aborted) throw isUnwanted();
  // Who waits for another's process does not end with it, and is not held by it.
  if (already !== undefined)
    return orAborted(already, options.signal, isUnwanted).catch((error: unknown) => {
      if (error instanceof UpstreamError && error.code === "cancelled" && !options.signal.aborted)
        return prepared(bytes, options);
      throw error;
    });
  const now = prepareLarge(key, bytes, options).finally(() => reading.delete(key));
  reading.set(key, now);
  return remember(key, await now, bytes.length);
}

function remember(key: string, api: PreparedApi, weight: number): PreparedApi {
  known.set(key, api, weight);
  return api;
}

async function prepareLarge(
  key: string,
  bytes: Uint8Array<ArrayBuffer>,
  options: PreparationOptions,
): Promise<PreparedApi> {
  const file = options.privateFolder && join(options.privateFolder, KEPT_FOLDER, `${key}.jsonl`);
  const kept = file === undefined ? undefined : await readKept(file);
  if (kept !== undefined) return kept;
  const reader = new PreparedReader();
  const lines: string[] = [];
  const many = `the OpenAPI description ${options.from} (${formatBytes(bytes.length)})`;
  const slow = setTimeout(
    () =>
      options.onSlow?.(
        `${many} takes a while to read${file === undefined ? "" : "; what comes of it is kept"}`,
      ),
    SLOW_MS,
  );
  slow.unref();
  try {
    for await (const line of linesOf(bytes, options, many)) {
      reader.push(line);
      lines.push(line);
    }
  } finally {
    clearTimeout(slow);
  }
  const api = reader.whole();
  if (file !== undefined) await keep(file, lines);
  return api;
}

/** Starts the process and reads its lines. @throws UpstreamError */
async function* linesOf(
  bytes: Uint8Array,
  { settings, from, signal }: PreparationOptions,
  what: string,
): AsyncGenerator<string> {
  const flags = [`--max-old-space-size=${MAX_HEAP_MB}`, "--no-warnings"];
  const module = fileURLToPath(moduleUrl("upstream/openapi/preparing-process"));
  const child = spawnGroup(process.execPath, [...flags, module], { cwd: "/", env: compileCacheVariable() });
  const end = () => {
    if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
  };
  const late = setTimeout(end, MAX_MS);
  late.unref();
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  let isWhole = false;
  let problem: unknown;
  child.on("error", (error) => {
    problem = error;
  });
  child.stdin.on("error", () => {});
  // stderr contains only what V8 prints when it runs out of memory.
  child.stderr.resume();
  try {
    child.stdin.write(`${JSON.stringify({ ...settings, from })}\n`);
    child.stdin.end(bytes);
    const splitter = new LineSplitter(MAX_LINE_BYTES);
    for await (const chunk of child.stdout)
      for (const line of splitter.push(chunk as Buffer)) {
        if (typeof line !== "string") throw new Error("a line of it is too long");
        if (line === "") isWhole = true;
        else if (line.startsWith('["failed"')) {
          const [, code, message] = JSON.parse(line) as [string, UpstreamError["code"], string];
          throw new UpstreamError(code, message);
        } else yield line;
      }
  } finally {
    clearTimeout(late);
    signal.removeEventListener("abort", end);
    end();
  }
  if (isWhole) return;
  if (signal.aborted) throw new UpstreamError("cancelled", `${what} is not read: no longer needed`);
  throw new UpstreamError(
    "start_failed",
    `${what} cannot be read in ${MAX_MS / 1_000} s, or takes more memory than ${MAX_HEAP_MB} MiB; take what is not needed out of it`,
    { cause: problem },
  );
}

/** Reads what was kept; `undefined` if there is nothing, or it is not what was written. Never throws. */
async function readKept(file: string): Promise<PreparedApi | undefined> {
  try {
    const { size } = await stat(file);
    if (size > MAX_KEPT_BYTES) return undefined;
    const bytes = await readFile(file);
    const at = bytes.indexOf("\n");
    const said = bytes.toString("latin1", 0, at);
    if (at < 0 || said !== (await digestOf(bytes.subarray(at + 1)))) return undefined;
    const reader = new PreparedReader();
    for (let start = at + 1; start < bytes.length; ) {
      const end = bytes.indexOf("\n", start);
      reader.push(bytes.toString("utf8", start, end));
      start = end + 1;
      // Others have their turn between two lines.
      await new Promise((resolve) => setImmediate(resolve));
    }
    // What is used stays longest.
    const now = new Date();
    await utimes(file, now, now).catch(() => {});
    return reader.whole();
  } catch {
    return undefined;
  }
}

/** Keeps lines in a file, whole or not at all, and takes the oldest files away. Never throws: it only saves time. */
async function keep(file: string, lines: readonly string[]): Promise<void> {
  const folder = dirname(file);
  try {
    const isNew = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
    hideFromGit(dirname(folder), isNew);
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
    await writePrivateFile(file, Buffer.concat([Buffer.from(`${await digestOf(bytes)}\n`), bytes]));
    await prune(folder);
  } catch {
    // See above.
  }
}

async function prune(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => KEPT_NAME.test(name));
  const files = await Promise.all(
    names.map(async (name) => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return { path: join(folder, name), size, mtimeMs };
    }),
  );
  let bytes = 0;
  for (const [index, { path, size }] of files.sort((a, b) => b.mtimeMs - a.mtimeMs).entries()) {
    bytes += size;
    if (index >= MAX_KEPT_FILES || bytes > MAX_KEPT_BYTES) await rm(path, { force: true });
  }
}

/** A SHA-256 in hexadecimal, computed beside the thread that serves. */
async function digestOf(bytes: Uint8Array<ArrayBuffer>, ...more: Uint8Array<ArrayBuffer>[]): Promise<string> {
  const first = await crypto.subtle.digest("SHA-256", bytes);
  const rest = Buffer.concat([Buffer.from(first), ...more]);
  const all = more.length === 0 ? first : await crypto.subtle.digest("SHA-256", rest);
  return Buffer.from(all).toString("hex");
}
