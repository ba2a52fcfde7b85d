import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { connect, createSecureContext, type SecureContext } from "node:tls";
import { messageOf } from "../../base/faults.ts";
import { GUARD_COMMANDS } from "../../protocol/guard.ts";
import {
  LAUNCHER_BEAT_MS,
  LAUNCHER_EXIT,
  LAUNCHER_NAME,
  LAUNCHER_PORT,
  MAX_PREFACE_BYTES,
} from "../../protocol/launcher.ts";
import { AttachedChannel } from "../guard-channel.ts";
import type { SandboxOutput } from "../sandbox.ts";
import { SandboxError } from "../sandbox-error.ts";

const CONNECT_PATIENCE_MS = 10_000;
const CONNECT_PAUSE_MS = 100;
/** Beats without an answer after which the pod counts as lost. */
const MAX_UNANSWERED = 4;

/** What proves to a launcher who ptc is, and to ptc what a launcher is. */
export type LauncherKeys = SecureContext;

/** The keys of a folder as they were read last. */
const known = new Map<string, { texts: string; keys: LauncherKeys }>();

/**
 * Reads `ca.crt`, `tls.crt` and `tls.key`, the files of a Secret for TLS. They are parsed when they have changed.
 *
 * @throws SandboxError `start_failed`
 */
export function readLauncherKeys(folder: string): LauncherKeys {
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  try {
    const [ca, cert, key] = [read("ca.crt"), read("tls.crt"), read("tls.key")];
    const texts = JSON.stringify([ca, cert, key]);
    const before = known.get(folder);
    if (before?.texts === texts) return before.keys;
    const keys = createSecureContext({ ca, cert, key, minVersion: "TLSv1.3" });
    known.set(folder, { texts, keys });
    return keys;
  } catch (cause) {
    throw new SandboxError(
      "start_failed",
      `sandbox.kubernetes.certificates is to be a folder with ca.crt, tls.crt and tls.key: ${messageOf(cause)}`,
      { cause },
    );
  }
}

/**
 * Connects to the launcher of a pod: by TLS, with a certificate on either side. A pod is ready when its container has started, which
 * is before its launcher listens, so a connection that is refused is tried again for some seconds: it has begun nothing.
 *
 * @throws SandboxError `start_failed`
 */
export async function connectLauncher(address: string, keys: LauncherKeys): Promise<Duplex> {
  const end = performance.now() + CONNECT_PATIENCE_MS;
  for (;;) {
    try {
      return await connectOnce(address, keys);
    } catch (error) {
      if (!isRefused(error) || performance.now() > end) throw error;
    }
    await delay(CONNECT_PAUSE_MS);
  }
}

function isRefused(error: unknown): boolean {
  const cause = error instanceof SandboxError ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
}

function connectOnce(address: string, keys: LauncherKeys): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: address,
      port: LAUNCHER_PORT,
      secureContext: keys,
      servername: LAUNCHER_NAME,
    });
    const fail = (cause: Error) => {
      socket.destroy();
      const why = `the launcher of the pod at ${address} cannot be reached: ${cause.message}`;
      const advice =
        "ptc needs a network policy that lets it connect to that port, and certificates of one authority; `sandbox.channel: attached` goes through the API server instead";
      reject(new SandboxError("start_failed", `${why}; ${advice}`, { cause }));
    };
    const late = setTimeout(() => fail(new Error("no answer")), CONNECT_PATIENCE_MS);
    socket.setNoDelay(true);
    socket.once("error", fail);
    socket.once("secureConnect", () => {
      clearTimeout(late);
      socket.off("error", fail);
      // The reader learns of the end from `close`.
      socket.on("error", () => {});
      resolve(socket);
    });
    socket.once("close", () => clearTimeout(late));
  });
}

/** ptc's end of the stream of a launcher: the frames of an attached guard, after a preface and before an exit code. */
export class PodChannel extends AttachedChannel {
  /** Resolves with the UID that the launcher has said. Never, where it says none. */
  readonly pod: Promise<string>;
  /** Resolves when the stream has ended: with the guard's exit code, or undefined where the launcher was lost. */
  readonly ended: Promise<number | undefined>;
  #preface = "";
  #isGreeted = false;
  #code: number | undefined;
  #unanswered = 0;
  readonly #greeted = Promise.withResolvers<string>();

  constructor(stream: Duplex, output: SandboxOutput) {
    super(output);
    this.pod = this.#greeted.promise;
    const beat = setInterval(() => {
      if (++this.#unanswered > MAX_UNANSWERED) stream.destroy();
      else this.say(GUARD_COMMANDS.beat);
    }, LAUNCHER_BEAT_MS);
    beat.unref();
    this.ended = new Promise((resolve) => {
      stream.once("close", () => {
        clearInterval(beat);
        this.end();
        resolve(this.#code);
      });
      // What comes last is the exit code.
      stream.once("end", () => stream.destroy());
    });
    stream.on("data", (chunk: Buffer) => {
      this.#unanswered = 0;
      if (this.#isGreeted) this.onStdout(chunk);
      else this.#greet(chunk, stream);
    });
    this.open(stream);
    this.say(GUARD_COMMANDS.start);
  }

  protected override receiveMark(letter: string, number: number): boolean {
    if (letter === GUARD_COMMANDS.beat) return true;
    if (letter !== LAUNCHER_EXIT) return super.receiveMark(letter, number);
    this.#code = number;
    return true;
  }

  #greet(chunk: Buffer, stream: Duplex): void {
    const end = chunk.indexOf("\n");
    this.#preface += chunk.toString("latin1", 0, end < 0 ? chunk.length : end);
    if (this.#preface.length > MAX_PREFACE_BYTES) {
      stream.destroy();
      return;
    }
    if (end < 0) return;
    this.#isGreeted = true;
    this.#greeted.resolve(this.#preface);
    this.onStdout(chunk.subarray(end + 1));
  }
}
