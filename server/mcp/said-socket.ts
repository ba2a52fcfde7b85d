/**
 * Brings what the user says to a client to its `ptc serve`, without passing through a model. A hook of the client runs `ptc said`,
 * which sends the text to a socket in the private folder of the serving process. Both processes are children of the same client. This
 * is how they find each other, and why a prompt to one client is not mistaken for a prompt to another. A model with a shell can start
 * such a child too.
 */
import * as z from "zod";
import { parseForeignJson } from "../../base/json.ts";
import { ancestorsOf } from "../../system/ancestors.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { askProcess, findProcessSockets, ProcessSocket } from "../../system/process-socket.ts";

const SAID_SOCKET = "said.sock";
export const MAX_SAID_BYTES = 1024 * 1024;
const MAX_DEPTH = 4;
/** A hook is started by its client through a shell at most. */
const HOOK_LEVELS = 3;
const TAKEN = "taken";

const Said = z.strictObject({ said: z.string(), from: z.array(z.int()).max(16) });

/**
 * Receives the words of the user of this process's client.
 *
 * @param folder the private folder of this process.
 * @param client the process that started this one.
 */
export function hearSaid(folder: string, client: number, onSaid: (text: string) => void): ProcessSocket {
  const answer = async (line: string) => {
    const said = parseSaid(line);
    if (said?.from.includes(client) !== true) return "not ours";
    onSaid(said.said);
    return TAKEN;
  };
  return new ProcessSocket(folder, SAID_SOCKET, { maxChars: MAX_SAID_BYTES, answer });
}

/** Reads one line of a hook; `undefined` if it is invalid. */
export function parseSaid(line: string): z.infer<typeof Said> | undefined {
  try {
    return Said.safeParse(parseForeignJson(line, { maxBytes: MAX_SAID_BYTES, maxDepth: MAX_DEPTH })).data;
  } catch {
    return undefined;
  }
}

/** Sends the user's words to each `ptc serve` of the client that started this process. Resolves with how many accepted them. */
export async function handOver(said: string, env: EnvironmentVariables, pid = process.pid): Promise<number> {
  const line = JSON.stringify({ said, from: ancestorsOf(pid, HOOK_LEVELS) });
  const sockets = findProcessSockets(SAID_SOCKET, env);
  const answers = await Promise.all(sockets.map(({ path }) => askProcess(path, line, 100)));
  return answers.filter((answer) => answer === TAKEN).length;
}
