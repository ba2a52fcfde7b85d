import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The socket of PostgreSQL within a folder. */
const SOCKET = ".s.PGSQL.5432";

/** Stands between ptc and a server, and cuts connections at moments that a test chooses. */
export class CutProxy {
  readonly folder = mkdtempSync(join(tmpdir(), "ptc-cut-"));
  readonly #target: string;
  readonly #server = createServer((client) => this.#join(client));
  readonly #open = new Set<Socket>();
  #when: ((sent: Buffer) => boolean) | undefined;
  readonly #silent = new Set<Socket>();
  cuts = 0;

  constructor(target: string) {
    this.#target = target;
    chmodSync(this.folder, 0o755);
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(join(this.folder, SOCKET), resolve));
  }

  /**
   * Cuts a connection once: after the server has done what was sent, and before ptc hears of it.
   *
   * @param when whether something that is sent is what this waits for.
   */
  loseReplyTo(when: (sent: Buffer) => boolean): void {
    this.#when = when;
  }

  /** From now on, nothing passes through the connections that are open, and none of them ends. New ones work. */
  fallSilent(): void {
    for (const socket of this.#open) this.#silent.add(socket);
  }

  async stop(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.folder, { recursive: true, force: true });
  }

  #join(client: Socket): void {
    const upstream = connect(join(this.#target, SOCKET));
    let isLost = false;
    const end = () => {
      for (const socket of [client, upstream]) socket.destroy();
    };
    for (const socket of [client, upstream]) {
      this.#open.add(socket);
      socket.on("error", end).on("close", end);
    }
    client.on("data", (sent: Buffer) => {
      if (this.#silent.has(client)) return;
      if (this.#when?.(sent) === true) {
        this.#when = undefined;
        isLost = true;
      }
      upstream.write(sent);
    });
    upstream.on("data", (answer: Buffer) => {
      if (this.#silent.has(client)) return;
      if (!isLost) {
        client.write(answer);
        return;
      }
      this.cuts++;
      end();
    });
  }
}
