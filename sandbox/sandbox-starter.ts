import { setTimeout as delay } from "node:timers/promises";
import { inTime, settlesWithin } from "../base/waiting.ts";
import type { Platform } from "../protocol/platform.ts";
import type { RunnerName } from "../protocol/runners.ts";
import type { ImageUses } from "./image/image-uses.ts";
import { type NeededImage, requireNeeded } from "./image/needed-image.ts";
import type { KnownWalls } from "./known-walls.ts";
import type { Sandbox, SandboxOutput, SandboxSource, SandboxUse } from "./sandbox.ts";
import type { SandboxEngine, StartedSandbox } from "./sandbox-engine.ts";
import { orCancelled, refuseCancelled, SandboxError } from "./sandbox-error.ts";
import type { SandboxLimits, ServerWalls } from "./sandbox-profile.ts";

const CONNECT_TIMEOUT_MS = 30_000;

export interface StarterOptions {
  engine: SandboxEngine;
  /** The identity of this process, which the engine stores with each sandbox. */
  owner: string;
  /** Name of the runner image. */
  image: string;
  /** What the project needs of that image; by default nothing but that it is there. */
  needed?: NeededImage | undefined;
  /** Where uses of images are noted; by default nowhere. */
  uses?: Pick<ImageUses, "note"> | undefined;
  runtime: string;
  /** The runner in the sandboxes; Node.js by default. */
  runner?: RunnerName;
  /** For sandboxes of servers. */
  server?: ServerWalls | undefined;
  limits: SandboxLimits;
  /** Whether sandboxes may briefly outlive their programs, so that ending them does not delay answers. */
  lingers?: boolean | undefined;
  /**
   * Whether a sandbox that has ended by itself is left to an engine that removes it without this process, because the process ends with
   * its program.
   */
  leavesRemoval?: boolean | undefined;
  /** The walls that are known not to hold; none by default. */
  walls?: KnownWalls;
  /** Holds the end of each sandbox that is being disposed of. Whoever closes waits for them; by default nobody does. */
  ending?: Set<Promise<void>> | undefined;
  /** Called whenever the engine has been asked to start a sandbox. */
  onRequested?: (() => void) | undefined;
}

/** What starting takes of an engine. */
export type StartingEngine = Pick<
  SandboxEngine,
  "describe" | "findImage" | "platform" | "prepare" | "start"
> &
  Partial<Pick<SandboxEngine, "name" | "settled" | "hasServers">>;
type Options = Omit<StarterOptions, "engine"> & { engine: StartingEngine };

/**
 * Starts a sandbox for each request, waits until its runner has connected, and ends it when it is returned. Pools
 * (pool/sandbox-pool.ts) get their sandboxes from here.
 */
export class SandboxStarter implements SandboxSource {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  get platform(): Platform | undefined {
    return this.#options.engine.platform;
  }

  /** When it rejects, also after being cancelled, the sandbox has been removed. */
  async acquire(output: SandboxOutput, signal?: AbortSignal, use?: SandboxUse): Promise<Sandbox> {
    const {
      engine,
      owner,
      runtime,
      runner = "javascript",
      server,
      limits,
      walls,
      lingers,
      leavesRemoval,
      ending,
      onRequested,
    } = this.#options;
    refuseCancelled(signal);
    if (server !== undefined) await refuseWithoutServers(engine);
    const prepared = engine.prepare?.(runtime);
    const image = await orCancelled(this.findImage(), signal);
    if (walls !== undefined) await orCancelled(walls.refuseBroken({ engine, runtime, image }), signal);
    await prepared;
    const started = await engine.start(
      { image, runtime, runner, server, limits, owner, use, onRequested, signal },
      output,
    );
    try {
      const channel = await orCancelled(connected(started), signal);
      return new RunningSandbox(started, image, channel, { lingers, leavesRemoval, ending });
    } catch (error) {
      await endSandbox(started);
      started.release();
      throw await this.#explain(error);
    }
  }

  withRunner(runner: RunnerName): SandboxStarter {
    return runner === (this.#options.runner ?? "javascript")
      ? this
      : new SandboxStarter({ ...this.#options, runner });
  }

  /** Adds to a failure that the configuration of the runtime may have prevented a connection. */
  async #explain(error: unknown): Promise<unknown> {
    if (!(error instanceof SandboxError) || error.code !== "start_failed") return error;
    const { engine, runtime } = this.#options;
    const described = await engine.describe().catch(() => undefined);
    const problem = described?.runtimes.get(runtime)?.problem;
    return problem === undefined
      ? error
      : new SandboxError("start_failed", `runtime '${runtime}' ${problem}`, { cause: error });
  }

  /** @throws SandboxError `image_missing`, `engine_unreachable` */
  async findImage(): Promise<string> {
    const { engine, image, uses } = this.#options;
    const { needed = { reference: image, runner: undefined, pythonPackages: [] } } = this.#options;
    const { digest } = requireNeeded(needed, await engine.findImage(image));
    uses?.note(image);
    return digest;
  }
}

/** @throws SandboxError `start_failed` if the engine has no sandboxes for servers. */
async function refuseWithoutServers(chosen: StartingEngine): Promise<void> {
  const { engine = chosen } = (await chosen.settled?.()) ?? {};
  if (engine.hasServers !== true)
    throw new SandboxError(
      "start_failed",
      `the engine ${engine.name} has no sandboxes for servers; use docker or runsc in sandbox.engine`,
    );
}

/** Waits for the runner to connect. @throws SandboxError `start_failed` if the sandbox ends first or takes too long. */
function connected(started: StartedSandbox): Promise<Sandbox["channel"]> {
  const ended = started.exited.then(({ code }) => {
    throw new SandboxError(
      "start_failed",
      `the sandbox ended with exit code ${code} before it connected; if that does not pass, run \`ptc image build\``,
    );
  });
  const late = `the sandbox did not connect within ${CONNECT_TIMEOUT_MS / 1000} s`;
  return inTime(
    Promise.race([started.connected, ended]),
    CONNECT_TIMEOUT_MS,
    () => new SandboxError("start_failed", late),
  );
}

const EXIT_GRACE_MS = 250;
/**
 * How long a sandbox that may outlive its program is left alone when it is no longer needed. Ending it and starting another take a
 * core for half a second, which the client needs now to read the answer.
 */
const AFTER_ANSWER_MS = 20;
/** How long its runner waits to be ended: longer than a run takes from the end of its program to its answer. */
const LINGER_MS = 250;
/** How long to wait for the engine to remove a sandbox. If it is still there, the next ptc removes it. */
const REMOVAL_PATIENCE_MS = 10_000;

/** A started sandbox whose runner has connected. */
class RunningSandbox implements Sandbox {
  readonly id: string;
  readonly image: string;
  readonly channel: Sandbox["channel"];
  readonly stdio: Sandbox["stdio"];
  readonly exited: Sandbox["exited"];
  readonly lingerMs: number | undefined;
  readonly #started: StartedSandbox;
  readonly #leavesRemoval: boolean;
  readonly #ending: Set<Promise<void>> | undefined;
  #ended = false;
  #disposed: Promise<void> | undefined;

  constructor(
    started: StartedSandbox,
    image: string,
    channel: Sandbox["channel"],
    {
      lingers = false,
      leavesRemoval = false,
      ending,
    }: Pick<StarterOptions, "lingers" | "leavesRemoval" | "ending">,
  ) {
    this.id = started.id;
    this.image = image;
    this.channel = channel;
    this.stdio = started.stdio;
    this.exited = started.exited;
    this.lingerMs = lingers ? LINGER_MS : undefined;
    this.#started = started;
    this.#leavesRemoval = leavesRemoval && started.removesItself === true;
    this.#ending = ending;
    started.exited.then(
      () => {
        this.#ended = true;
      },
      () => {},
    );
  }

  pause(): void {
    this.#started.pause();
  }

  clear(): Promise<void> {
    return this.#started.clear();
  }

  resume(): void {
    this.#started.resume();
  }

  assign(use: SandboxUse): void {
    this.#started.assign?.(use);
  }

  async kill(): Promise<void> {
    if (!this.#ended) await this.#started.kill();
  }

  dispose(): Promise<void> {
    if (this.#disposed !== undefined) return this.#disposed;
    const disposed = this.#dispose().finally(() => this.#ending?.delete(disposed));
    this.#disposed = disposed;
    this.#ending?.add(disposed);
    return disposed;
  }

  async #dispose(): Promise<void> {
    if (this.lingerMs !== undefined && !this.#ended) await delay(AFTER_ANSWER_MS);
    // A sandbox ends by itself when its connection to the host closes, which is faster than killing it.
    this.channel.destroy();
    this.#started.leave();
    await endSandbox(this.#started, EXIT_GRACE_MS, this.#leavesRemoval);
    this.#started.release();
  }
}

/**
 * Ends a sandbox, immediately or after `graceMs`, and waits until the engine has removed it. Never rejects.
 *
 * @param leavesRemoval whether it waits only for the end of a sandbox that ends by itself.
 */
async function endSandbox(started: StartedSandbox, graceMs = 0, leavesRemoval = false): Promise<void> {
  const removal = () => started.removed().catch(() => {});
  const removed = leavesRemoval ? undefined : removal();
  const ended = graceMs > 0 && (await settlesWithin(started.exited, graceMs));
  if (ended && leavesRemoval) return;
  const killed = ended ? undefined : started.kill().catch(() => {});
  await settlesWithin(Promise.all([killed, removed ?? removal()]), REMOVAL_PATIENCE_MS);
}

/**
 * Removes the sandboxes of dead ptc processes.
 *
 * @param isDead returns whether the owner with this name is dead; false if that is not known.
 * @throws SandboxError `engine_unreachable`
 */
export async function sweepSandboxes(
  engine: Pick<SandboxEngine, "list" | "remove">,
  isDead: (owner: string) => boolean,
): Promise<void> {
  const sandboxes = await engine.list();
  const orphans = sandboxes.filter(({ owner }) => isDead(owner));
  await Promise.all(orphans.map(({ id }) => engine.remove(id)));
}
