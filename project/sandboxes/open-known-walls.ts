import { homedir } from "node:os";
import { join } from "node:path";
import type { Configuration } from "../../configuration/configuration.ts";
import { RUNNER_STARTS } from "../../languages/languages.ts";
import { KnownWalls } from "../../sandbox/known-walls.ts";
import type { OpenEngine } from "../../sandbox/sandbox-engine.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { openState } from "../../system/state-directory.ts";
import { imageOf, runtimeOf } from "./project-image.ts";

/** Opens this user's file of known broken walls. */
export function openKnownWalls({ XDG_STATE_HOME, HOME }: EnvironmentVariables): KnownWalls {
  const folder = XDG_STATE_HOME || join(HOME || homedir(), ".local/state");
  return new KnownWalls(join(folder, "ptc/walls.json"));
}

/**
 * Refuses to start when a required wall is known to be broken. Without any known broken wall, no engine is contacted or loaded.
 *
 * @param open opens the engine; by default that of `./engine.ts`.
 * @throws SandboxError
 */
export async function refuseBrokenWalls(
  configuration: Configuration,
  env: EnvironmentVariables,
  open?: OpenEngine,
): Promise<void> {
  const walls = openKnownWalls(env);
  if (!walls.hasSuspects) return;
  const openEngine = open ?? (await import("./engine.ts")).ENGINE.open;
  const { sandbox } = configuration;
  const { state } = openState(env);
  try {
    const engine = openEngine({
      folder: state.path,
      runners: RUNNER_STARTS,
      choice: sandbox.engine,
      runtime: sandbox.runtime,
      channel: sandbox.channel,
      address: sandbox.engineAddress,
    });
    const image = await engine.findImage(imageOf(configuration).reference);
    if (image !== undefined)
      await walls.refuseBroken({ engine, runtime: runtimeOf(configuration), image: image.digest });
  } finally {
    state.remove();
  }
}
