/**
 * Runs a server in a sandbox: the same wall as for programs, with the launcher of servers (runner-image/server) in the place of a
 * runner. The server's stdin and stdout are sockets of their own where the engine can pass them on, so that no process inside stands
 * between the server and ptc. Otherwise they are a stream over the sandbox's one channel, as its stderr and its connections always are.
 */

import type { Duplex, Readable, Writable } from "node:stream";
import * as z from "zod/mini";
import { parseForeignJson } from "../../base/json.ts";
import { settlesWithin } from "../../base/waiting.ts";
import { Multiplexer } from "../../protocol/multiplexer.ts";
import {
  LAUNCH_STREAMS,
  LauncherRequest,
  ServerEnd,
  type ServerLaunch,
} from "../../protocol/server-launch.ts";
import type { Sandbox, SandboxOutput, SandboxSource, ServerStdio } from "../sandbox.ts";
import { SandboxError } from "../sandbox-error.ts";

/** Where the connections of a server lead to. */
export interface ServerEgress {
  /** Carries the bytes of a connection, or destroys it. Nothing is checked yet. */
  connect(host: string, port: number, stream: Duplex): void;
  /** The server asked for a name that it may not reach. */
  refuse(host: string): void;
}

/** The process of a server in a sandbox. */
export interface SandboxedServer {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly pid: undefined;
  /** Resolves when it has ended and its sandbox is removed. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly drained: Promise<void>;
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

const REQUEST_LIMITS = { maxBytes: 4_096, maxDepth: 2 };
const MAX_LAUNCH_BYTES = 4_096;
const MAX_COMPLAINT_CHARS = 1_000;
/** How long to wait for the rest of a server's output once it has ended. */
const DRAIN_MS = 500;
const LAUNCH_PATIENCE_MS = 30_000;
/** The exit code of a sandbox that was killed, also for its memory. */
const SIGKILLED = 137;

const Started = z.union([z.object({ started: z.literal(true) }), ServerEnd]);

/**
 * Starts a server in a sandbox of the source.
 *
 * @throws SandboxError, or an Error with the `code` of `spawn` if the sandbox has no such command, after everything is removed.
 */
export async function startSandboxedServer(
  source: SandboxSource,
  launch: ServerLaunch,
  egress: ServerEgress,
  signal: AbortSignal,
): Promise<SandboxedServer> {
  const complaint = new Complaint();
  const sandbox = await source.acquire(complaint, signal);
  const multiplexer = new Multiplexer(sandbox.channel, {
    end: "ptc",
    onStream: (stream, label) => serve(stream, label, egress),
    // A launcher that breaks the protocol is no launcher any more.
    onEnd: () => void sandbox.kill().catch(() => {}),
  });
  const stdio = sandbox.stdio ?? Promise.resolve(bothWays(multiplexer.open(LAUNCH_STREAMS.messages)));
  const errors = multiplexer.open(LAUNCH_STREAMS.errors);
  const control = multiplexer.open(LAUNCH_STREAMS.launch);
  control.end(JSON.stringify(launch));
  const lines = readLines(control);
  const abandon = async () => {
    multiplexer.close();
    await sandbox.dispose();
  };
  const onAbort = () => void sandbox.kill().catch(() => {});
  signal.addEventListener("abort", onAbort, { once: true });
  let own: ServerStdio | undefined;
  try {
    const first = await Promise.race([
      lines.next(),
      sandbox.exited.then(() => undefined),
      delayed(LAUNCH_PATIENCE_MS),
    ]);
    if (signal.aborted) throw new SandboxError("cancelled", "cancelled before the server was started");
    const started = first === undefined ? undefined : Started.safeParse(first).data;
    if (started === undefined)
      throw new SandboxError("start_failed", `the launcher of its sandbox did not answer${complaint.text}`);
    if ("error" in started && started.error !== undefined)
      throw Object.assign(new Error(`spawn ${launch.command} ${started.error}`), { code: started.error });
    own = await Promise.race([stdio, sandbox.exited.then(() => undefined)]);
    if (own === undefined) throw new SandboxError("start_failed", `its sandbox has ended${complaint.text}`);
  } catch (error) {
    await abandon();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  const { stdin, stdout } = own;
  const drained = Promise.all([closed(stdout), closed(errors)]).then(() => {});
  return {
    stdin,
    stdout,
    stderr: errors,
    pid: undefined,
    drained,
    ended: end(),
    signal(name) {
      if (name === "SIGKILL") onAbort();
      else multiplexer.open(name).destroy();
    },
  };

  async function end(): ReturnType<typeof endOf> {
    const ended = await endOf(sandbox, lines.next());
    await settlesWithin(drained, DRAIN_MS);
    await abandon();
    return ended;
  }
}

async function endOf(
  { exited }: Sandbox,
  told: Promise<unknown>,
): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  const lost = exited.then(
    ({ code }) => code,
    () => SIGKILLED,
  );
  const said = await Promise.race([told, lost]);
  const end = typeof said === "object" ? ServerEnd.safeParse(said).data : undefined;
  if (end !== undefined)
    return { code: end.code ?? null, signal: (end.signal ?? null) as NodeJS.Signals | null };
  const code = typeof said === "number" ? said : await lost;
  return code === SIGKILLED ? { code: null, signal: "SIGKILL" } : { code, signal: null };
}

function serve(stream: Duplex, label: string, egress: ServerEgress): void {
  let request: LauncherRequest;
  try {
    request = LauncherRequest.parse(parseForeignJson(label, REQUEST_LIMITS));
  } catch {
    // The first stream of the launcher is only a sign of life.
    stream.destroy();
    return;
  }
  if (request.kind === "connect") egress.connect(request.host.toLowerCase(), request.port, stream);
  else {
    stream.destroy();
    egress.refuse(request.host.toLowerCase());
  }
}

/** Reads the JSON lines of a stream, in bounds. Each is undefined from the end of the stream on. */
function readLines(stream: Readable): { next(): Promise<unknown> } {
  let buffered = "";
  let isOver = false;
  let wake = () => {};
  stream.on("data", (chunk: Buffer) => {
    if (buffered.length < MAX_LAUNCH_BYTES) buffered += chunk.toString("utf8");
    wake();
  });
  stream.on("close", () => {
    isOver = true;
    wake();
  });
  return {
    async next() {
      for (;;) {
        const end = buffered.indexOf("\n");
        if (end >= 0) {
          const line = buffered.slice(0, end);
          buffered = buffered.slice(end + 1);
          try {
            return parseForeignJson(line, REQUEST_LIMITS);
          } catch {
            return undefined;
          }
        }
        if (isOver || buffered.length >= MAX_LAUNCH_BYTES) return undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** A stream over the channel as both, which is over when the server closes its stdout, as its socket would be. */
function bothWays(stream: Duplex): ServerStdio {
  stream.once("end", () => stream.destroy());
  return { stdin: stream, stdout: stream };
}

function closed(stream: Duplex): Promise<void> {
  return new Promise((resolve) => {
    // The readable end is what counts: ptc may still have its end of stdin open.
    stream.once("end", resolve);
    stream.once("close", resolve);
  });
}

function delayed(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
}

/** What the launcher itself prints, which is nothing unless something is wrong. */
class Complaint implements SandboxOutput {
  #text = "";

  onStdout(chunk: Buffer): void {
    this.onStderr(chunk);
  }

  onStderr(chunk: Buffer): void {
    if (this.#text.length < MAX_COMPLAINT_CHARS) this.#text += chunk.toString("utf8");
  }

  get text(): string {
    const line = this.#text.slice(0, MAX_COMPLAINT_CHARS).trim().replaceAll(/\s+/g, " ");
    return line === "" ? "" : `: ${line}`;
  }
}
