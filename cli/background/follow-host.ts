import { open } from "node:fs/promises";
import type { Socket } from "node:net";
import { isObject } from "../../base/json.ts";
import type { CallersProcess } from "./callers-process.ts";
import type { CallersStdin } from "./callers-stdin.ts";
import { ALIVE_MS, type MessageToCaller, receiveMessages, sendMessage } from "./host-messages.ts";

/** How many times in a row a host may be late with a sign of life: while its work can be begun anew, and after that. */
const MAX_LATE = 5;
const MAX_LATE_CALLING = 30;
const CHUNK_BYTES = 256 * 1024;

/** How a host's work for a caller has ended. */
export type HostEnd =
  | { kind: "exit"; code: number }
  | { kind: "refused"; why: string; isReplaced: boolean }
  /** The host has crashed, or hangs. `runId`: the run that it had begun to make calls for. */
  | { kind: "lost"; why: string; runId: string | undefined };

/**
 * Does for a host what only the caller's process can: prints, reads, passes signals on. Resolves when the host is done or
 * lost. Text that it sent before is printed by then.
 *
 * @param patienceMs how long the host may take for its first word.
 */
export function followHost(
  socket: Socket,
  stdin: CallersStdin,
  caller: CallersProcess,
  patienceMs: number,
): Promise<HostEnd> {
  const { stdout, stderr } = caller;
  let runId: string | undefined;
  /** What was printed on stdout. A command that has given its output is not run again. */
  let printed = "";
  let late = 0;
  return new Promise((resolve) => {
    const end = (outcome: HostEnd) => {
      clearTimeout(welcome);
      clearInterval(watch);
      for (const stream of [stdout, stderr]) stream.off("resize", resized);
      resolve(outcome);
    };
    const lose = (why: string) => {
      if (printed !== "") end({ kind: "exit", code: exitCodeOf(printed) });
      else end({ kind: "lost", why, runId });
    };
    const resized = () =>
      void sendMessage(socket, { kind: "resized", stdout: stdout.columns ?? 0, stderr: stderr.columns ?? 0 });
    const welcome = setTimeout(() => lose("the background host does not answer"), patienceMs);
    const watch = setInterval(() => {
      if (++late > (runId === undefined ? MAX_LATE : MAX_LATE_CALLING)) lose("the background host hangs");
    }, ALIVE_MS);
    for (const stream of [stdout, stderr]) {
      stream.on("error", () => {});
      if (stream.isTTY === true) stream.on("resize", resized);
    }
    const printing: Record<"stdout" | "stderr", Promise<void>> = {
      stdout: Promise.resolve(),
      stderr: Promise.resolve(),
    };
    const receive = (message: MessageToCaller) => {
      late = 0;
      switch (message.kind) {
        case "welcome":
          return clearTimeout(welcome);
        case "refused":
          return end(message);
        case "out": {
          const bytes = Buffer.from(message.bytes, "base64");
          if (message.to === "stdout") printed += bytes.toString("latin1");
          const stream = message.to === "stdout" ? stdout : stderr;
          printing[message.to] = new Promise((done) => stream.write(bytes, () => done()));
          return;
        }
        case "stdin":
          if (message.want === "pause") return stdin.pause();
          if (message.want !== "flow") return stdin.setRawMode(message.want === "raw");
          return stdin.flow((bytes) => {
            void sendMessage(socket, {
              kind: "stdin",
              bytes: bytes === null ? null : bytes.toString("base64"),
            });
          });
        case "file":
          return void readFor(message).then((answer) => sendMessage(socket, answer));
        case "listen":
          return void caller.on(message.signal, () => {
            void sendMessage(socket, { kind: "signal", signal: message.signal });
          });
        case "calling":
          runId = message.runId;
          return;
        case "exit":
          return void Promise.all(Object.values(printing)).then(() =>
            end({ kind: "exit", code: message.code }),
          );
        default:
      }
    };
    receiveMessages(socket, (message) => {
      if (isObject(message)) receive(message as unknown as MessageToCaller);
    });
    socket.once("close", () => lose("the background host has ended unexpectedly"));
    socket.on("error", () => {});
  });
}

/** Reads a file as the caller sees it, which may be a pipe of its own. */
async function readFor({ id, path, maxBytes }: MessageToCaller & { kind: "file" }) {
  try {
    const handle = await open(path);
    const chunks: Buffer[] = [];
    try {
      for (let length = 0; length < maxBytes; ) {
        const room = Math.min(CHUNK_BYTES, maxBytes - length);
        const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(room), 0, room);
        if (bytesRead === 0) break;
        chunks.push(buffer.subarray(0, bytesRead));
        length += bytesRead;
      }
    } finally {
      await handle.close();
    }
    return { kind: "file" as const, id, bytes: Buffer.concat(chunks).toString("base64") };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return { kind: "file" as const, id, code };
  }
}

/** The exit code of a command whose host was lost after its output: that of a failed run for the envelope of one. */
function exitCodeOf(printed: string): number {
  return /^\{"run_id":.*"result":\{"ok":false,/.test(printed) ? 1 : 0;
}
