/**
 * Snapshots of runners that are ready: a sandbox that was started, has rehearsed, and has had no program yet. Restoring one
 * costs a fraction of a boot.
 *
 *     <snapshots>/<key>/       checkpoint.img, pages.img, pages_meta.img: what runsc wrote
 *     <snapshots>/<key>/snapshot.json  their sizes and digests
 *     <snapshots>/<key>.failed         how often a restore has failed, and why the last one did
 *
 * A snapshot holds memory of a sandbox, so its folder is private. The key is a digest of everything that the memory depends
 * on: image, runner, limits, wall, runsc, kernel and processor. When one of them changes there is another key, and the
 * snapshot of before is no longer found. Only as many are kept as are used.
 *
 * What must not be the same in two sandboxes is taken anew after a restore (protocol/messages.ts, `WakeRequest`). Whoever makes a
 * snapshot restores it twice and compares what the two draw, before anybody else sees it.
 */

import { createHash, randomBytes } from "node:crypto";
import { chmodSync, readFileSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseForeignJson } from "../../base/json.ts";
import { fileIdentity } from "./runsc-command.ts";

const FILES = ["checkpoint.img", "pages.img", "pages_meta.img"] as const;
const ABOUT = "snapshot.json";
const LIMITS = { maxBytes: 64 * 1024, maxDepth: 4 };
/** Snapshots that are kept, those that were used last. Each is about 20 MB. */
const MAX_SNAPSHOTS = 8;
/** After so many failures a snapshot of this key is neither restored nor made again. */
const MAX_FAILURES = 3;
const MAX_REASON_CHARS = 300;

const About = z.strictObject({
  made: z.string(),
  digests: z.record(z.string(), z.string()),
});
const Failures = z.strictObject({ count: z.int(), reason: z.string() });
export type SnapshotFailures = z.infer<typeof Failures>;

/** The key of a snapshot: a digest of all that it depends on. */
export function snapshotKey(parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);
}

/** The snapshots of one user on this machine. */
export class Snapshots {
  readonly #folder: string;
  /** What the files were when their digests were looked at in this process, by key. */
  readonly #verified = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The folder of a snapshot that is there and private. Nothing that is restored from it is used before `verify` says so. */
  look(key: string): string | undefined {
    const folder = join(this.#folder, key);
    return stateOf(folder) === undefined || this.failures(key).count >= MAX_FAILURES ? undefined : folder;
  }

  /**
   * Whether the files of a snapshot are those that were written. Their digests are looked at the first time in this process, and
   * whenever the files have changed. One that is not whole is removed.
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

  /** The folder of a snapshot that can be restored; undefined where there is none. */
  async find(key: string): Promise<string | undefined> {
    const folder = this.look(key);
    return folder !== undefined && (await this.verify(key)) ? folder : undefined;
  }

  /** Whether one may be made: it is not there, and has not failed too often. */
  mayMake(key: string): boolean {
    return stateOf(join(this.#folder, key)) === undefined && this.failures(key).count < MAX_FAILURES;
  }

  /**
   * Makes a snapshot, whole or not at all. Rejects as its parts do.
   *
   * @param write has runsc write its files into a folder.
   * @param check tries what was written, and rejects where two restored sandboxes are alike.
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

  /** Counts a restore that has failed, and removes the snapshot: another one is made. */
  async fail(key: string, reason: string): Promise<void> {
    const failures: SnapshotFailures = {
      count: this.failures(key).count + 1,
      reason: reason.slice(0, MAX_REASON_CHARS),
    };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(join(this.#folder, `${key}.failed`), JSON.stringify(failures), { mode: 0o600 });
    await this.remove(key);
  }

  failures(key: string): SnapshotFailures {
    try {
      return Failures.parse(parseForeignJson(readFileSync(join(this.#folder, `${key}.failed`)), LIMITS));
    } catch {
      return { count: 0, reason: "" };
    }
  }

  /** Removes those that were not used for longest, and what was left unfinished by a process that was killed. */
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
      ({ name, usedMs }) => !kept.some((each) => each.name === name) && usedMs < dayAgo,
    );
    for (const { path } of [...kept.slice(MAX_SNAPSHOTS), ...abandoned])
      await rm(path, { recursive: true, force: true });
  }
}

/** A text that changes with any of the files; undefined where one is missing or others may read or write it. */
function stateOf(folder: string): string | undefined {
  try {
    const states = [folder, ...[...FILES, ABOUT].map((name) => join(folder, name))].map((path) => {
      const found = statSync(path);
      if (found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
        throw new Error(`${path} is not private`);
      return path.endsWith(ABOUT) || path === folder ? String(found.ino) : fileIdentity(found);
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
