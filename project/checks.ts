import type { InterceptorSettings } from "../configuration/configuration.ts";
import { Checks } from "../execution/checks/checks.ts";
import { type LoginSecrets, readAuthSecret } from "../upstream/secret-sources.ts";
import type { Project } from "./open-project.ts";

/**
 * The checks of others that calls of a project go through, which end with it.
 *
 * @param settings those in force.
 * @param secrets reads the addresses and keys of the checks.
 */
export function composeChecks(
  project: Project,
  settings: () => readonly InterceptorSettings[],
  secrets: LoginSecrets,
): Checks {
  const { redactor, env } = project;
  const checks = new Checks({
    settings,
    redactor,
    env,
    readSecret: async (secret, signal) => (await readAuthSecret(secret, secrets, signal)) ?? "",
  });
  project.onClose(async () => checks.close());
  return checks;
}
