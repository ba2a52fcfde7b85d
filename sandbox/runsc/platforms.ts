/**
 * Which of gVisor's platforms runs sandboxes: the one that `PTC_RUNSC_PLATFORM` names; otherwise the one on which programs were done
 * sooner when both were measured here (`ptc doctor`); otherwise `ptrace`, which boots sooner, where runsc has it. Newer releases leave it out.
 *
 *     <snapshots>/<key>.platform   what was found for one runsc on one machine: one file of what it said, one of what was measured
 */

import { execFile } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod/mini";
import { parseForeignJson } from "../../base/json.ts";
import { writePrivateFile } from "../../system/private-file.ts";
import { isRoot, type Runsc, runscCommand, runscFlags } from "./runsc-command.ts";
import { snapshotKey } from "./snapshots.ts";

/** The platforms that ptc chooses from. The first one is used where nothing was measured. */
export const PLATFORMS = ["ptrace", "systrap"] as const;
type PlatformName = (typeof PLATFORMS)[number];
const [PREFERRED, USUAL] = PLATFORMS;

const LIMITS = { maxBytes: 4 * 1024, maxDepth: 3 };
const PATIENCE_MS = 20_000;
const Found = z.strictObject({ platform: z.enum(PLATFORMS), lacks: z.array(z.enum(PLATFORMS)) });
type Found = z.infer<typeof Found>;
/** How something was found. */
type Source = "said" | "measured";

/** What every runsc says of a platform that it does not have. */
const UNKNOWN = "unknown platform";

/** What a program does that costs more on one platform than on another. Times are in milliseconds. */
export interface PlatformCost {
  platform: PlatformName;
  /** From the call of runsc to the end of an empty program, less the rest. */
  bootMs: number;
  /** 10,000 system calls. */
  callsMs: number;
  /** 64 MB that are allocated and written to. */
  memoryMs: number;
}

/** The other platform must be this much better, so that chance does not change the platform, and with it the snapshots. */
const CLEARLY = 0.85;

/** The platforms of runscs on this machine, as far as they are known. */
export class Platforms {
  readonly #folder: string;
  readonly #machine: string;
  /** What is being or was found out, by runsc. */
  readonly #asking = new Map<string, Promise<Found | undefined>>();

  /** @param folder that of the snapshots. @param machine its identity. */
  constructor(folder: string, machine: string) {
    this.#folder = folder;
    this.#machine = machine;
  }

  /** The platform that is used, as far as that is known without asking runsc. */
  known(runsc: Runsc): string | undefined {
    return process.env.PTC_RUNSC_PLATFORM || this.#read(runsc)?.platform;
  }

  /** The platform that is used. Asks runsc whether it has the preferred one, until it has said so. Never rejects. */
  async find(runsc: Runsc): Promise<string> {
    return this.known(runsc) ?? (await this.#found(runsc))?.platform ?? PREFERRED;
  }

  /** The platforms that runsc has. */
  async all(runsc: Runsc): Promise<readonly PlatformName[]> {
    const found = process.env.PTC_RUNSC_PLATFORM ? this.#read(runsc) : await this.#found(runsc);
    const lacks = found?.lacks ?? [];
    return PLATFORMS.filter((platform) => !lacks.includes(platform));
  }

  /** Forgets what was found where a failure says that runsc has no such platform, so that it is asked again. */
  doubt(runsc: Runsc, failure: string): void {
    if (!failure.includes(UNKNOWN)) return;
    this.#asking.delete(runsc.identity);
    try {
      for (const source of ["said", "measured"] as const)
        rmSync(this.#pathOf(runsc, source), { force: true });
    } catch {
      // What cannot be removed is doubted again by the next failure.
    }
  }

  /**
   * Notes what programs cost on each platform. Later sandboxes use the better one, unless the two are about the same.
   *
   * @returns the one that they use.
   */
  async note(runsc: Runsc, costs: readonly PlatformCost[]): Promise<string> {
    const now = await this.find(runsc);
    const better = chooseByCost(now, costs);
    if (better !== undefined && better !== now && !process.env.PTC_RUNSC_PLATFORM) {
      const lacks = (await this.#found(runsc))?.lacks ?? [];
      await this.#write(runsc, "measured", { platform: better, lacks });
    }
    return this.known(runsc) ?? now;
  }

  #found(runsc: Runsc): Promise<Found | undefined> {
    const { identity } = runsc;
    const known = this.#read(runsc);
    if (known !== undefined) return Promise.resolve(known);
    const asking = this.#asking.get(identity) ?? this.#ask(runsc);
    this.#asking.set(identity, asking);
    return asking;
  }

  async #ask(runsc: Runsc): Promise<Found | undefined> {
    const isMissing = await lacksPlatform(runsc, PREFERRED);
    if (isMissing === undefined) {
      this.#asking.delete(runsc.identity);
      return undefined;
    }
    const found: Found = isMissing
      ? { platform: USUAL, lacks: [PREFERRED] }
      : { platform: PREFERRED, lacks: [] };
    // Later processes ask again where nothing can be kept.
    await this.#write(runsc, "said", found).catch(() => {});
    return found;
  }

  /** What runsc said and what was measured are two files, so that an answer that comes late never undoes a measurement. */
  #pathOf({ identity }: Runsc, source: Source): string {
    return join(this.#folder, `${snapshotKey(["platform", source, identity, this.#machine])}.platform`);
  }

  #read(runsc: Runsc): Found | undefined {
    return this.#readOne(runsc, "measured") ?? this.#readOne(runsc, "said");
  }

  #readOne(runsc: Runsc, source: Source): Found | undefined {
    try {
      return Found.parse(parseForeignJson(readFileSync(this.#pathOf(runsc, source)), LIMITS));
    } catch {
      return undefined;
    }
  }

  async #write(runsc: Runsc, source: Source, found: Found): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writePrivateFile(this.#pathOf(runsc, source), JSON.stringify(found));
  }
}

/** The platform on which a program is clearly done sooner that boots, makes 10,000 system calls and fills 64 MB. Pure. @param now the one in use. */
export function chooseByCost(now: string, costs: readonly PlatformCost[]): PlatformName | undefined {
  const total = ({ bootMs, callsMs, memoryMs }: PlatformCost) => bootMs + callsMs + memoryMs;
  const current = costs.find(({ platform }) => platform === now);
  const [best] = [...costs].sort((a, b) => total(a) - total(b));
  if (current === undefined || best === undefined) return undefined;
  return total(best) < total(current) * CLEARLY ? best.platform : undefined;
}

/** Measures system calls and memory from inside. Prints both as JSON. */
export const MEASURED_PROGRAM = `
const { fstatSync } = require("node:fs");
const begun = performance.now();
for (let call = 0; call < 10_000; call++) fstatSync(1);
const called = performance.now();
for (let block = 0; block < 16; block++) Buffer.alloc(4 * 1024 * 1024, 1);
console.log(JSON.stringify({ callsMs: called - begun, memoryMs: performance.now() - called }));`;
const Measured = z.strictObject({ callsMs: z.number(), memoryMs: z.number() });

/** The cost of a program from what it printed, and how long it took. @throws Error if it printed anything else. */
export function costOf(platform: PlatformName, printed: string, tookMs: number): PlatformCost {
  const { callsMs, memoryMs } = Measured.parse(parseForeignJson(printed, LIMITS));
  return { platform, bootMs: Math.max(0, tookMs - callsMs - memoryMs), callsMs, memoryMs };
}

/** Says what was measured, what could not be, and what is used. Pure. @param failed one sentence for each platform that failed. */
export function describeCosts(
  costs: readonly PlatformCost[],
  used: string,
  failed: readonly string[] = [],
): string {
  const said = costs.map(({ platform, bootMs, callsMs, memoryMs }) => {
    const [boot, calls, memory] = [bootMs, callsMs, memoryMs].map((ms) => `${Math.round(ms)} ms`);
    return `${platform} boots Node.js in ${boot}, makes 10,000 system calls in ${calls} and fills 64 MB in ${memory}`;
  });
  return `${used} is used: ${[...said, ...failed].join("; ")}`;
}

/** Only a sandbox that runs can say that it has no such program. */
const ABSENT = "/no-such-program";

/** The file of a container in which no program can start. */
const NO_PROGRAM = {
  ociVersion: "1.0.2",
  process: { user: { uid: 65_534, gid: 65_534 }, args: [ABSENT], cwd: "/" },
  root: { path: "root", readonly: true },
};

/**
 * Whether a runsc lacks a platform; `undefined` if that cannot be found out, such as for a user who may make no namespace. Older
 * releases refuse it for any command, newer ones only when they start a sandbox, so this starts one without a program.
 */
async function lacksPlatform(runsc: Runsc, platform: string): Promise<boolean | undefined> {
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(tmpdir(), "ptc-p-"));
    await mkdir(join(folder, "root"));
    await writeFile(join(folder, "config.json"), JSON.stringify(NO_PROGRAM));
    const flags = [...runscFlags(folder, platform), "run", `--bundle=${folder}`, "none"];
    const own = runscCommand(runsc, flags);
    // In a namespace, because a newer runsc leaves a mount behind where no program can start.
    const [program = "", ...args] = isRoot ? [runsc.unshare ?? "unshare", "--mount", ...own] : own;
    await promisify(execFile)(program, args, { timeout: PATIENCE_MS });
    return false;
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    if (stderr.includes(`${UNKNOWN}: ${platform}`)) return true;
    return stderr.includes(ABSENT) ? false : undefined;
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}
