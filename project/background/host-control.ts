/** Asks the background host of a project what it does, or ends it. */

import { Refusal } from "../refusal.ts";
import type { Surroundings } from "../surroundings.ts";
import { askOnce, connectTo } from "./ask-host.ts";
import { killHost } from "./host-files.ts";
import type { HostStatus } from "./host-messages.ts";
import { findHost, findProject, placeOf, UnsafePlaceError } from "./host-place.ts";

const ANSWER_PATIENCE_MS = 5_000;

/** Where a host listens, and the secret that it asks for. */
interface ReachedHost {
  socket: string;
  token: string;
}

/** Asks a host to end, and kills it if it does not answer. Returns the outcome as text. */
export async function stopHostAt({ socket, token }: ReachedHost): Promise<string> {
  const answer = await askHostAt({ socket, token }, "stop");
  if (answer?.kind === "stopping") {
    const { running } = answer;
    const rest = running === 0 ? "" : `; it ends with the last of the commands that it runs (${running})`;
    return `the background host was stopped${rest}`;
  }
  const pid = killHost(socket);
  return pid === undefined
    ? "the background host has ended unexpectedly"
    : `the background host did not answer, and its process ${pid} was killed`;
}

/** What a host says of itself; `undefined` if it does not answer. */
export async function statusOfHost(host: ReachedHost): Promise<HostStatus | undefined> {
  const answer = await askHostAt(host, "status");
  return answer?.kind === "status" ? answer.status : undefined;
}

async function askHostAt({ socket, token }: ReachedHost, wants: "status" | "stop") {
  const connection = await connectTo(socket);
  if (typeof connection === "string") return undefined;
  try {
    return await askOnce(connection, wants, { token, patienceMs: ANSWER_PATIENCE_MS });
  } finally {
    connection.destroy();
  }
}

/**
 * The background host of a project, or why there is none to ask.
 *
 * @param config the value of `--config`.
 * @throws Refusal if there is no such file, or others could have made the place of the host.
 */
export function findBackgroundHost(
  config: string | undefined,
  { env, cwd }: Pick<Surroundings, "env" | "cwd">,
): ReachedHost | string {
  const project = findProject({ flag: config, env, cwd: cwd() });
  if (project === undefined) throw new Refusal(`${config ?? "the configuration"}: there is no such file`);
  try {
    const found = findHost(placeOf(project, env));
    if (found === undefined) return "no background host runs for this project";
    return found;
  } catch (error) {
    if (error instanceof UnsafePlaceError) throw new Refusal(error.message);
    throw error;
  }
}
