import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import * as z from "zod/mini";
import { messageOf } from "../../base/faults.ts";
import { parseForeignJson } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import { inTime, settlesWithin } from "../../base/waiting.ts";
import { encodeFrame, FrameDecoder } from "../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import type { ProgramMessage } from "../../protocol/messages.ts";
import type { RunnerName, RunnerStarts } from "../../protocol/runners.ts";
import type { SandboxOutput } from "../sandbox.ts";
import type {
  EngineDescription,
  EngineOptions,
  ImageStore,
  SandboxEngine,
  SandboxRequest,
  StartedSandbox,
  StoredImage,
} from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { type SandboxLimits, sandboxProfile, serverProfile } from "../sandbox-profile.ts";
import { isUnprivileged, readSentryProcess } from "../sentry-process.ts";
import { type CgroupHierarchy, findCgroups, SandboxGroup } from "./cgroups.ts";
import { ociConfiguration, type RootFileSystem } from "./oci-configuration.ts";
import {
  costOf,
  describeCosts,
  MEASURED_PROGRAM,
  PLATFORMS,
  type PlatformCost,
  Platforms,
} from "./platforms.ts";
import { NO_LIMITS, RUNSC_ADVICE } from "./runsc-advice.ts";
import {
  findRunsc,
  machineIdentity,
  PASS_STDIO,
  type Runsc,
  runscCommand,
  runscFlags,
  runscVersion,
} from "./runsc-command.ts";
import { runscFolders } from "./runsc-folders.ts";
import { RunscImages } from "./runsc-image-store.ts";
import { RunscSandbox, type SandboxPlace } from "./runsc-sandbox.ts";
import { Snapshots, snapshotKey } from "./snapshots.ts";

/** The one runtime of this engine. */
const RUNSC = "runsc";

/** Increase this number after a change that alters sandboxes but no other part of a snapshot's key. */
const SNAPSHOT_FORMAT = 2;
/** Delays making a snapshot until the machine is less busy than just after a start. */
const SNAPSHOT_AFTER_MS = 3_000;
const SNAPSHOT_PATIENCE_MS = 60_000;
/** How long a restored sandbox may take to answer before another is booted instead. */
const RESTORE_PATIENCE_MS = 10_000;
const MEASURE_PATIENCE_MS = 60_000;
const MAX_WHY_CHARS = 200;
const MAX_HELLO_BYTES = 8_192;
const MAX_CLAIM_BYTES = 64 * 1024;
const ID_BYTES = 3;
const OWNER_FILE = "owner";

export interface RunscEngineOptions extends EngineOptions {
  /** Folders of images and of snapshots; by default those of this user. */
  folders?: { images: string; snapshots: string } | undefined;
}

/** What a sandbox needs outside of gVisor, such as its folder, cannot be made. No snapshot is at fault. */
class NoPlace extends SandboxError {}

/**
 * Sandboxes that are children of this process: gVisor's runsc, called without an engine. A ready runner is saved as a snapshot, from
 * which further sandboxes are restored; if that fails, they are booted.
 *
 *     <folder>/<id>/  what runsc keeps of one sandbox, its configuration, and the name of its owner
 */
export class RunscEngine implements SandboxEngine {
  readonly name = RUNSC;
  readonly advice = RUNSC_ADVICE;
  readonly hasServers = true;
  readonly #images: RunscImages;
  readonly #folder: string;
  readonly #runners: RunnerStarts;
  readonly #snapshots: Snapshots;
  readonly #allowsWeaker: boolean;
  readonly #runsc: string | undefined;
  #hierarchy: CgroupHierarchy | undefined;
  /** The keys of snapshots that are being made or about to be made. */
  readonly #making = new Set<string>();
  #lastMade: Promise<void> = Promise.resolve();
  readonly #machine = machineIdentity();
  readonly #platforms: Platforms;

  constructor({ folder, runners, allowsWeakerIsolation = false, runsc, folders }: RunscEngineOptions) {
    const usual = runscFolders();
    this.#folder = folder;
    this.#runners = runners;
    this.#allowsWeaker = allowsWeakerIsolation;
    this.#runsc = runsc;
    this.#snapshots = new Snapshots(folders?.snapshots ?? usual.snapshots);
    this.#platforms = new Platforms(folders?.snapshots ?? usual.snapshots, this.#machine);
    this.#images = new RunscImages({
      folder: folders?.images ?? usual.images,
      shared: folders === undefined ? usual.shared : undefined,
      runInside: (root, command) => this.#runInside(root, command),
    });
  }

  async describe(): Promise<EngineDescription> {
    const runsc = findRunsc(this.#runsc, RUNSC_ADVICE.missingRuntime);
    const version = await runscVersion(runsc);
    const weak = this.#whyNoLimits();
    return {
      version,
      identity: createHash("sha256")
        .update(JSON.stringify([runsc.identity, version, this.#machine]))
        .digest("hex"),
      profile: profileDigest(this.#runners, await this.#platforms.find(runsc)),
      endpoint: "without an engine",
      processors: availableParallelism(),
      runtimes: new Map([
        [
          RUNSC,
          {
            path: runsc.path,
            channel: { kind: "direct", why: "sandboxes are children of ptc" },
            problem: weak === undefined || this.#allowsWeaker ? undefined : weak,
          },
        ],
      ]),
    };
  }

  async openImages(): Promise<ImageStore> {
    return this.#images;
  }

  findImage(reference: string): Promise<StoredImage | undefined> {
    return this.#images.inspect(reference);
  }

  async start(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    const parts = await this.#partsOf(request);
    if (request.server !== undefined) {
      const server = this.#launch(parts, output, ["run", ...PASS_STDIO], true);
      request.onRequested?.();
      return server;
    }
    const snapshot = this.#snapshots.look(parts.key);
    const restored =
      snapshot === undefined ? undefined : await this.#restore(parts, snapshot, output, request.onRequested);
    if (restored !== undefined) return restored;
    const booted = this.#boot(parts, output);
    request.onRequested?.();
    booted.connected.then(
      () => this.#makeSoon(parts),
      () => {},
    );
    return booted;
  }

  async snapshot(request: SandboxRequest): Promise<void> {
    const parts = await this.#partsOf(request);
    if ((await this.#snapshots.find(parts.key)) === undefined) await this.#make(parts);
  }

  async describeSnapshot(request: SandboxRequest): Promise<string> {
    const { key } = await this.#partsOf(request);
    const { count, reason } = this.#snapshots.failures(key);
    const failed = count === 0 ? "" : `; ${count} failed, the last one because ${reason}`;
    return (await this.#snapshots.find(key)) === undefined
      ? `none yet: sandboxes are booted, and one is made when ptc serves or \`ptc image build\` runs${failed}`
      : `sandboxes are restored from one${failed}`;
  }

  async measurePlatforms({
    image,
    owner,
  }: Pick<SandboxRequest, "image" | "owner">): Promise<string | undefined> {
    const runsc = findRunsc(this.#runsc, RUNSC_ADVICE.missingRuntime);
    const platforms = await this.#platforms.all(runsc);
    const root = await this.#images.findRoot(image);
    if (platforms.length < 2 || root === undefined) return undefined;
    const best = new Map<string, PlatformCost>();
    const failed = new Map<string, string>();
    // In turn and twice, so that another program of this machine does not slow one of them alone.
    for (const platform of [...platforms, ...platforms]) {
      if (failed.has(platform)) continue;
      try {
        const begunMs = performance.now();
        const printed = await this.#measure({ runsc, root, platform, owner });
        const cost = costOf(platform, printed, performance.now() - begunMs);
        const before = best.get(platform);
        best.set(platform, {
          platform,
          bootMs: Math.min(cost.bootMs, before?.bootMs ?? cost.bootMs),
          callsMs: Math.min(cost.callsMs, before?.callsMs ?? cost.callsMs),
          memoryMs: Math.min(cost.memoryMs, before?.memoryMs ?? cost.memoryMs),
        });
      } catch (error) {
        const why = complaintOf(error);
        this.#platforms.doubt(runsc, why);
        best.delete(platform);
        failed.set(platform, `${platform} does not work here: ${oneLine(why, MAX_WHY_CHARS)}`);
      }
    }
    const costs = [...best.values()];
    return describeCosts(costs, await this.#platforms.note(runsc, costs), [...failed.values()]);
  }

  /** Runs the measured program on a platform, behind the wall of programs. @returns what it printed. */
  async #measure({
    runsc,
    root,
    platform,
    owner,
  }: Pick<SandboxParts, "runsc" | "root" | "platform" | "owner">): Promise<string> {
    const id = randomBytes(ID_BYTES).toString("hex");
    const folder = join(this.#folder, id);
    mkdirSync(join(folder, "root"), { recursive: true, mode: 0o700 });
    try {
      // Whoever sweeps finds it where this process is killed.
      writeFileSync(join(folder, OWNER_FILE), owner);
      const profile = sandboxProfile(this.#runners.javascript, BUILD_LIMITS, "direct");
      const [node = ""] = profile.runner;
      const { process: own, ...rest } = ociConfiguration(profile, root, join(folder, "root"));
      const configuration = { ...rest, process: { ...own, args: [node, "-e", MEASURED_PROGRAM] } };
      writeFileSync(join(folder, "config.json"), JSON.stringify(configuration));
      const args = [...runscFlags(folder, platform), "run", `--bundle=${folder}`, id];
      const [program = "", ...given] = runscCommand(runsc, args);
      const { stdout } = await promisify(execFile)(program, given, { timeout: MEASURE_PATIENCE_MS });
      return stdout;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  async list(): Promise<{ id: string; owner: string }[]> {
    const hierarchy = this.#cgroups();
    const found = new Map(this.#placesOfAll().map(({ id, owner }) => [id, owner]));
    for (const { id, owner, group } of hierarchy.version === undefined ? [] : SandboxGroup.list(hierarchy)) {
      if (found.has(id)) continue;
      // A group without a process and a folder is left over from an ended sandbox.
      if (group.isEmpty()) group.removeAbandoned();
      else found.set(id, owner);
    }
    return [...found].map(([id, owner]) => ({ id, owner }));
  }

  async keepsOutput(): Promise<boolean> {
    return false;
  }

  async keepsKernelUnprivileged(id: string): Promise<boolean | undefined> {
    const place = this.#placesOfAll().find((each) => each.id === id);
    const pid = place && sentryPid(place.folder, id);
    const sentry = pid && readSentryProcess(id, pid);
    return sentry ? isUnprivileged(sentry) : undefined;
  }

  async remove(id: string): Promise<void> {
    const place = this.#placesOfAll().find((each) => each.id === id);
    const pid = place && sentryPid(place.folder, id);
    // Without a cgroup, only its process is known.
    if (pid && readSentryProcess(id, pid) !== undefined) killProcess(pid);
    const hierarchy = this.#cgroups();
    if (hierarchy.version !== undefined) await SandboxGroup.find(hierarchy, id)?.remove();
    if (place !== undefined) rmSync(place.folder, { recursive: true, force: true });
  }

  /** Collects what sandboxes of one kind have in common. @throws SandboxError */
  async #partsOf({ image, runtime, runner, server, limits, owner }: SandboxRequest): Promise<SandboxParts> {
    if (runtime !== RUNSC)
      throw new SandboxError(
        "runtime_missing",
        `without an engine there is no runtime but ${RUNSC}, and sandbox.runtime is '${runtime}'`,
      );
    const runsc = findRunsc(this.#runsc, RUNSC_ADVICE.missingRuntime);
    const root = await this.#images.findRoot(image);
    if (root === undefined)
      throw new SandboxError("image_missing", "the image is gone or was edited; run `ptc image build`");
    const weak = this.#whyNoLimits();
    if (weak !== undefined && !this.#allowsWeaker)
      throw new SandboxError("start_failed", `a sandbox ${weak}`);
    const profile =
      server === undefined
        ? sandboxProfile(this.#runners[runner], limits, "direct")
        : serverProfile(limits, "direct", server);
    const keyWith = (platform: string) =>
      snapshotKey([
        SNAPSHOT_FORMAT,
        image,
        root,
        profile,
        runscFlags("", platform),
        runsc.identity,
        this.#machine,
        process.getuid?.(),
      ]);
    // A snapshot was made with its platform, so that runsc need not be asked.
    const expected = this.#platforms.known(runsc) ?? PLATFORMS[0];
    const isKnown = server === undefined && this.#snapshots.look(keyWith(expected)) !== undefined;
    const platform = isKnown ? expected : await this.#platforms.find(runsc);
    return { runsc, platform, root, profile, key: keyWith(platform), owner, runner };
  }

  #boot(parts: SandboxParts, output: SandboxOutput): RunscSandbox {
    return this.#launch(parts, output, ["run"]);
  }

  /** @returns undefined if it fails, which is counted. */
  async #restore(
    parts: SandboxParts,
    snapshot: string,
    output: SandboxOutput,
    onRequested: () => void = () => {},
  ): Promise<RunscSandbox | undefined> {
    const sandbox = this.#launch(parts, output, ["restore", `--image-path=${snapshot}`]);
    sandbox.wake();
    onRequested();
    // Its digests are verified while it starts.
    if (!(await this.#snapshots.verify(parts.key))) {
      await end(sandbox);
      return undefined;
    }
    try {
      await inTime(sandbox.connected, RESTORE_PATIENCE_MS, () => new Error("it did not answer"));
      // A sandbox does not fail because a note of earlier failures cannot be removed.
      await this.#snapshots.succeed(parts.key).catch(() => {});
      return sandbox;
    } catch (error) {
      await end(sandbox);
      await this.#snapshots.fail(parts.key, messageOf(error));
      return undefined;
    }
  }

  /** Creates the folder and group of a sandbox and starts it. @throws SandboxError `start_failed`, after removing everything. */
  #launch(
    { runsc, platform, root, profile, owner }: SandboxParts,
    output: SandboxOutput,
    command: string[],
    isServer = false,
  ): RunscSandbox {
    const place = this.#makePlace(owner, profile);
    const { id, folder } = place;
    try {
      mkdirSync(join(folder, "root"));
      const configuration = ociConfiguration(profile, root, join(folder, "root"));
      writeFileSync(join(folder, "config.json"), JSON.stringify(configuration));
      const args = [...runscFlags(folder, platform), ...command, `--bundle=${folder}`, id];
      const sandbox = new RunscSandbox(place, runscCommand(runsc, args), output, isServer);
      sandbox.connected.catch((error: unknown) => this.#platforms.doubt(runsc, messageOf(error)));
      return sandbox;
    } catch (cause) {
      void place.group?.remove();
      rmSync(folder, { recursive: true, force: true });
      throw new NoPlace("start_failed", `a sandbox cannot be started: ${messageOf(cause)}`, { cause });
    }
  }

  #makePlace(owner: string, limits: Parameters<typeof SandboxGroup.make>[2]): SandboxPlace {
    const id = randomBytes(ID_BYTES).toString("hex");
    const folder = join(this.#folder, id);
    try {
      mkdirSync(folder, { mode: 0o700 });
      writeFileSync(join(folder, OWNER_FILE), owner);
      const hierarchy = this.#cgroups();
      const group =
        hierarchy.version === undefined ? undefined : SandboxGroup.make(hierarchy, { owner, id }, limits);
      return { id, folder, group };
    } catch (cause) {
      rmSync(folder, { recursive: true, force: true });
      throw new NoPlace("start_failed", `a sandbox cannot be started: ${messageOf(cause)}`, { cause });
    }
  }

  #makeSoon(parts: SandboxParts): void {
    if (this.#making.has(parts.key) || !this.#snapshots.mayMake(parts.key)) return;
    this.#making.add(parts.key);
    const later = setTimeout(() => {
      // It may have been made meanwhile by this process or another.
      const make = () => (this.#snapshots.mayMake(parts.key) ? this.#make(parts).catch(() => {}) : undefined);
      this.#lastMade = this.#lastMade.then(make);
      void this.#lastMade.finally(() => this.#making.delete(parts.key));
    }, SNAPSHOT_AFTER_MS);
    later.unref();
  }

  /** Boots a runner, waits until it has rehearsed, and saves its memory. @throws any failure, which is counted. */
  async #make(parts: SandboxParts): Promise<void> {
    const made = this.#snapshots.make(
      parts.key,
      async (snapshot) => {
        const sandbox = this.#boot(parts, NOBODY_READS);
        try {
          const channel = await sandbox.connected;
          // It answers after it has rehearsed, which then includes what follows a restore.
          const ready = hellos(channel, 2);
          sandbox.wake();
          await ready;
          const { folder, id } = this.#placeOf(sandbox);
          const args = [
            ...runscFlags(folder, parts.platform),
            "checkpoint",
            "--compression=none",
            `--image-path=${snapshot}`,
            id,
          ];
          const [program = "", ...rest] = runscCommand(parts.runsc, args);
          await promisify(execFile)(program, rest);
        } finally {
          await end(sandbox);
        }
      },
      (snapshot) => this.#check(parts, snapshot),
    );
    try {
      await inTime(made, SNAPSHOT_PATIENCE_MS, () => new Error("it took too long"));
    } catch (error) {
      if (!(error instanceof NoPlace)) await this.#snapshots.fail(parts.key, messageOf(error));
      throw error;
    }
  }

  /** Restores a snapshot twice. @throws Error if the two draw the same random values. */
  async #check(parts: SandboxParts, snapshot: string): Promise<void> {
    const draws = [1, 2].map(() => this.#draw(parts, snapshot));
    // Both sandboxes are removed before either one's failure is reported.
    await Promise.allSettled(draws);
    const [one, other] = await Promise.all(draws);
    if (one === other) throw new Error("two sandboxes that are restored from it draw the same");
  }

  /** The random values that a restored sandbox draws, as its claim. */
  async #draw(parts: SandboxParts, snapshot: string): Promise<string> {
    let claim = "";
    const output: SandboxOutput = {
      onStdout(chunk) {
        if (claim.length < MAX_CLAIM_BYTES) claim += chunk.toString();
      },
      onStderr() {},
    };
    const sandbox = this.#launch(parts, output, ["restore", `--image-path=${snapshot}`]);
    try {
      sandbox.wake();
      const channel = await sandbox.connected;
      await hellos(channel, 1);
      const program: ProgramMessage = {
        type: "program",
        bundle: this.#runners[parts.runner].freshness,
        data: {},
        max_output_bytes: MAX_CLAIM_BYTES,
        max_stderr_bytes: MAX_CLAIM_BYTES,
        environment: { seed: "00".repeat(32) },
      };
      channel.write(encodeFrame(program, MAX_REPLY_FRAME_BYTES));
      await sandbox.exited;
      if (!claim.startsWith('{"ok":true,'))
        throw new Error(`a sandbox that is restored from it fails: ${claim}`);
      return claim;
    } finally {
      await end(sandbox);
    }
  }

  /** Runs a command as root of a sandbox with a writable root folder, to build an image. */
  async #runInside(root: string, command: readonly string[]): Promise<void> {
    const runsc = findRunsc(this.#runsc, RUNSC_ADVICE.missingRuntime);
    const id = randomBytes(ID_BYTES).toString("hex");
    const folder = join(this.#folder, id);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      const profile = sandboxProfile(this.#runners.javascript, BUILD_LIMITS, "direct");
      const { process: own, ...rest } = ociConfiguration(profile, { kind: "folder", path: root }, "");
      const { args: _, rlimits: __, ...common } = own;
      const configuration = {
        ...rest,
        process: { ...common, args: command, user: { uid: 0, gid: 0 }, cwd: "/" },
        root: { path: root, readonly: false },
      };
      writeFileSync(join(folder, "config.json"), JSON.stringify(configuration));
      const [program = "", ...args] = runscCommand(runsc, [
        ...runscFlags(folder, await this.#platforms.find(runsc)),
        "run",
        `--bundle=${folder}`,
        id,
      ]);
      await promisify(execFile)(program, args);
    } catch (cause) {
      const why = complaintOf(cause);
      this.#platforms.doubt(runsc, why);
      throw new SandboxError("build_failed", `${command[0]} failed: ${why}`, { cause });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  #cgroups(): CgroupHierarchy {
    this.#hierarchy ??= findCgroups();
    return this.#hierarchy;
  }

  #whyNoLimits(): string | undefined {
    const hierarchy = this.#cgroups();
    return hierarchy.version === undefined
      ? `can be given no cgroup here (${hierarchy.problem}), ${NO_LIMITS}`
      : undefined;
  }

  #placeOf({ id }: RunscSandbox): { id: string; folder: string } {
    return { id, folder: join(this.#folder, id) };
  }

  /** The folders of sandboxes of all ptc processes of this user, which are next to this one's. */
  #placesOfAll(): { id: string; folder: string; owner: string }[] {
    const base = dirname(this.#folder);
    return namesIn(base).flatMap((process) =>
      namesIn(join(base, process)).flatMap((id) => {
        const folder = join(base, process, id);
        const owner = ID.test(id) ? readOwner(folder) : undefined;
        return owner === undefined ? [] : [{ id, folder, owner }];
      }),
    );
  }
}

const ID = new RegExp(`^[0-9a-f]{${ID_BYTES * 2}}$`);
const BUILD_LIMITS: SandboxLimits = { memoryMb: 1_024, cpus: 1, pids: 256 };
const NOBODY_READS: SandboxOutput = { onStdout() {}, onStderr() {} };

/** What sandboxes of one kind have in common, and their owner. */
interface SandboxParts {
  runsc: Runsc;
  platform: string;
  root: RootFileSystem;
  profile: ReturnType<typeof sandboxProfile>;
  /** The key of their snapshot. */
  key: string;
  owner: string;
  runner: RunnerName;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readOwner(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, OWNER_FILE), "utf8");
  } catch {
    return undefined;
  }
}

/** The last line that a command said, or why it could not be run. */
function complaintOf(error: unknown): string {
  const { stderr = "" } = error as { stderr?: string };
  return stderr.trim().split("\n").at(-1) || messageOf(error);
}

const STATE_LIMITS = { maxBytes: 1024 * 1024, maxDepth: 64 };
const StateFile = z.object({ sandbox: z.object({ pid: z.int() }) });

/** The pid of a sandbox's kernel, as recorded by runsc. */
function sentryPid(folder: string, id: string): number | undefined {
  try {
    const state = readFileSync(join(folder, `${id}_sandbox:${id}.state`));
    return StateFile.parse(parseForeignJson(state, STATE_LIMITS)).sandbox.pid;
  } catch {
    return undefined;
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Ends a sandbox and waits until it is completely removed. */
async function end(sandbox: RunscSandbox): Promise<void> {
  await sandbox.kill();
  await settlesWithin(sandbox.removed(), SNAPSHOT_PATIENCE_MS);
  sandbox.release();
}

/** Resolves when a runner has said hello `count` times on its channel; accepts nothing else. */
function hellos(channel: Duplex, count: number): Promise<void> {
  const decoder = new FrameDecoder(MAX_HELLO_BYTES);
  let seen = 0;
  return new Promise((resolve, reject) => {
    const lose = () => reject(new Error("the runner has ended"));
    const read = (chunk: Buffer) => {
      try {
        for (const payload of decoder.push(chunk)) if (payload.includes('"hello"')) seen++;
      } catch (error) {
        reject(error);
      }
      if (seen < count) return;
      channel.off("data", read);
      channel.off("close", lose);
      resolve();
    };
    channel.on("data", read);
    channel.on("close", lose);
    channel.resume();
  });
}

/** A digest of how sandboxes are isolated, without image and limits. */
function profileDigest(runners: RunnerStarts, platform: string): string {
  const limits = { memoryMb: 512, cpus: 1, pids: 256 };
  const configurations = Object.values(runners).map((start) =>
    ociConfiguration(sandboxProfile(start, limits, "direct"), { kind: "erofs", path: "" }, ""),
  );
  return createHash("sha256")
    .update(JSON.stringify([configurations, runscFlags("", platform)]))
    .digest("hex");
}
