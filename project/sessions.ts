import { projectOf } from "../execution/sessions/open-sessions.ts";
import { whyNoSession } from "../execution/sessions/session-name.ts";
import { type FoundSessions, findSessions } from "../execution/sessions/sessions-socket.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";

/** The sessions of this user and project in all processes. @param name the one that is asked for. @throws Refusal */
export async function openSessions(project: Project, name = "any"): Promise<FoundSessions> {
  refuseSession(project, name);
  return findSessions(projectOf(project.configuration), project.env);
}

/** @param by goes before the reason. @throws Refusal if no program can run in a session of this name. */
export function refuseSession({ configuration }: Project, name: string, by = ""): void {
  const refused = whyNoSession(name, configuration);
  if (refused !== undefined) throw new Refusal(by + refused);
}
