import { setImmediate as nextTurn } from "node:timers/promises";
import { STDERR_FILE_NAME, STDOUT_FILE_NAME } from "../../../protocol/paths.ts";
import type { SandboxOutput } from "../../sandbox.ts";
import { SocketListener } from "./socket-listener.ts";

/**
 * The host's ends of the sockets that are a runner's stdout and stderr (runner-image/guard.pl). What is written there comes
 * without the engine's copies of a container's output, which take milliseconds.
 */
export class OutputSockets {
  readonly #listeners: readonly SocketListener[];
  /** Settles for each socket that was connected, when its last byte has been passed on. */
  readonly #delivered: Promise<void>[] = [];

  private constructor(listeners: readonly [SocketListener, SocketListener], output: SandboxOutput) {
    this.#listeners = listeners;
    const [stdout, stderr] = listeners;
    this.#deliver(stdout, (chunk) => output.onStdout(chunk));
    this.#deliver(stderr, (chunk) => output.onStderr(chunk));
  }

  /** @param directory the folder that is mounted into the sandbox. */
  static async listen(directory: string, output: SandboxOutput): Promise<OutputSockets> {
    const stdout = await SocketListener.listen(directory, STDOUT_FILE_NAME);
    try {
      return new OutputSockets([stdout, await SocketListener.listen(directory, STDERR_FILE_NAME)], output);
    } catch (error) {
      stdout.close();
      throw error;
    }
  }

  /** The sandbox has ended: resolves when all that it wrote has been passed on. */
  async ended(): Promise<void> {
    // A connection that is made already is reported in the next turn.
    await nextTurn();
    this.close();
    await Promise.all(this.#delivered);
  }

  /** Takes no connection any more. */
  close(): void {
    for (const listener of this.#listeners) listener.close();
  }

  #deliver({ connection }: SocketListener, pass: (chunk: Buffer) => void): void {
    void connection.then((socket) => {
      socket.on("data", pass);
      this.#delivered.push(new Promise((resolve) => socket.once("close", () => resolve())));
    });
  }
}
