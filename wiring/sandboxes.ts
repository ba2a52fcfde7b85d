import { setImmediate } from "node:timers/promises";
import { outsideBoundaries } from "../base/fault-boundary.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { thisMachine } from "../configuration/parse.ts";
import { RUNNER_STARTS, runnerOf, unnamedProgram } from "../languages/program-files.ts";
import type { RunnerName } from "../protocol/runners/runner-name.ts";
import { sweepSandboxes } from "../sandbox/leftovers.ts";
import { type OnDemandOptions, OnDemandSource } from "../sandbox/on-demand-source.ts";
import { type PoolBounds, startsAtOnce } from "../sandbox/pool/pool-policy.ts";
import { ReplaceablePool } from "../sandbox/pool/replaceable-pool.ts";
import { RunnerPools } from "../sandbox/pool/runner-pools.ts";
import { WarmPool } from "../sandbox/pool/warm-pool.ts";
import type { SandboxStarter } from "../sandbox/sandbox.ts";
import { SandboxAhead } from "../sandbox/sandbox-ahead.ts";
import type { OpenEngine } from "../sandbox/sandbox-engine.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { formatIdentity, isDead } from "../system/process-identity.ts";
import type { OwnProcess } from "../system/state-directory.ts";
import { ENGINE } from "./engine.ts";
import { openKnownWalls } from "./open-known-walls.ts";

/** Properties of sandboxes when there is no configuration file. */
export const USUAL_SANDBOX = {
  sandbox: { image: "ptc-runner", runtime: "runsc", channel: "auto" },
  execution: { memoryMb: 512, cpus: 1, pids: 256 },
} as const;

/** An engine, and what its sandboxes are to be like. Asks the engine nothing yet. @param open by default that of `./engine.ts`. */
export function sandboxOptions(
  { execution, sandbox }: Configuration | typeof USUAL_SANDBOX,
  { state, self }: OwnProcess,
  open: OpenEngine = ENGINE.open,
): OnDemandOptions {
  return {
    engine: open({
      folder: state.path,
      runners: RUNNER_STARTS,
      channel: sandbox.channel,
      address: "engine" in sandbox ? sandbox.engine : undefined,
    }),
    owner: formatIdentity(self),
    image: sandbox.image,
    runtime: sandbox.runtime,
    limits: { memoryMb: execution.memoryMb, cpus: execution.cpus, pids: execution.pids },
  };
}

/** A sandbox that is being started before everything is loaded that a program needs. */
export interface BegunSandbox {
  own: OwnProcess;
  options: OnDemandOptions;
  starter: SandboxAhead;
}

/** Begins to start a sandbox. Resolves as soon as that goes on by itself, or has failed. @throws SandboxError */
export async function startSandboxAhead(
  configuration: Configuration,
  own: OwnProcess,
  env: EnvironmentVariables,
  runner?: RunnerName,
): Promise<BegunSandbox> {
  const options = { ...sandboxOptions(configuration, own), ...(runner === undefined ? {} : { runner }) };
  let onRequested = () => {};
  const requested = new Promise<void>((resolve) => {
    onRequested = resolve;
  });
  const source = startOnDemand({ ...options, onRequested }, env);
  const starting: SandboxStarter = {
    acquire(output, signal) {
      const acquired = source.acquire(output, signal);
      acquired.then(onRequested, onRequested);
      return acquired;
    },
    findImage: () => source.findImage(),
    withRunner(other) {
      const same = source.withRunner(other);
      return same === source ? starting : same;
    },
  };
  const starter = new SandboxAhead(starting);
  await requested;
  // The request is written in another turn of the event loop.
  await setImmediate();
  return { own, options, starter };
}

/**
 * Sandboxes for programs, some of them started in advance. Begins to remove the sandboxes of dead ptc processes; `swept`
 * resolves when that is done, and never rejects. `reconfigure` has later sandboxes be like another configuration says.
 *
 * @param warm how many sandboxes are kept started.
 * @param begun a sandbox of this configuration that is being started already, for the first program.
 */
export function composeSandboxes(
  configuration: Configuration,
  own: OwnProcess,
  {
    env,
    engine,
    warm = 0,
    begun,
  }: {
    env: EnvironmentVariables;
    engine?: OpenEngine | undefined;
    warm?: number | undefined;
    begun?: BegunSandbox | undefined;
  },
): { sandboxes: ReplaceablePool; reconfigure: (next: Configuration) => void; swept: Promise<void> } {
  const options = begun?.options ?? sandboxOptions(configuration, own, engine);
  // Where sandboxes wait, other requests follow. A command that ends with its program does so at once.
  const lingers = warm > 0;
  const swept = sweepSandboxes(options.engine, (owner) => isDead(owner, own.self)).catch(() => {});
  let now = configuration;
  const pool = new ReplaceablePool(
    openPools(
      begun?.starter ?? startOnDemand({ ...options, lingers }, env),
      { floor: warm, ceiling: configuration.sandbox.maxWarm },
      firstRunner(configuration),
    ),
  );
  return {
    sandboxes: pool,
    swept,
    reconfigure(next) {
      if (isSameSandbox(now, next)) return;
      now = next;
      pool.replace(
        openPools(
          startOnDemand({ ...sandboxOptions(next, own, () => options.engine), lingers }, env),
          { floor: next.sandbox.warm, ceiling: next.sandbox.maxWarm },
          firstRunner(next),
        ),
      );
    },
  };
}

/** What runs programs that name no language, whose sandboxes wait first. */
function firstRunner({ languages }: Configuration): RunnerName {
  return runnerOf(unnamedProgram(languages).language);
}

function isSameSandbox(a: Configuration, b: Configuration): boolean {
  const [before, after] = [a, b].map((each) => {
    const { sandbox, execution } = each;
    const { memoryMb, cpus, pids } = execution;
    return JSON.stringify([sandbox, memoryMb, cpus, pids, firstRunner(each)]);
  });
  return before === after;
}

function startOnDemand(options: OnDemandOptions, env: EnvironmentVariables): OnDemandSource {
  return new OnDemandSource({ ...options, walls: openKnownWalls(env) });
}

/** @param runner that of programs in the first language. */
function openPools(starter: SandboxStarter, bounds: PoolBounds, runner: RunnerName): RunnerPools {
  return new RunnerPools({
    bounds,
    runner,
    open: (each, share) => openPool(starter.withRunner?.(each) ?? starter, share),
  });
}

function openPool(starter: SandboxStarter, { floor, ceiling }: PoolBounds): WarmPool {
  // A sandbox may be taken by another run than the one that had it started, so no run's boundary holds its start.
  const shared: SandboxStarter = {
    acquire: (output, signal) => outsideBoundaries(() => starter.acquire(output, signal)),
    findImage: () => starter.findImage(),
  };
  return new WarmPool(shared, { size: floor, maxSize: ceiling, maxStarts: startsAtOnce(thisMachine()) });
}
