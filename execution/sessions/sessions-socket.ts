/** Lists the sessions of a process for other processes of its user, and ends sessions on their request. */
import * as z from "zod";
import { parseForeignJson } from "../../base/json.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { askProcess, findProcessSockets, ProcessSocket } from "../../system/process-socket.ts";
import type { OpenSessions } from "./kept-session.ts";

/** The socket in the private folder of a process that has sessions. */
const SESSIONS_SOCKET = "sessions.sock";

const MAX_QUESTION_CHARS = 1_024;
const MAX_ANSWER_CHARS = 1024 * 1024;
const QUESTION = { maxBytes: MAX_QUESTION_CHARS, maxDepth: 4 };
const ANSWER = { maxBytes: MAX_ANSWER_CHARS, maxDepth: 8 };

/** What another process asks, as one line of JSON. */
const SessionsQuestion = z.discriminatedUnion("wants", [
  z.strictObject({ wants: z.literal("list") }),
  z.strictObject({ wants: z.literal("end"), name: z.string() }),
]);
type SessionsQuestion = z.infer<typeof SessionsQuestion>;

/** The answer, as one line of JSON. */
const SessionsAnswer = z.object({
  /** The configuration of the process, or its folder if it has none. */
  project: z.string(),
  sessions: z.array(
    z.object({
      name: z.string(),
      language: z.string(),
      through: z.string(),
      programs: z.number(),
      started: z.string(),
      idle_since: z.string().optional(),
    }),
  ),
  hasEnded: z.boolean().optional(),
});
type SessionsAnswer = z.infer<typeof SessionsAnswer>;

/**
 * Answers for the sessions of this process.
 *
 * @param folder the private folder of this process.
 * @param project the path of the configuration that the sessions belong to.
 */
export function answerForSessions(
  folder: string,
  project: () => string,
  sessions: OpenSessions,
): ProcessSocket {
  const answer = async (line: string) => {
    const question = parseLine(SessionsQuestion, line, QUESTION);
    if (question === undefined) return undefined;
    const hasEnded = question.wants === "end" ? { hasEnded: await sessions.end(question.name) } : {};
    const said: SessionsAnswer = { project: project(), sessions: await sessions.list(), ...hasEnded };
    return JSON.stringify(said);
  };
  return new ProcessSocket(folder, SESSIONS_SOCKET, { maxChars: MAX_QUESTION_CHARS, answer });
}

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
  const answers = await Promise.all(
    findProcessSockets(SESSIONS_SOCKET, env).map(async (socket) => ({
      ...socket,
      answer: await ask(socket.path, { wants: "list" }),
    })),
  );
  const own = answers.filter(({ answer }) => answer?.project === project);
  const found = own.flatMap(({ pid, answer }) => (answer?.sessions ?? []).map((each) => ({ ...each, pid })));
  const socketOf = new Map(own.map(({ pid, path }) => [pid, path]));
  return {
    sessions: found.sort((a, b) => a.started.localeCompare(b.started)),
    end: async ({ pid, name }) => {
      const path = socketOf.get(pid);
      return path !== undefined && (await ask(path, { wants: "end", name }))?.hasEnded === true;
    },
  };
}

/** The answer of the process behind a socket; `undefined` if it does not answer. */
async function ask(path: string, question: SessionsQuestion): Promise<SessionsAnswer | undefined> {
  const line = await askProcess(path, JSON.stringify(question), MAX_ANSWER_CHARS);
  return parseLine(SessionsAnswer, line, ANSWER);
}

function parseLine<T>(schema: z.ZodType<T>, line: string, bounds: typeof ANSWER): T | undefined {
  try {
    return schema.safeParse(parseForeignJson(line, bounds)).data;
  } catch {
    return undefined;
  }
}
