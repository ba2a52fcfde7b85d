/**
 * Snapshots of ready runners: of sandboxes that have started and rehearsed but have had no program yet. Restoring one takes a
 * fraction of a boot.
 *
 *     <snapshots>/<key>/       checkpoint.img, pages.img, pages_meta.img: what runsc wrote
 *     <snapshots>/<key>/snapshot.json  their sizes and digests
 *     <snapshots>/<key>.failed         how often it has failed in a row, and why the last time
 *     <snapshots>/<key>.platform       platforms.ts
 *
 * A snapshot contains memory of a sandbox, so its folder is private. The key is a digest of everything that the memory depends on:
 * image, runner, limits, wall, runsc, kernel and processor. If one of them changes, the key changes, and the earlier snapshot is no
 * longer found. Only the most recently used ones are kept.
 *
 * Everything that must differ between two sandboxes is renewed after a restore (protocol/messages.ts, `WakeRequest`). A new snapshot
 * is restored twice, and the random values that the two draw are compared, before it is used.
 */

import { createHash, randomBytes } from "node:crypto";
import { chmodSync, readFileSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseForeignJson } from "../../base/json.ts";
import { fileIdentity } from "./runsc-command.ts";

const STATE = "checkpoint.img";
const FILES = [STATE, "pages.img", "pages_meta.img"] as const;
const ABOUT = "snapshot.json";
const LIMITS = { maxBytes: 64 * 1024, maxDepth: 4 };
/** The number of snapshots that are kept, the most recently used ones. Each is about 20 MB. */
const MAX_SNAPSHOTS = 8;
/** After this many failures in a row a snapshot with this key is neither restored nor made again for a while. */
const MAX_FAILURES = 3;
/** How long failures count after the last of them: a machine that was busy once is not busy for good. */
const FAILURES_COUNT_MS = 60 * 60 * 1000;
const MAX_REASON_CHARS = 300;

const About = z.strictObject({
  made: z.string(),
  digests: z.record(z.string(), z.string()),
});
const Failures = z.strictObject({ count: z.int(), reason: z.string() });
export type SnapshotFailures = z.infer<typeof Failures>;

/** The key of a snapshot: a digest of everything that it depends on. */
export function snapshotKey(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}

/** The snapshots of one user on this machine. */
export class Snapshots {
  readonly #folder: string;
  /** The state of the files when this process last verified their digests, by key. */
  readonly #verified = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The folder of an existing, private snapshot. A sandbox restored from it must not be used before `verify` confirms it. */
  look(key: string): string | undefined {
    const folder = join(this.#folder, key);
    return stateOf(folder) === undefined || this.failures(key).count >= MAX_FAILURES ? undefined : folder;
  }

  /**
   * Whether the files of a snapshot are those that were written. Their digests are checked for the first time in this process, and
   * whenever the files have changed. A damaged snapshot is removed.
   */
  async verify(key: string): Promise<boolean> {
    const folder = join(this.#folder, key);
    const state = stateOf(folder);
    if (state !== undefined && this.#verified.get(key) === state) return true;
    if (state === undefined || !(await isWhole(folder))) {
      await this.remove(key);
      return false;
    }
    this.#verified.set(key, state);
    await utimes(join(folder, ABOUT), new Date(), new Date()).catch(() => {});
    return true;
  }

  /** The folder of a snapshot that can be restored; undefined if there is none. */
  async find(key: string): Promise<string | undefined> {
    const folder = this.look(key);
    return folder !== undefined && (await this.verify(key)) ? folder : undefined;
  }

  /** Whether one may be made: it does not exist, and has not failed too often. */
  mayMake(key: string): boolean {
    return stateOf(join(this.#folder, key)) === undefined && this.failures(key).count < MAX_FAILURES;
  }

  /**
   * Makes a snapshot atomically. Rejects if `write` or `check` does.
   *
   * @param write makes runsc write its files into a folder.
   * @param check tries the snapshot, and rejects if two restored sandboxes draw the same.
   */
  async make(
    key: string,
    write: (folder: string) => Promise<void>,
    check: (folder: string) => Promise<void>,
  ): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    chmodSync(this.#folder, 0o700);
    const unfinished = join(this.#folder, `.${randomBytes(6).toString("hex")}`);
    try {
      await mkdir(unfinished, { mode: 0o700 });
      await write(unfinished);
      const state = join(unfinished, STATE);
      const joined = joinChunks(await readFile(state));
      if (joined !== undefined) await writeFile(state, joined);
      for (const name of FILES) chmodSync(join(unfinished, name), 0o600);
      await check(unfinished);
      const digests = Object.fromEntries(
        await Promise.all(
          FILES.map(async (name): Promise<[string, string]> => [name, await digest(join(unfinished, name))]),
        ),
      );
      const about: z.infer<typeof About> = { made: new Date().toISOString(), digests };
      await writeFile(join(unfinished, ABOUT), JSON.stringify(about), { mode: 0o600 });
      await rm(join(this.#folder, key), { recursive: true, force: true });
      await rename(unfinished, join(this.#folder, key));
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
    await this.#keepFew();
  }

  async remove(key: string): Promise<void> {
    this.#verified.delete(key);
    await rm(join(this.#folder, key), { recursive: true, force: true });
  }

  /** Counts a failed restore, and removes the snapshot, so that a new one is made. */
  async fail(key: string, reason: string): Promise<void> {
    const failures: SnapshotFailures = {
      count: this.failures(key).count + 1,
      reason: reason.slice(0, MAX_REASON_CHARS),
    };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(join(this.#folder, `${key}.failed`), JSON.stringify(failures), { mode: 0o600 });
    await this.remove(key);
  }

  /** Forgets the failures of a snapshot that has been restored. */
  async succeed(key: string): Promise<void> {
    if (this.failures(key).count > 0) await rm(join(this.#folder, `${key}.failed`), { force: true });
  }

  /** The failures in a row. Those of more than an hour ago are forgotten. */
  failures(key: string): SnapshotFailures {
    try {
      const file = join(this.#folder, `${key}.failed`);
      if (Date.now() - statSync(file).mtimeMs > FAILURES_COUNT_MS) return { count: 0, reason: "" };
      return Failures.parse(parseForeignJson(readFileSync(file), LIMITS));
    } catch {
      return { count: 0, reason: "" };
    }
  }

  /** Removes the least recently used ones, and unfinished ones of killed processes. */
  async #keepFew(): Promise<void> {
    const names = await readdir(this.#folder);
    const dated = await Promise.all(
      names.map(async (name) => {
        const path = join(this.#folder, name);
        const used = await stat(join(path, ABOUT)).catch(() => stat(path).catch(() => undefined));
        return { path, name, usedMs: used?.mtimeMs ?? 0 };
      }),
    );
    const newestFirst = dated.sort((a, b) => b.usedMs - a.usedMs);
    const kept = newestFirst.filter(({ name }) => /^[0-9a-f]{32}$/.test(name));
    const dayAgo = Date.now() - 24 * 60 * 60 * 1000;
    const abandoned = newestFirst.filter(
      ({ name, usedMs }) =>
        !kept.some((each) => each.name === name) && !name.endsWith(".platform") && usedMs < dayAgo,
    );
    for (const { path } of [...kept.slice(MAX_SNAPSHOTS), ...abandoned])
      await rm(path, { recursive: true, force: true });
  }
}

const STATE_MAGIC = Buffer.from("gVisorSF");
/** Of the digest of the metadata, which follows them. */
const DIGEST_BYTES = 32;
const SIZE_BYTES = 4;

/**
 * Joins the chunks of a state file into one. Without compression, runsc writes a chunk for every few bytes, and a restore reads them
 * one by one. Pure.
 *
 *     gVisorSF, the metadata's length (8 bytes), the metadata, their digest, then chunks: a length (4 bytes) and that many bytes
 *
 * @returns undefined for a file that is not of this form.
 */
export function joinChunks(file: Buffer): Buffer | undefined {
  if (!file.subarray(0, STATE_MAGIC.length).equals(STATE_MAGIC) || file.length < STATE_MAGIC.length + 8)
    return undefined;
  const start = STATE_MAGIC.length + 8 + Number(file.readBigUInt64BE(STATE_MAGIC.length)) + DIGEST_BYTES;
  const chunks: Buffer[] = [];
  let at = start;
  while (at < file.length) {
    if (at + SIZE_BYTES > file.length) return undefined;
    const bytes = file.readUInt32BE(at);
    at += SIZE_BYTES + bytes;
    if (bytes === 0 || at > file.length) return undefined;
    chunks.push(file.subarray(at - bytes, at));
  }
  if (chunks.length === 0) return undefined;
  const size = Buffer.alloc(SIZE_BYTES);
  size.writeUInt32BE(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  return Buffer.concat([file.subarray(0, start), size, ...chunks]);
}

/** A text that changes with any of the files; undefined if one is missing, or others may read or write it. */
function stateOf(folder: string): string | undefined {
  try {
    const states = [folder, ...[...FILES, ABOUT].map((name) => join(folder, name))].map((path) => {
      const found = statSync(path);
      if (found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
        throw new Error(`${path} is not private`);
      if (path.endsWith(ABOUT) || path === folder) return String(found.ino);
      return `${fileIdentity(found)}:${found.ctimeMs}`;
    });
    return states.join(" ");
  } catch {
    return undefined;
  }
}

async function isWhole(folder: string): Promise<boolean> {
  try {
    const { digests } = About.parse(parseForeignJson(await readFile(join(folder, ABOUT)), LIMITS));
    const found = await Promise.all(FILES.map((name) => digest(join(folder, name))));
    return FILES.every((name, index) => digests[name] === found[index]);
  } catch {
    return false;
  }
}

async function digest(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}
