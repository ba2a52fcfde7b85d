import { chmodSync, existsSync, readdirSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import * as z from "zod";
import { parseForeignJson } from "../../base/json.ts";
import { ancestorsOf } from "../../system/ancestors.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { currentProcess, isDead, parseIdentity } from "../../system/process-identity.ts";
import { stateFolders } from "../../system/state-directory.ts";

/**
 * Brings what the user says to a client to its `ptc serve`, without passing through a model. A hook of the client runs `ptc said`,
 * which sends the text to a socket in the private folder of the serving process. Both processes are children of the same client. This
 * is how they find each other, and why a prompt to one client is not mistaken for a prompt to another. A model with a shell can start
 * such a child too.
 */

const SAID_SOCKET = "said.sock";
export const MAX_SAID_BYTES = 1024 * 1024;
const MAX_DEPTH = 4;
const PATIENCE_MS = 5_000;
/** A hook is started by its client through a shell at most. */
const HOOK_LEVELS = 3;

const Said = z.strictObject({ said: z.string(), from: z.array(z.int()).max(16) });

/** Receives the words of the user of this process's client. */
export class SaidSocket {
  readonly #server: Server;
  readonly #path: string;
  readonly #open = new Set<Socket>();

  /**
   * @param folder the private folder of this process.
   * @param client the process that has started this one.
   */
  constructor(folder: string, client: number, onSaid: (text: string) => void) {
    this.#path = join(folder, SAID_SOCKET);
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
        if (end < 0 && text.length <= MAX_SAID_BYTES) return;
        socket.removeAllListeners("data");
        const said = parseSaid(text.slice(0, Math.max(0, end)));
        const isOurs = said?.from.includes(client) === true;
        if (said !== undefined && isOurs) onSaid(said.said);
        socket.end(isOurs ? "taken\n" : "not ours\n");
      });
    });
    this.#server.on("error", () => {});
    this.#server.listen(this.#path, () => chmodSync(this.#path, 0o600));
    this.#server.unref();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
    rmSync(this.#path, { force: true });
  }
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
  const self = currentProcess();
  const from = ancestorsOf(pid, HOOK_LEVELS);
  const sockets = stateFolders(env, self).flatMap((base) =>
    existsSync(base)
      ? readdirSync(base)
          .filter((name) => parseIdentity(name)?.host === self.host && !isDead(name, self))
          .map((name) => join(base, name, SAID_SOCKET))
          .filter((path) => existsSync(path))
      : [],
  );
  const taken = await Promise.all(sockets.map((path) => send(path, `${JSON.stringify({ said, from })}\n`)));
  return taken.filter((each) => each).length;
}

function send(path: string, line: string): Promise<boolean> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(path, () => socket.write(line));
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.on("error", () => {});
    socket.setEncoding("utf8").on("data", (piece: string) => {
      answer += piece;
      if (answer.length > 100) socket.destroy();
    });
    socket.once("close", () => resolve(answer === "taken\n"));
  });
}
