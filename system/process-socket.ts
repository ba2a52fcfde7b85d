/**
 * Lets processes of one user ask each other: a socket in the private folder of a process, at which one question of a connection, a
 * line, gets one answer. No other user can open the folder.
 */
import { chmodSync, existsSync, readdirSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { EnvironmentVariables } from "./environment-variables.ts";
import { currentProcess, isDead, parseIdentity } from "./process-identity.ts";
import { stateFolders } from "./state-directory.ts";

const PATIENCE_MS = 5_000;

/** Answers other processes at a socket. */
export class ProcessSocket {
  readonly #server: Server;
  readonly #path: string;
  readonly #open = new Set<Socket>();

  /**
   * Begins to listen. Where that fails, nobody finds the socket, and nothing else happens.
   *
   * @param folder the private folder of this process.
   * @param maxChars the longest question.
   * @param answer gets a question without its line break, or an empty text for one that is too long. The connection ends without an
   *   answer where there is none, and where it fails.
   */
  constructor(
    folder: string,
    name: string,
    { maxChars, answer }: { maxChars: number; answer(question: string): Promise<string | undefined> },
  ) {
    this.#path = join(folder, name);
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
        if (end < 0 && text.length <= maxChars) return;
        socket.removeAllListeners("data");
        answer(text.slice(0, Math.max(0, end))).then(
          (answered) => (answered === undefined ? socket.destroy() : socket.end(`${answered}\n`)),
          () => socket.destroy(),
        );
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

/** The sockets of this name of all living processes of this user on this machine. */
export function findProcessSockets(name: string, env: EnvironmentVariables): { pid: number; path: string }[] {
  const self = currentProcess();
  return stateFolders(env, self)
    .filter((base) => existsSync(base))
    .flatMap((base) =>
      readdirSync(base).flatMap((folder) => {
        const identity = parseIdentity(folder);
        const path = join(base, folder, name);
        const isThere = identity?.host === self.host && !isDead(folder, self) && existsSync(path);
        return isThere ? [{ pid: identity.pid, path }] : [];
      }),
    );
}

/** Asks at a socket. Resolves with the answer without its line break; with an empty text where there is no whole one, or it is too long. */
export function askProcess(path: string, question: string, maxChars: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write(`${question}\n`));
    let text = "";
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.on("error", () => {});
    socket.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
      if (text.length > maxChars) socket.destroy();
    });
    socket.once("close", () =>
      resolve(text.length <= maxChars && text.endsWith("\n") ? text.slice(0, -1) : ""),
    );
  });
}
