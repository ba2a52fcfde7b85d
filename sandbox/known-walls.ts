import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import * as z from "zod/mini";
import { ForeignJsonError, parseForeignJson } from "../base/json.ts";
import type { SandboxEngine } from "./sandbox-engine.ts";
import { SandboxError } from "./sandbox-error.ts";

/** The maximum number of remembered setups. The oldest are dropped. */
const MAX_ENTRIES = 32;
const LIMITS = { maxBytes: 256 * 1024, maxDepth: 8 };

/** What walls depend on: findings are valid for one engine, runtime and image. */
export interface Setup {
  engine: Pick<SandboxEngine, "describe">;
  runtime: string;
  /** Digest. */
  image: string;
}

const Entry = z.strictObject({
  engine: z.string(),
  runtime: z.string(),
  image: z.string(),
  profile: z.string(),
  /** Names of required walls that do not hold. */
  broken: z.array(z.string()),
});
type Entry = z.infer<typeof Entry>;

const KnownFile = z.strictObject({ version: z.literal(1), entries: z.array(Entry) });

/** Remembers the required walls that do not hold, by setup, in a file of this user. */
export class KnownWalls {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * The names of required walls that are known not to hold. Reads one small file, and asks the engine only if the file has an entry for
   * the image. An unreadable file counts as empty.
   */
  async findBroken({ engine, runtime, image }: Setup): Promise<string[]> {
    const suspects = this.#read().filter(
      (entry) => entry.broken.length > 0 && entry.image === image && entry.runtime === runtime,
    );
    if (suspects.length === 0) return [];
    const { identity, profile } = await engine.describe();
    return suspects.find((entry) => entry.engine === identity && entry.profile === profile)?.broken ?? [];
  }

  /** Whether any setup has a broken wall. Reads one small file and does not ask the engine. */
  get hasSuspects(): boolean {
    return this.#read().some(({ broken }) => broken.length > 0);
  }

  /** @throws SandboxError `wall_broken` if a required wall is known not to hold. */
  async refuseBroken(setup: Setup): Promise<void> {
    const broken = await this.findBroken(setup);
    if (broken.length === 0) return;
    const what = broken.length === 1 ? "a wall that is required does" : "walls that are required do";
    const advice = "mend that, and try `ptc doctor --walls` again";
    throw new SandboxError("wall_broken", `${what} not hold here: ${broken.join(", ")}; ${advice}`);
  }

  /** Stores the findings for a setup, and replaces earlier ones. */
  async note({ engine, runtime, image }: Setup, broken: string[]): Promise<void> {
    const { identity, profile } = await engine.describe();
    const found: Entry = { engine: identity, runtime, image, profile, broken };
    const others = this.#read().filter(
      (entry) => entry.engine !== identity || entry.runtime !== runtime || entry.image !== image,
    );
    const entries = [...others, found].slice(-MAX_ENTRIES);
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    const draft = `${this.#path}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify({ version: 1, entries })}\n`, { mode: 0o600 });
    renameSync(draft, this.#path);
  }

  #read(): Entry[] {
    try {
      const parsed = KnownFile.safeParse(parseForeignJson(readFileSync(this.#path), LIMITS));
      return parsed.success ? parsed.data.entries : [];
    } catch (error) {
      if (error instanceof ForeignJsonError || (error instanceof Error && "code" in error)) return [];
      throw error;
    }
  }
}
