import { setImmediate } from "node:timers/promises";
import type { Configuration } from "../../configuration/configuration.ts";
import { thisMachine } from "../../configuration/parse.ts";
import { RUNNER_STARTS, runnerOf, unnamedProgram } from "../../languages/languages.ts";
import type { RunnerName } from "../../protocol/runners.ts";
import { type NeededImage, RUNNER_IMAGE } from "../../sandbox/image/needed-image.ts";
import { startsAtOnce } from "../../sandbox/pool/pool-policy.ts";
import { type PoolOptions, SandboxPool } from "../../sandbox/pool/sandbox-pool.ts";
import type { KubernetesOptions, OpenEngine } from "../../sandbox/sandbox-engine.ts";
import { SandboxStarter, type StarterOptions, sweepSandboxes } from "../../sandbox/sandbox-starter.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { formatIdentity, isDead } from "../../system/process-identity.ts";
import { Processors } from "../../system/processors.ts";
import { type OwnProcess, openState } from "../../system/state-directory.ts";
import type { Project } from "../open-project.ts";
import { ENGINE } from "./engine.ts";
import { openKnownWalls } from "./open-known-walls.ts";
import { imageOf, openImageUses, runtimeOf } from "./project-image.ts";

/** Properties of sandboxes when there is no configuration file. */
export const USUAL_SANDBOX = {
  languages: ["typescript"],
  sandbox: {
    engine: "auto",
    image: RUNNER_IMAGE,
    pythonPackages: [],
    runtime: "runsc",
    channel: "auto",
    allowWeakerIsolation: false,
  },
  execution: { memoryMb: 512, cpus: 1, pids: 256 },
} as const;

/** An engine and the properties of its sandboxes. Does not contact the engine. @param open by default that of `./engine.ts`. */
export function sandboxOptions(
  configuration: Configuration | typeof USUAL_SANDBOX,
  { state, self }: OwnProcess,
  open: OpenEngine = ENGINE.open,
): StarterOptions & { needed: NeededImage } {
  const { execution, sandbox } = configuration;
  const needed = imageOf(configuration);
  return {
    engine: open({
      folder: state.path,
      runners: RUNNER_STARTS,
      choice: sandbox.engine,
      runtime: sandbox.runtime,
      channel: sandbox.channel,
      address: "engineAddress" in sandbox ? sandbox.engineAddress : undefined,
      runsc: "runsc" in sandbox ? sandbox.runsc : undefined,
      allowsWeakerIsolation: sandbox.allowWeakerIsolation,
      kubernetes: "kubernetes" in sandbox ? clusterOf(sandbox.kubernetes) : undefined,
    }),
    owner: formatIdentity(self),
    image: needed.reference,
    needed,
    runtime: runtimeOf(configuration),
    limits: { memoryMb: execution.memoryMb, cpus: execution.cpus, pids: execution.pids },
  };
}

function clusterOf(kubernetes: Configuration["sandbox"]["kubernetes"]): KubernetesOptions {
  const { ready_timeout_seconds, ...rest } = kubernetes;
  return { ...rest, readyTimeoutMs: ready_timeout_seconds * 1_000 };
}

/** The sandboxes of one ptc process. They end with the project. */
export interface ComposedSandboxes {
  pool: SandboxPool;
  /** Removes the sandboxes of dead ptc processes, those of other machines from now on. Never rejects. */
  sweep(): Promise<void>;
  /** Starts later sandboxes as another configuration says. */
  reconfigure(next: Configuration): void;
}

export interface SandboxesOptions extends Pick<StarterOptions, "onRequested"> {
  /** Starts sandboxes; by default the engine of `./engine.ts`. */
  engine?: OpenEngine | undefined;
  /** How many sandboxes are kept started; none by default. */
  warm?: number | undefined;
}

/** Composes the sandboxes of a project. Does not contact the engine. */
export function composeSandboxes(
  project: Project,
  { engine, warm = 0, onRequested }: SandboxesOptions,
): ComposedSandboxes {
  const { configuration, env, own } = project;
  const first = sandboxOptions(configuration, own, engine);
  const processors = new Processors();
  const ending = new Set<Promise<void>>();
  const poolOptions = (of: Configuration, floor: number, options: StarterOptions): PoolOptions => ({
    // With warm sandboxes, other requests follow. A command that ends with its program must end at once.
    starter: new SandboxStarter({
      ...options,
      lingers: warm > 0,
      leavesRemoval: warm === 0,
      ending,
      walls: openKnownWalls(env),
      uses: openImageUses(env),
      onRequested,
    }),
    bounds: { floor, ceiling: of.sandbox.maxWarm },
    runner: firstRunner(of),
    maxStarts: startsAtOnce(thisMachine()),
    isBusy: () => options.engine.isElsewhere?.() !== true && processors.areBusy(),
  });
  let now = configuration;
  const pool = new SandboxPool(poolOptions(configuration, warm, first));
  // At once, because a process that is ended does not always get to the second.
  project.onClose(async () => {
    await Promise.all([pool.close(), first.engine.close?.()]);
    // Programs that have just answered end their sandboxes a moment later.
    await Promise.all(ending);
  });
  return {
    pool,
    async sweep() {
      first.engine.keepSwept?.(first.owner);
      await sweepSandboxes(first.engine, (owner) => isDead(owner, own.self)).catch(() => {});
    },
    reconfigure(next) {
      if (isSameSandbox(now, next)) return;
      now = next;
      pool.replace(
        poolOptions(
          next,
          next.sandbox.warm,
          sandboxOptions(next, own, () => first.engine),
        ),
      );
    },
  };
}

/**
 * Sandboxes for a command that will run one program. One of them starts while the rest of ptc is loaded. A `Host` takes them over,
 * and ends that sandbox when no program uses it. Resolves as soon as the start continues by itself or has failed. The program that
 * requests a sandbox then gets the reason.
 *
 * @param language the program's language, as far as it is known.
 * @throws SandboxError when the folder for this process's files cannot be made.
 */
export async function warmSandbox(
  project: Project,
  language: string | undefined,
  engine?: OpenEngine,
): Promise<ComposedSandboxes> {
  const runner = language === undefined ? firstRunner(project.configuration) : runnerOf(language);
  let onRequested = () => {};
  const requested = new Promise<void>((resolve) => {
    onRequested = resolve;
  });
  const composed = composeSandboxes(project, { engine, onRequested });
  await Promise.race([requested, composed.pool.warmOne(runner)]);
  // The request is written in another turn of the event loop.
  await setImmediate();
  return composed;
}

/** The runner of programs that name no language. Its sandboxes are started first. */
function firstRunner({ languages }: Configuration): RunnerName {
  return runnerOf(unnamedProgram(languages).language);
}

function isSameSandbox(a: Configuration, b: Configuration): boolean {
  const [before, after] = [a, b].map((each) => {
    const { sandbox, execution } = each;
    const { memoryMb, cpus, pids } = execution;
    return JSON.stringify([sandbox, memoryMb, cpus, pids, firstRunner(each), imageOf(each).reference]);
  });
  return before === after;
}

/** Whether programs can run in gVisor here when no configuration says otherwise. Asks the engine that there is. Never rejects. */
export async function hasGvisor(env: EnvironmentVariables): Promise<boolean> {
  const own = openState(env);
  try {
    const { engine, runtime } = sandboxOptions(USUAL_SANDBOX, own);
    const known = (await engine.describe()).runtimes.get(runtime);
    return known !== undefined && known.problem === undefined;
  } catch {
    return false;
  } finally {
    own.state.remove();
  }
}
