import { type BegunSandbox, startSandboxAhead } from "./composition/sandboxes.ts";
import type { Configuration } from "./configuration/configuration.ts";
import type { EnvironmentVariables } from "./environment-variables.ts";
import { openState } from "./processes/state-directory.ts";
import { runnerOf } from "./program-files.ts";

/**
 * Begins to start a sandbox for a command that will run one program, so that it starts while the rest of ptc is loaded. A `Host`
 * takes it over, and ends it when no program takes it. Why it could not be started is told to the program that asks for it.
 *
 * @param language of the program, as far as it is known.
 * @throws SandboxError when the folder for this process's files cannot be made.
 */
export function beginSandbox(
  configuration: Configuration,
  env: EnvironmentVariables,
  language: string,
): Promise<BegunSandbox> {
  return startSandboxAhead(configuration, openState(env), env, runnerOf(language));
}
