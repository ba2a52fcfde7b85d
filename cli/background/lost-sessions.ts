import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { parseForeignJson } from "../../base/json.ts";
import type { HostPlace } from "./host-place.ts";

const MAX_NAMES = 200;
const MAX_BYTES = 256 * 1024;
const MAX_DEPTH = 3;

const Lost = z.array(z.tuple([z.string(), z.string()]));

/** The sessions that ended with a background host, so that the next host of its place can tell of them. */
export class LostSessions {
  readonly #file: string;

  constructor({ folder }: Pick<HostPlace, "folder">) {
    this.#file = join(folder, "lost-sessions.json");
  }

  /** @param how goes on after "the one before ended". */
  add(names: readonly string[], how: string): void {
    if (names.length === 0) return;
    const others = this.#read().filter(([name]) => !names.includes(name));
    this.#write([...others, ...names.map((name): [string, string] => [name, how])]);
  }

  /** How the session of a name ended, once. */
  take(name: string): string | undefined {
    const all = this.#read();
    const found = all.find(([each]) => each === name);
    if (found !== undefined) this.#write(all.filter((each) => each !== found));
    return found?.[1];
  }

  #read(): [string, string][] {
    try {
      const text = readFileSync(this.#file, "utf8");
      return Lost.parse(parseForeignJson(text, { maxBytes: MAX_BYTES, maxDepth: MAX_DEPTH }));
    } catch {
      return [];
    }
  }

  #write(lost: [string, string][]): void {
    if (lost.length === 0) rmSync(this.#file, { force: true });
    else writeFileSync(this.#file, JSON.stringify(lost.slice(-MAX_NAMES)), { mode: 0o600 });
  }
}
