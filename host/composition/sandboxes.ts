import { outsideBoundaries } from "../../base/fault-boundary.ts";
import { sweepSandboxes } from "../../sandbox/leftovers.ts";
import { type OnDemandOptions, OnDemandSource } from "../../sandbox/on-demand-source.ts";
import { ReplaceablePool } from "../../sandbox/pool/replaceable-pool.ts";
import { WarmPool } from "../../sandbox/pool/warm-pool.ts";
import type { SandboxStarter } from "../../sandbox/sandbox.ts";
import type { OpenEngine } from "../../sandbox/sandbox-engine.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { openKnownWalls } from "../doctor/open-known-walls.ts";
import type { EnvironmentVariables } from "../environment-variables.ts";
import { formatIdentity, isDead } from "../processes/process-identity.ts";
import type { OwnProcess } from "../processes/state-directory.ts";
import { openDocker } from "./docker.ts";

/** Properties of sandboxes when there is no configuration file. */
export const USUAL_SANDBOX = {
  sandbox: { image: "ptc-runner", runtime: "runsc", channel: "auto" },
  execution: { memoryMb: 512, cpus: 1, pids: 256 },
} as const;

/** An engine, and what its sandboxes are to be like. Asks the engine nothing yet. @param open Docker's without it. */
export function sandboxOptions(
  { execution, sandbox }: Configuration | typeof USUAL_SANDBOX,
  { state, self }: OwnProcess,
  open: OpenEngine = openDocker,
): OnDemandOptions {
  return {
    engine: open(state.path, sandbox.channel),
    owner: formatIdentity(self),
    image: sandbox.image,
    runtime: sandbox.runtime,
    limits: { memoryMb: execution.memoryMb, cpus: execution.cpus, pids: execution.pids },
  };
}

/**
 * Sandboxes for programs, some of them started in advance. Begins to remove the sandboxes of dead ptc processes; `swept`
 * resolves when that is done, and never rejects. `reconfigure` has later sandboxes be like another configuration says.
 *
 * @param warm how many sandboxes are kept started.
 */
export function composeSandboxes(
  configuration: Configuration,
  own: OwnProcess,
  {
    env,
    engine,
    warm = 0,
  }: { env: EnvironmentVariables; engine?: OpenEngine | undefined; warm?: number | undefined },
): { sandboxes: ReplaceablePool; reconfigure: (next: Configuration) => void; swept: Promise<void> } {
  const options = sandboxOptions(configuration, own, engine);
  const swept = sweepSandboxes(options.engine, (owner) => isDead(owner, own.self)).catch(() => {});
  let now = configuration;
  const sandboxes = new ReplaceablePool(buildPool(options, env, warm));
  return {
    sandboxes,
    swept,
    reconfigure(next) {
      if (isSameSandbox(now, next)) return;
      now = next;
      sandboxes.replace(
        buildPool({ ...sandboxOptions(next, own, () => options.engine) }, env, next.sandbox.warm),
      );
    },
  };
}

function isSameSandbox(a: Configuration, b: Configuration): boolean {
  const [before, after] = [a, b].map(({ sandbox, execution: { memoryMb, cpus, pids } }) =>
    JSON.stringify([sandbox, memoryMb, cpus, pids]),
  );
  return before === after;
}

function buildPool(options: OnDemandOptions, env: EnvironmentVariables, size: number): WarmPool {
  const starter = new OnDemandSource({ ...options, walls: openKnownWalls(env) });
  // A sandbox may be taken by another run than the one that had it started, so no run's boundary holds its start.
  const shared: SandboxStarter = {
    acquire: (output, signal) => outsideBoundaries(() => starter.acquire(output, signal)),
    findImage: () => starter.findImage(),
  };
  return new WarmPool(shared, { size });
}
