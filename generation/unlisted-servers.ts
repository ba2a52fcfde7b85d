/**
 * Which servers `ptc generate` could not list when it last tried, and why. A command that starts no server can then name the reason
 * instead of advising to try again. One file per folder of modules, among the user's state.
 */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseForeignJson } from "../base/json.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { writePrivateFileSync } from "../system/private-file.ts";

const Unlisted = z.record(z.string(), z.string());
const LIMITS = { maxBytes: 1024 * 1024, maxDepth: 2 };

export class UnlistedServers {
  readonly #folder: string;
  readonly #path: string;

  /** @param directory the folder of the generated modules. */
  constructor(directory: string, { XDG_STATE_HOME, HOME }: EnvironmentVariables) {
    this.#folder = join(XDG_STATE_HOME || join(HOME || homedir(), ".local/state"), "ptc/unlisted");
    const name = createHash("sha256").update(directory).digest("hex").slice(0, 16);
    this.#path = join(this.#folder, `${name}.json`);
  }

  /**
   * The reason for each server. Empty if none failed, or if the configuration file is newer than the last try.
   *
   * @param configurationFile the file that may have changed since.
   */
  read(configurationFile: string | undefined): ReadonlyMap<string, string> {
    try {
      const { mtimeMs } = statSync(this.#path);
      if (configurationFile !== undefined && statSync(configurationFile).mtimeMs > mtimeMs) return new Map();
      return new Map(Object.entries(this.#load()));
    } catch {
      return new Map();
    }
  }

  /** Notes the outcome for the servers that were tried. Never throws: without the note, the advice is to try again. */
  note(tried: readonly string[], failures: readonly { server: string; message: string }[]): void {
    try {
      const kept = Object.entries(this.#loadIfThere()).filter(([server]) => !tried.includes(server));
      const now = Object.fromEntries([...kept, ...failures.map(({ server, message }) => [server, message])]);
      if (Object.keys(now).length === 0) {
        rmSync(this.#path, { force: true });
        return;
      }
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writePrivateFileSync(this.#path, JSON.stringify(now));
    } catch {
      // See above.
    }
  }

  #load(): Record<string, string> {
    return Unlisted.parse(parseForeignJson(readFileSync(this.#path), LIMITS));
  }

  #loadIfThere(): Record<string, string> {
    try {
      return this.#load();
    } catch {
      return {};
    }
  }
}
