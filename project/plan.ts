/** What a program would change: its rehearsal alone, for people, CI and models. */
import { UNASKED } from "../broker/approvals/approvals.ts";
import type { PlannedProgram } from "../execution/plan/dry-run.ts";
import type { ProgramRequest } from "../execution/run-request.ts";
import { localContext } from "./local-user.ts";
import { openHost } from "./open-host.ts";
import type { Project } from "./open-project.ts";

/** A program to rehearse for the user of this machine. */
export type PlanRequest = Pick<
  ProgramRequest,
  "program" | "timeoutMs" | "typecheck" | "checkPatienceMs" | "signal"
>;

/**
 * Rehearses a program as the local user. It changes nothing, asks nobody, and is not archived. The sandboxes end with the project.
 *
 * @throws CatalogError, StateDirectoryError as a run does.
 */
export async function planLocally(project: Project, request: PlanRequest): Promise<PlannedProgram> {
  const host = openHost(project);
  return host.plan({
    ...request,
    context: localContext("run", project.env),
    approver: { ask: async () => UNASKED },
  });
}
