/**
 * The messages between a command and a background host: frames of JSON, as on the socket of a sandbox. The command sends `hello`, and
 * the host answers `welcome` or `refused`. From then on the host runs the command, and uses the caller's terminal and files through
 * the caller.
 */
import type { Socket } from "node:net";
import { encodeFrame, FrameDecoder, FrameError, parsePayload } from "../../protocol/frames.ts";
import type { CallerMessage } from "./caller-messages.ts";
import type { HostIdentity } from "./host-identity.ts";

/** The most bytes of a message. A file for `--data` is the largest, as Base64. */
const MAX_MESSAGE_BYTES = 96 * 1024 * 1024;
const MAX_DEPTH = 8;

/** How often a host sends a sign of life while it works for a caller. */
export const ALIVE_MS = 1_000;

export interface HostStatus {
  pid: number;
  version: string;
  identity: HostIdentity;
  /** ISO 8601 */
  started: string;
  idleMs: number;
  /** Commands that it runs now, and has run. */
  running: number;
  served: number;
}

export type MessageToCaller =
  | { kind: "welcome" }
  /** The host does not run this command. `isReplaced`: the host ends, so that another can replace it. */
  | { kind: "refused"; why: string; isReplaced: boolean }
  | { kind: "out"; to: "stdout" | "stderr"; bytes: string }
  /** What the host wants the caller to do with its stdin. */
  | { kind: "stdin"; want: "flow" | "pause" | "raw" | "cooked" }
  | { kind: "file"; id: number; path: string; maxBytes: number }
  /** From now on the caller sends this signal to the host instead of ending. */
  | { kind: "listen"; signal: "SIGINT" | "SIGTERM" | "SIGHUP" }
  /** The program is about to make its first call. It must not be run again from now on. */
  | { kind: "calling"; runId: string }
  | { kind: "alive" }
  | { kind: "exit"; code: number }
  | { kind: "status"; status: HostStatus }
  | { kind: "stopping"; running: number };

/** Sends one message. Resolves when the kernel has it, or the connection is broken. @throws FrameError */
export function sendMessage(socket: Socket, message: CallerMessage | MessageToCaller): Promise<void> {
  const frame = encodeFrame(message, MAX_MESSAGE_BYTES);
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.write(frame, () => resolve());
  });
}

/** Calls `receive` with each message until the connection ends. An invalid message ends the connection. */
export function receiveMessages(socket: Socket, receive: (message: unknown) => void): void {
  const decoder = new FrameDecoder(MAX_MESSAGE_BYTES);
  socket.on("data", (chunk: Buffer) => {
    try {
      for (const payload of decoder.push(chunk)) receive(parsePayload(payload, MAX_DEPTH));
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      socket.destroy();
    }
  });
}
