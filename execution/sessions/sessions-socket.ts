import { chmodSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import * as z from "zod";
import { parseForeignJson } from "../../base/json.ts";
import type { OpenSessions } from "./kept-session.ts";

/** The socket in the private folder of a process that has sessions. */
export const SESSIONS_SOCKET = "sessions.sock";

const MAX_QUESTION_BYTES = 1_024;
const MAX_DEPTH = 4;
const PATIENCE_MS = 5_000;

/** What another process asks, as one line of JSON. */
export const SessionsQuestion = z.discriminatedUnion("wants", [
  z.strictObject({ wants: z.literal("list") }),
  z.strictObject({ wants: z.literal("end"), name: z.string() }),
]);
export type SessionsQuestion = z.infer<typeof SessionsQuestion>;

/** The answer, as one line of JSON. */
export const SessionsAnswer = z.object({
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
export type SessionsAnswer = z.infer<typeof SessionsAnswer>;

/**
 * Lists the sessions of this process for other processes of this user, and ends sessions on their request. The socket exists from
 * the first session on, in a folder that no other user can open.
 */
export class SessionsSocket {
  readonly #server: Server;
  readonly #path: string;
  readonly #open = new Set<Socket>();

  /**
   * @param folder the private folder of this process.
   * @param project the path of the configuration that the sessions belong to.
   */
  constructor(folder: string, project: () => string, sessions: OpenSessions) {
    this.#path = join(folder, SESSIONS_SOCKET);
    rmSync(this.#path, { force: true });
    this.#server = createServer((socket) => {
      this.#open.add(socket);
      socket.setTimeout(PATIENCE_MS, () => socket.destroy());
      socket.on("error", () => {});
      socket.once("close", () => this.#open.delete(socket));
      let text = "";
      socket.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
        const end = text.indexOf("\n");
        if (end < 0 && text.length <= MAX_QUESTION_BYTES) return;
        socket.removeAllListeners("data");
        const question = readQuestion(text.slice(0, Math.max(0, end)));
        if (question === undefined) socket.destroy();
        else
          void answer(question, project(), sessions).then(
            (line) => socket.end(line),
            () => socket.destroy(),
          );
      });
    });
    // Without the socket, `ptc sessions` does not find the sessions, but programs still run.
    this.#server.on("error", () => {});
    this.#server.listen(this.#path, () => chmodSync(this.#path, 0o600));
    this.#server.unref();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
  }
}

function readQuestion(line: string): SessionsQuestion | undefined {
  try {
    const value = parseForeignJson(line, { maxBytes: MAX_QUESTION_BYTES, maxDepth: MAX_DEPTH });
    return SessionsQuestion.safeParse(value).data;
  } catch {
    return undefined;
  }
}

async function answer(question: SessionsQuestion, project: string, sessions: OpenSessions): Promise<string> {
  const hasEnded = question.wants === "end" ? { hasEnded: await sessions.end(question.name) } : {};
  const said: SessionsAnswer = { project, sessions: await sessions.list(), ...hasEnded };
  return `${JSON.stringify(said)}\n`;
}
