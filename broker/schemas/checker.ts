import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { parseForeignJson } from "../../base/json.ts";
import { LineSplitter } from "../../base/streams.ts";
import { compileCacheVariable } from "../../system/compile-cache.ts";
import { signalGroup, spawnGroup } from "../../system/process-group.ts";
import { jsonInTurns } from "./json-parts.ts";
import type { CheckAnswer, CheckBounds } from "./schema-worker.ts";

export type CheckOutcome =
  | Exclude<CheckAnswer, { state: "ready" }>
  /** The checker ended before it answered, on its own or because it exceeded its time. */
  | { state: "died" }
  | { state: "not_started" }
  | { state: "value_too_large" };

export interface ValueToCheck {
  /** The schema's JSON text. */
  json: string;
  value: unknown;
  /** The value's JSON text where a thread may check it. */
  text: string | undefined;
}

/** A thread or a process that runs the `schema-worker` module. */
interface Carrier {
  /** How long an answer may take, and the outcome if it takes longer. */
  patience(bounds: CheckBounds): { ms: number; late: CheckOutcome };
  /** Sends a check. If it cannot be sent, resolves with its outcome. */
  send(check: ValueToCheck, bounds: CheckBounds): Promise<CheckOutcome | undefined>;
  /** Ends it immediately. */
  kill(): void;
}

/** Starts a carrier, which reports its answers and its end. @throws Error if it cannot be started */
type StartCarrier = (module: URL, onAnswer: (answer: CheckAnswer) => void, onEnd: () => void) => Carrier;

const START_TIMEOUT_MS = 20_000;

/** Checks one value at a time in a thread or process, which is ended if a check takes too long. */
export class Checker {
  readonly #module: URL;
  readonly #startCarrier: StartCarrier;
  #carrier: Carrier | undefined;
  #started: Promise<boolean> | undefined;
  #settle: ((outcome: CheckOutcome | { state: "ready" }) => void) | undefined;
  #hasEnded = false;

  constructor(module: URL, startCarrier: StartCarrier) {
    this.#module = module;
    this.#startCarrier = startCarrier;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Checks one value. The caller must wait for the outcome before the next check. Never throws. */
  async check(check: ValueToCheck, bounds: CheckBounds): Promise<CheckOutcome> {
    this.#started ??= this.#start();
    if (!(await this.#started) || this.#carrier === undefined) return { state: "not_started" };
    const { ms, late } = this.#carrier.patience(bounds);
    const answered = this.#answer(ms, late);
    this.#carrier.send(check, bounds).then(
      (unsent) => unsent && this.#endAs(unsent),
      () => this.end(),
    );
    const outcome = await answered;
    return outcome.state === "ready" ? { state: "died" } : outcome;
  }

  /** Ends the thread or process immediately. A running check ends as `died`. */
  end(): void {
    this.#endAs({ state: "died" });
  }

  #endAs(outcome: CheckOutcome): void {
    this.#hasEnded = true;
    this.#carrier?.kill();
    this.#settle?.(outcome);
  }

  async #start(): Promise<boolean> {
    try {
      const onAnswer = (answer: CheckAnswer) => this.#settle?.(answer);
      this.#carrier = this.#startCarrier(this.#module, onAnswer, () => this.end());
    } catch {
      this.#hasEnded = true;
      return false;
    }
    return (await this.#answer(START_TIMEOUT_MS, { state: "died" })).state === "ready";
  }

  /** The next answer. If it does not come in time, the thread or process is ended and the outcome is `late`. */
  #answer(timeoutMs: number, late: CheckOutcome): Promise<CheckOutcome | { state: "ready" }> {
    return new Promise((resolve) => {
      const clock = setTimeout(() => this.#endAs(late), timeoutMs);
      this.#settle = (outcome) => {
        clearTimeout(clock);
        this.#settle = undefined;
        resolve(outcome);
      };
      if (this.#hasEnded) this.#settle({ state: "died" });
    });
  }
}

/**
 * Starts a thread, for checks that may take any time but little memory. A thread can be stopped, but one that runs out of
 * memory ends all of ptc, whatever its resource limits.
 */
export function startThread(...[module, onAnswer, onEnd]: Parameters<StartCarrier>): Carrier {
  const worker = new Worker(module, { env: compileCacheVariable(), execArgv: [] });
  worker.on("message", onAnswer).on("error", onEnd).on("exit", onEnd);
  // An idle thread must not keep ptc running. During a check its timer does.
  worker.unref();
  return {
    patience: ({ checkMs }) => ({ ms: checkMs, late: { state: "overtime", of: "value" } }),
    send: async ({ json, text = "" }) => void worker.postMessage({ schema: json, value: text }),
    kill: () => void worker.terminate().catch(() => {}),
  };
}

/** The longest JSON text of a value: longer than the largest message. */
const MAX_VALUE_CHARS = 96 * 1024 * 1024;
/** The heap of a process in MiB: enough for such a value and its text. */
const MAX_HEAP_MB = 384;
const MAX_ANSWER_BYTES = 64 * 1024;
/** Characters that are written to the process in one go. */
const WRITTEN_CHARS = 64 * 1024;
/** Added to the limits that the process applies itself, because it cannot do so while it reads a large value. */
const GRACE_MS = 5_000;

/** Starts a process, for checks that may take any time and memory. When memory runs out, only this process ends. */
export function startProcess(...[module, onAnswer, onEnd]: Parameters<StartCarrier>): Carrier {
  const flags = [`--max-old-space-size=${MAX_HEAP_MB}`, "--no-warnings"];
  const child = spawnGroup(process.execPath, [...flags, fileURLToPath(module)], { cwd: "/", env: {} });
  const splitter = new LineSplitter(MAX_ANSWER_BYTES);
  child.stdout.on("data", (chunk: Buffer) => {
    try {
      for (const line of splitter.push(chunk)) onAnswer(parseAnswer(line));
    } catch {
      onEnd();
    }
  });
  child.once("error", onEnd).once("exit", onEnd);
  child.stdin.on("error", onEnd);
  // stderr contains only what V8 prints when it runs out of memory.
  child.stderr.resume();
  // An idle process must not keep ptc running. During a check its timer does.
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr])
    (stream as unknown as { unref(): void }).unref();
  return {
    patience: ({ compileMs, checkMs }) => ({ ms: compileMs + checkMs + GRACE_MS, late: { state: "died" } }),
    send: (check, bounds) => writeCheck(child.stdin, check, bounds),
    kill: () => {
      if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
    },
  };
}

/** Writes a check in turns of the event loop, until the process has ended. */
async function writeCheck(
  stdin: Writable,
  { json, value }: ValueToCheck,
  bounds: CheckBounds,
): Promise<CheckOutcome | undefined> {
  let chars = 0;
  let text = `${JSON.stringify(bounds)}\n${json}\n`;
  if (value !== undefined) {
    for await (const part of jsonInTurns(value)) {
      text += part;
      chars += part.length;
      if (chars > MAX_VALUE_CHARS) return { state: "value_too_large" };
      if (text.length < WRITTEN_CHARS) continue;
      if (!stdin.write(text)) await drained(stdin);
      if (stdin.destroyed) return undefined;
      text = "";
    }
  }
  stdin.write(`${text}\n`);
  return undefined;
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
