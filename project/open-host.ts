import { UNASKED } from "../broker/approvals/approvals.ts";
import type { ProgramRequest } from "../execution/run-request.ts";
import { composition } from "./composition.ts";
import { Host, type HostOptions } from "./host.ts";
import { localContext } from "./local-user.ts";
import type { Project } from "./open-project.ts";
import { type PresentedPlan, presentPlan } from "./plan.ts";

/** Opens the host of a project for one command. Importing this module loads everything that runs programs. */
export function openHost(project: Project, options: HostOptions = {}): Host {
  return new Host(project, options, async () => composition);
}

/**
 * Rehearses a program as the local user. It changes nothing, asks nobody, and is not archived. The sandboxes end with the project.
 *
 * @throws CatalogError, StateDirectoryError as a run does.
 */
export async function planLocally(
  project: Project,
  request: Pick<ProgramRequest, "program" | "timeoutMs" | "typecheck" | "checkPatienceMs" | "signal">,
): Promise<PresentedPlan> {
  const planned = await openHost(project).plan({
    ...request,
    context: localContext("run", project.env),
    approver: { ask: async () => UNASKED },
  });
  return presentPlan(planned);
}
