import { existsSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { parseForeignJson } from "../../base/json.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { currentProcess, isDead, parseIdentity } from "../../system/process-identity.ts";
import { stateFolders } from "../../system/state-directory.ts";
import { SESSIONS_SOCKET, SessionsAnswer, type SessionsQuestion } from "./sessions-socket.ts";

const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_DEPTH = 8;
const PATIENCE_MS = 5_000;

/** A session, and the process that keeps it. */
type FoundSession = SessionsAnswer["sessions"][number] & { pid: number };

/** Sessions of this user's processes. */
export interface FoundSessions {
  sessions: FoundSession[];
  /** Ends a session. False when it has already ended. */
  end(session: FoundSession): Promise<boolean>;
}

/**
 * Finds the sessions of a project, oldest first, in all processes of this user on this machine: the background host and each
 * `ptc serve`. A process that does not answer counts as one without sessions.
 *
 * @param project the path of a configuration, or of a folder without one.
 */
export async function findSessions(project: string, env: EnvironmentVariables): Promise<FoundSessions> {
  const self = currentProcess();
  const processes = stateFolders(env, self).flatMap((base) =>
    existsSync(base)
      ? readdirSync(base)
          .filter((name) => parseIdentity(name)?.host === self.host && !isDead(name, self))
          .map((name) => ({ pid: parseIdentity(name)?.pid ?? 0, socket: join(base, name, SESSIONS_SOCKET) }))
      : [],
  );
  const answers = await Promise.all(
    processes
      .filter(({ socket }) => existsSync(socket))
      .map(async (process) => ({ ...process, answer: await ask(process.socket, { wants: "list" }) })),
  );
  const own = answers.filter(({ answer }) => answer?.project === project);
  const found = own.flatMap(({ pid, answer }) => (answer?.sessions ?? []).map((each) => ({ ...each, pid })));
  const socketOf = new Map(own.map(({ pid, socket }) => [pid, socket]));
  return {
    sessions: found.sort((a, b) => a.started.localeCompare(b.started)),
    end: async ({ pid, name }) =>
      (await ask(socketOf.get(pid) ?? "", { wants: "end", name }))?.hasEnded === true,
  };
}

/** The answer of the process behind a socket; `undefined` if it does not answer. */
function ask(path: string, question: SessionsQuestion): Promise<SessionsAnswer | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write(`${JSON.stringify(question)}\n`));
    let text = "";
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.on("error", () => {});
    socket.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      if (text.length > MAX_ANSWER_BYTES) socket.destroy();
    });
    socket.once("close", () => resolve(readAnswer(text)));
  });
}

function readAnswer(text: string): SessionsAnswer | undefined {
  try {
    const value = parseForeignJson(text, { maxBytes: MAX_ANSWER_BYTES, maxDepth: MAX_DEPTH });
    return SessionsAnswer.safeParse(value).data;
  } catch {
    return undefined;
  }
}
