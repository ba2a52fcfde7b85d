import { subscribe } from "node:diagnostics_channel";
import fs from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { buildFailure, type Failure } from "../../protocol/failure.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { MAX_CALL_FRAME_BYTES, MAX_VALUES } from "../../protocol/limits.ts";
import type { ProgramMessage, SandboxMessage } from "../../protocol/messages.ts";
import { FILES_FOLDER, WORKSPACE } from "../../protocol/runners.ts";
import type { Channel } from "./channel.ts";
import { type ConsoleCapture, captureConsole } from "./console-capture.ts";
import { describeThrown } from "./describe-thrown.ts";
import type { Environment } from "./environment/environment.ts";
import { type ProgramClock, TICKS_PER_MS } from "./environment/program-clock.ts";
import { bytesOf, makeEmit } from "./functions/emit.ts";
import { makeExtract } from "./functions/extract.ts";
import { pages } from "./functions/pages.ts";
import { parallel } from "./functions/parallel.ts";
import { checkSavedValue } from "./functions/saved-value.ts";
import { bindTools, ToolError } from "./functions/tools.ts";
import { carriedByJson } from "./json-value.ts";
import { type DataJson, serializeConsole, serializeResult } from "./result-value.ts";
import { printedFrames } from "./stack-trace.ts";
import { captureStandardOutput } from "./standard-output.ts";
import { writeAll } from "./write-all.ts";

const STDOUT = 1;
/** How often, and how many times, the runner checks whether work left by a program of a session has ended. */
const LEFTOVER_LOOK_MS = 5;
const LEFTOVER_LOOKS = 200;

/** Whether a file operation is still in progress. */
function awaitsFiles(): boolean {
  const active = activeResources();
  for (let index = 0; index < active.length; index++)
    if (active[index] === "FSReqCallback" || active[index] === "FSReqPromise") return true;
  return false;
}

/** The top-level names of a program, each with its getter and, if it may be assigned, its setter. */
type Bindings = Record<string, [get: () => unknown, set?: (value: unknown) => void]>;

const require = createRequire(join(WORKSPACE, "program.js"));

const { stringify } = JSON;
const { defineProperty } = Object;
const exit = process.exit.bind(process);
const { wait } = Atomics;
const { clearTimeout, setTimeout } = globalThis;
// Earlier programs of a session share this realm and may have replaced them.
const { mkdirSync, rmSync, writeFileSync } = fs;
const { from: bufferFrom } = Buffer;
const { terminate } = Worker.prototype;
const activeResources = process.getActiveResourcesInfo.bind(process);
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * A program from evaluation to its claim; in a session, one program after the other. As in Node.js, it has ended when its module
 * is evaluated and nothing keeps the event loop alive. If nothing is left to wait for but the evaluation has not ended, the
 * program fails.
 *
 * An unhandled rejection fails a program when it ends, not immediately as in Node.js: a program that awaits several calls one
 * after the other may handle the failed one later.
 */
export class ProgramRun {
  readonly #channel: Channel;
  readonly #environment: Environment;
  readonly #console: ConsoleCapture;
  /** Threads that the current program has started. */
  readonly #workers = new Set<Worker>();
  /** The runner's own listeners. */
  readonly #listeners = new Map<string | symbol, ReadonlySet<unknown>>();
  #isSession = false;
  #bindings: (() => Bindings) | undefined;
  #trace: TraceSender | undefined;
  #maxOutputBytes = 0;
  #maxResult: ProgramMessage["max_result"];
  #lingerMs = 0;
  /** Rejected promises to which no handler has been attached since. */
  readonly #rejected = new Map<Promise<unknown>, unknown>();
  #evaluated = false;
  #reported = false;

  /** Does everything in advance that does not depend on the program. */
  constructor(channel: Channel, environment: Environment) {
    this.#channel = channel;
    this.#environment = environment;
    const { scope } = environment;
    this.#console = captureConsole(() => scope.isLate);
    captureStandardOutput((bytes) => this.#console.write(bytes));
    Object.assign(console, makeConsoleTimers(environment.clock, console.log));
    // A program can remove every listener of `process`, but none of these.
    subscribe("worker_threads", (message) => {
      const { worker } = message as { worker: Worker };
      this.#workers.add(worker);
      worker.once("exit", () => this.#workers.delete(worker));
    });
    const { tool, callTool } = bindTools(channel);
    Object.assign(globalThis, {
      data: undefined,
      result: undefined,
      callTool,
      pages,
      parallel,
      emit: this.#makeEmit(),
      bytesOf,
      ToolError,
      require,
      [Symbol.for("ptc.session")]: (bindings: () => Bindings) => {
        this.#bindings = bindings;
      },
      [Symbol.for("ptc.tool")]: tool,
      [Symbol.for("ptc.extract")]: makeExtract(callTool),
      [Symbol.for("ptc.saved")]: checkSavedValue,
      [Symbol.for("ptc.carried")]: carriedByJson,
    });
  }

  #makeEmit(): ReturnType<typeof makeEmit> {
    return makeEmit((block) => {
      if (!this.#environment.scope.isLate) this.#channel.send({ type: "emit", block });
    });
  }

  /** Rehearses the start and the end of a program, so that their code is compiled when one arrives. It has no visible effect. */
  rehearse(): void {
    this.#console.begin(0, 0);
    new TraceSender(this.#environment, this.#channel).stop();
    this.#environment.begin({ seed: "00".repeat(32), time_zone: process.env.TZ ?? "UTC" }, this.#channel);
    const trace = this.#environment.trace();
    encodeFrame({ type: "trace", trace }, MAX_CALL_FRAME_BYTES, MAX_VALUES);
    this.#result();
    this.#outcome(1);
    this.#listen();
  }

  /** Starts the program, whose module `load` imports, and reports its outcome. */
  start(program: ProgramMessage, load: () => Promise<unknown>): void {
    this.#maxOutputBytes = program.max_output_bytes;
    this.#maxResult = program.max_result;
    this.#lingerMs = program.linger_ms ?? 0;
    this.#isSession = program.session === true;
    this.#reported = this.#evaluated = false;
    this.#console.begin(program.max_output_bytes, program.max_stderr_bytes);
    Reflect.set(globalThis, "data", program.data);
    if (program.environment !== undefined) this.#trace = new TraceSender(this.#environment, this.#channel);
    this.#channel.onTraceRequest = () => this.#trace?.send();
    this.#environment.begin(program.environment, this.#channel);
    if (this.#listeners.size === 0) this.#listen();
    // Listeners called at the end of an earlier program may have changed them.
    else if (this.#isSession) this.#restoreListeners();
    this.#channel.release();
    const { scope } = this.#environment;
    const { files } = program;
    delete program.files;
    const begin = files === undefined ? load : () => placeFiles(files).then(load);
    scope.enter(this.#isSession, () => {
      begin().then(
        () => {
          if (!scope.isLate) this.#evaluated = true;
        },
        (error: unknown) => {
          if (!scope.isLate) this.fail(describeThrown(error, printedFrames));
        },
      );
    });
  }

  #listen(): void {
    // As in Node.js, a program with its own listener decides what happens.
    process.on("uncaughtException", (error) => {
      if (process.listenerCount("uncaughtException") === 1) this.fail(describeThrown(error, printedFrames));
    });
    process.on("unhandledRejection", (reason, promise) => {
      const isOurs = process.listenerCount("unhandledRejection") === 1 && !this.#environment.scope.isLate;
      if (isOurs) this.#rejected.set(promise, reason);
    });
    process.on("rejectionHandled", (promise) => {
      this.#rejected.delete(promise);
    });
    process.on("beforeExit", () => this.#settle());
    process.on("exit", (code) => {
      this.#channel.flush();
      this.#leave(code);
    });
    for (const name of process.eventNames())
      this.#listeners.set(name, new Set(process.listeners(name as "exit")));
  }

  /** Restores the runner's listeners on `process` and removes all others. */
  #restoreListeners(): void {
    for (const name of process.eventNames()) {
      for (const listener of process.listeners(name as "exit"))
        if (this.#listeners.get(name)?.has(listener) !== true) process.off(name, listener);
    }
    for (const [name, own] of this.#listeners) {
      const present = process.listeners(name as "exit");
      for (const listener of own)
        if (!present.includes(listener as never)) process.on(name as "exit", listener as () => void);
    }
  }

  /** Reports a failure, once. */
  fail(error: Failure): void {
    this.#report({ ok: false, error });
  }

  /** The event loop has nothing left to do. */
  #settle(): void {
    if (this.#reported) return;
    for (const reason of this.#rejected.values()) {
      this.fail(describeThrown(reason, printedFrames));
      return;
    }
    if (!this.#evaluated) {
      const message =
        "the program waits for a promise that can never settle: no call is in flight and no timer is set; " +
        "look for a `new Promise` that is never resolved";
      this.fail(buildFailure("ScriptError", message));
      return;
    }
    const code = Number(process.exitCode ?? 0);
    if (code !== 0) {
      this.fail(buildFailure("ScriptError", `the program set process.exitCode to ${code}`));
      return;
    }
    const value = this.#result();
    if (typeof (value as { then?: unknown } | null | undefined)?.then === "function") {
      // If the result is a promise, its settled value counts.
      this.#evaluated = false;
      Promise.resolve(value).then(
        (settled) => {
          Reflect.set(globalThis, "result", settled);
          this.#evaluated = true;
        },
        (error: unknown) => this.fail(describeThrown(error, printedFrames)),
      );
      return;
    }
    this.#report(this.#outcome(value));
  }

  /** `process.exit` was called. With a result and code 0, the program has succeeded; otherwise the host gets no claim. */
  #leave(code: number): void {
    if (this.#reported) return;
    this.#trace?.send();
    if (code !== 0) return;
    const value = this.#result();
    if (value !== undefined) this.#writeClaim(this.#outcome(value));
  }

  #result(): unknown {
    return Reflect.get(globalThis, "result");
  }

  #outcome(value: unknown): DataJson {
    return value === undefined
      ? serializeConsole(this.#console.text(), this.#console.lastLine(), this.#maxOutputBytes)
      : serializeResult(value, this.#maxOutputBytes, this.#maxResult);
  }

  #report(outcome: DataJson): void {
    if (this.#reported) return;
    this.#reported = true;
    const bytes = this.#writeClaim(outcome);
    const done = { type: "done", bytes, console_bytes: this.#console.bytesWritten() } as const;
    const messages = this.#trace === undefined ? [done] : [this.#trace.message(), done];
    if (this.#isSession) this.#stay(messages, outcome.ok);
    else this.#channel.sendLast(messages, () => this.#linger());
  }

  /** Waits for the sandbox to be ended, unless the program left threads that would run meanwhile, and ends the process. */
  #linger(): void {
    if (this.#workers.size === 0) wait(pause, 0, 0, this.#lingerMs);
    exit(0);
  }

  /** Ends the program but not its process, which waits for the next program. Whatever is still running no longer has any effect. */
  #stay(last: readonly SandboxMessage[], isWhole: boolean): void {
    this.#trace?.stop();
    this.#trace = undefined;
    this.#console.end();
    this.#environment.end();
    Reflect.set(globalThis, "emit", this.#makeEmit());
    this.#rejected.clear();
    this.#restoreListeners();
    process.exitCode = undefined;
    Reflect.set(globalThis, "result", undefined);
    this.#keepBindings(isWhole);
    this.#channel.endProgram();
    const isQuiet = this.#workers.size === 0 && !awaitsFiles();
    if (isQuiet) this.#channel.sendLast(last, () => {});
    else this.#endWork(last, LEFTOVER_LOOKS);
  }

  /**
   * Ends the threads that the program left, and waits for its file operations, which would otherwise write while the next program
   * runs. If they do not end, the process does.
   */
  #endWork(last: readonly SandboxMessage[], looks: number): void {
    for (const worker of this.#workers) void terminate.call(worker);
    setTimeout(() => {
      if (this.#workers.size === 0 && !awaitsFiles()) this.#channel.sendLast(last, () => {});
      else if (looks > 0) this.#endWork(last, looks - 1);
      else this.#channel.sendLast(last, () => exit(0));
    }, LEFTOVER_LOOK_MS);
  }

  /**
   * Puts the top-level names of this program into the global scope for later programs.
   *
   * @param isWhole whether the program ran to its end. If it did not, names without a value do not replace those of earlier
   *   programs.
   */
  #keepBindings(isWhole: boolean): void {
    const bindings = this.#bindings?.() ?? {};
    this.#bindings = undefined;
    for (const [name, [get, set]] of Object.entries(bindings)) {
      try {
        if (get() === undefined && !isWhole && name in globalThis) continue;
      } catch {
        continue;
      }
      try {
        defineProperty(globalThis, name, {
          get,
          ...(set === undefined ? {} : { set }),
          configurable: true,
          enumerable: true,
        });
      } catch {
        // A program has defined a property of that name that cannot be replaced.
      }
    }
  }

  #writeClaim(outcome: DataJson): number {
    const line = Buffer.from(
      outcome.ok
        ? `{"ok":true,"data":${outcome.json},"from":"${outcome.from}"}\n`
        : `${stringify({ ok: false, error: outcome.error })}\n`,
    );
    writeAll(STDOUT, line);
    return line.length;
  }
}

/**
 * Writes the files given to the program into its workspace. They are read-only, so that the program does not change one by
 * mistake; in a session, a file replaces one of the same name from an earlier program. Rejects with the message for the program.
 */
async function placeFiles(files: NonNullable<ProgramMessage["files"]>): Promise<void> {
  for (const { name, base64 } of files) {
    const path = `${FILES_FOLDER}/${name}`;
    try {
      mkdirSync(FILES_FOLDER, { recursive: true });
      rmSync(path, { force: true, recursive: true });
      writeFileSync(path, bufferFrom(base64, "base64"), { mode: 0o444, flag: "wx" });
    } catch (error) {
      throw new Error(
        `the file files/${name} could not be copied into the sandbox: ${(error as Error).message}`,
      );
    }
  }
}

interface ConsoleTimers {
  time(label?: unknown): void;
  timeLog(label?: unknown, ...data: unknown[]): void;
  timeEnd(label?: unknown): void;
}

/** `console.time` and its companions, on the program's clock: what they print is part of the program's output. */
function makeConsoleTimers(
  clock: Pick<ProgramClock, "elapsedTicks">,
  print: (...data: unknown[]) => void,
): ConsoleTimers {
  const started = new Map<string, number>();

  function show(method: string, label: string, data: unknown[]): boolean {
    const start = started.get(label);
    if (start === undefined) {
      process.emitWarning(`No such label '${label}' for console.${method}()`);
      return false;
    }
    print("%s: %s", label, formatDuration((clock.elapsedTicks() - start) / TICKS_PER_MS), ...data);
    return true;
  }

  return {
    time(label = "default") {
      const name = String(label);
      if (started.has(name)) process.emitWarning(`Label '${name}' already exists for console.time()`);
      else started.set(name, clock.elapsedTicks());
    },
    timeLog(label = "default", ...data) {
      show("timeLog", String(label), data);
    },
    timeEnd(label = "default") {
      if (show("timeEnd", String(label), [])) started.delete(String(label));
    },
  };
}

function formatDuration(ms: number): string {
  return ms < 1_000 ? `${Number(ms.toFixed(3))}ms` : `${(ms / 1_000).toFixed(3)}s`;
}

const FIRST_TRACE_AFTER_MS = 1_000;
/** The pause before the next trace, as a share of the time so far. A run that is killed has sent most of its trace in few messages. */
const TRACE_PAUSE_SHARE = 1 / 8;

/** Sends the host the trace of a run, always in full: periodically while it runs, and when `send` is called. */
class TraceSender {
  readonly #environment: Environment;
  readonly #channel: Channel;
  #runMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(environment: Environment, channel: Channel) {
    this.#environment = environment;
    this.#channel = channel;
    this.#schedule();
  }

  send(): void {
    this.#channel.send(this.message());
  }

  /** A message with the trace so far. */
  message(): SandboxMessage {
    return { type: "trace", trace: this.#environment.trace() };
  }

  /** Stops the periodic messages. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const delayMs = Math.max(FIRST_TRACE_AFTER_MS, this.#runMs * TRACE_PAUSE_SHARE);
    this.#timer = setTimeout(() => {
      this.#runMs += delayMs;
      this.send();
      this.#schedule();
    }, delayMs);
    this.#timer.unref();
  }
}
