import type { Configuration } from "../configuration/configuration.ts";
import { runnerOf } from "../languages/program-files.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { openState } from "../system/state-directory.ts";
import { type BegunSandbox, startSandboxAhead } from "./sandboxes.ts";

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
