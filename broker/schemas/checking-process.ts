import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { parseForeignJson } from "../../base/json.ts";
import { LineSplitter } from "../../base/streams.ts";
import { signalGroup, spawnGroup } from "../../system/process-group.ts";
import { jsonInTurns } from "./json-parts.ts";
import type { CheckAnswer, CheckBounds } from "./schema-worker.ts";

/** The outcome of a check in a process. */
export type CheckOutcome =
  | Exclude<CheckAnswer, { state: "ready" }>
  /** The process ended before it answered, on its own or because it exceeded its time. */
  | { state: "died" }
  | { state: "not_started" }
  | { state: "value_too_large" };

export interface ValueToCheck {
  /** The schema's JSON text. */
  json: string;
  value: unknown;
}

/** The longest JSON text of a value: longer than the largest message. */
const MAX_VALUE_CHARS = 96 * 1024 * 1024;
/** The heap of a process in MiB: enough for such a value and its text. */
const MAX_HEAP_MB = 384;
const MAX_ANSWER_BYTES = 64 * 1024;
/** Characters that are written to the process in one go. */
const WRITTEN_CHARS = 64 * 1024;
const START_TIMEOUT_MS = 20_000;
/** Added to the limits that the process applies itself, because it cannot do so while it reads a large value. */
const GRACE_MS = 5_000;

/**
 * A process that checks one value at a time, for checks that may take any time and memory. When memory runs out, only this
 * process ends.
 */
export class CheckingProcess {
  readonly #module: URL;
  #child: ChildProcessWithoutNullStreams | undefined;
  #started: Promise<boolean> | undefined;
  #settle: ((outcome: CheckOutcome | { state: "ready" }) => void) | undefined;
  #hasEnded = false;

  constructor(module: URL) {
    this.#module = module;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Checks one value. The caller must wait for the outcome before the next check. Never throws. */
  async check({ json, value }: ValueToCheck, bounds: CheckBounds): Promise<CheckOutcome> {
    this.#started ??= this.#start();
    if (!(await this.#started) || this.#child === undefined) return { state: "not_started" };
    const answered = this.#answer(bounds.compileMs + bounds.checkMs + GRACE_MS);
    void this.#send(this.#child, { json, value }, bounds).catch(() => this.end());
    const outcome = await answered;
    return outcome.state === "ready" ? { state: "died" } : outcome;
  }

  /** Ends the process at once. A running check ends as `died`. */
  end(): void {
    this.#endAs({ state: "died" });
  }

  #endAs(outcome: CheckOutcome): void {
    this.#hasEnded = true;
    if (this.#child?.pid !== undefined) signalGroup(this.#child.pid, "SIGKILL");
    this.#settle?.(outcome);
  }

  async #start(): Promise<boolean> {
    try {
      this.#child = this.#spawn();
    } catch {
      this.#hasEnded = true;
      return false;
    }
    return (await this.#answer(START_TIMEOUT_MS)).state === "ready";
  }

  #spawn(): ChildProcessWithoutNullStreams {
    const flags = [`--max-old-space-size=${MAX_HEAP_MB}`, "--no-warnings"];
    const child = spawnGroup(process.execPath, [...flags, fileURLToPath(this.#module)], {
      cwd: "/",
      env: {},
    });
    const splitter = new LineSplitter(MAX_ANSWER_BYTES);
    child.stdout.on("data", (chunk: Buffer) => {
      try {
        for (const line of splitter.push(chunk)) this.#settle?.(parseAnswer(line));
      } catch {
        this.end();
      }
    });
    const ended = () => this.end();
    child.once("error", ended).once("exit", ended);
    child.stdin.on("error", ended);
    // stderr holds only what V8 prints when it runs out of memory.
    child.stderr.resume();
    // An idle process must not keep ptc running. During a check its timer does.
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr])
      (stream as unknown as { unref(): void }).unref();
    return child;
  }

  /** The next answer of the process. The process is killed if it does not answer in time. */
  #answer(timeoutMs: number): Promise<CheckOutcome | { state: "ready" }> {
    return new Promise((resolve) => {
      const clock = setTimeout(() => this.end(), timeoutMs);
      this.#settle = (outcome) => {
        clearTimeout(clock);
        this.#settle = undefined;
        resolve(outcome);
      };
      if (this.#hasEnded) this.#settle({ state: "died" });
    });
  }

  async #send(
    { stdin }: ChildProcessWithoutNullStreams,
    { json, value }: ValueToCheck,
    bounds: CheckBounds,
  ): Promise<void> {
    let chars = 0;
    let text = `${JSON.stringify(bounds)}\n${json}\n`;
    if (value !== undefined) {
      for await (const part of jsonInTurns(value)) {
        text += part;
        chars += part.length;
        if (chars > MAX_VALUE_CHARS) return this.#endAs({ state: "value_too_large" });
        if (text.length < WRITTEN_CHARS) continue;
        if (!stdin.write(text)) await drained(stdin);
        if (this.#hasEnded) return;
        text = "";
      }
    }
    stdin.write(`${text}\n`);
  }
}

/** Resolves when a stream can take more, or has closed. */
function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done).off("close", done);
      resolve();
    };
    stream.once("drain", done).once("close", done);
    if (stream.destroyed) done();
  });
}

function parseAnswer(line: unknown): CheckAnswer {
  if (typeof line !== "string") throw new Error("a process answered with more than an answer");
  return parseForeignJson(line, { maxBytes: MAX_ANSWER_BYTES, maxDepth: 4 }) as CheckAnswer;
}
