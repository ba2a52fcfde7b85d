import { chmodSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { MAX_CONNECTIONS } from "../../../protocol/limits.ts";

/** The host's end of one of a sandbox's sockets. It accepts a single connection and then stops listening. */
export class SocketListener {
  readonly connection: Promise<Socket>;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.connection = new Promise((resolve) => {
      server.once("connection", (socket) => {
        server.close();
        // An error before anyone reads must not end the process. The reader learns of the end from `close`.
        socket.on("error", () => {});
        resolve(socket);
      });
    });
  }

  /** @param directory a folder that only this user and the sandbox can enter. */
  static async listen(directory: string, name: string): Promise<SocketListener> {
    const path = join(directory, name);
    const server = createServer();
    server.maxConnections = MAX_CONNECTIONS;
    const listener = new SocketListener(server);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
    chmodSync(path, 0o666);
    return listener;
  }

  close(): void {
    this.#server.close();
  }
}
