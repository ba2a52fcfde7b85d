import { createHash, createHmac, randomBytes } from "node:crypto";
import { SourceMap } from "node:module";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { quoteBigIntegers } from "../../base/json.ts";
import { encodeConsoleEntry } from "../../protocol/console-stream.ts";
import { buildFailure, type Failure } from "../../protocol/failure.ts";
import { encodeFrame, encodeJson, FrameDecoder, type TextPlace } from "../../protocol/frames.ts";
import {
  MAX_CALL_FRAME_BYTES,
  MAX_REPLY_FRAME_BYTES,
  MAX_TRACE_SERIES_CHARS,
  MAX_VALUES,
} from "../../protocol/limits.ts";
import type {
  HostMessage,
  ProgramMessage,
  ReplyMessage,
  SandboxMessage,
  Trace,
} from "../../protocol/messages.ts";
import { INTERPRETER_FAILED, PROGRAM_SCHEME, WORKSPACE } from "../../protocol/runners.ts";
import { TextCap } from "../../protocol/text-cap.ts";
import { type Connection, LONG_DIGITS, roundedPlaces } from "../node/channel.ts";
import { LastLine } from "../node/console-capture.ts";
import { ProgramClock } from "../node/environment/program-clock.ts";
import { Keystream } from "../node/environment/program-randomness.ts";
import { type DataJson, serializeConsole } from "../node/result-value.ts";
import { writeAll } from "../node/write-all.ts";
import { callEvent, timerEvent, WasmEventOrder } from "./event-order.ts";
import { BIG_MARK, BUNDLE_FILE, type HostFunctions, OUT_OF_MEMORY } from "./host-functions.ts";
import { type Interpreter, OutOfMemoryError, ThrownInside } from "./interpreter.ts";

const STDOUT = 1;
const STDERR = 2;
/** Base64 takes four characters for three bytes. */
const MAX_LOG_BYTES = Math.floor((MAX_TRACE_SERIES_CHARS / 4) * 3);
const FIRST_TRACE_AFTER_MS = 1_000;
const TRACE_PAUSE_SHARE = 1 / 8;
/** Beyond the memory of nearly every program. The bytes are outside the memory that bounds the interpreter. */
const MAX_RANDOM_BYTES = 64 * 1024 * 1024;
/** The exit code by which the host knows that the program's memory was full (execution/judge.ts). */
const ABORTED = 134;

/** Timers that the program has set. */
interface ProgramTimer {
  real: NodeJS.Timeout | NodeJS.Immediate | undefined;
  isKept: boolean;
}

/**
 * The process's side of one program: its calls, timers, clock, randomness and output, and its end. The program runs only while
 * something is delivered to it, and has ended when it waits for nothing.
 */
export class WasmProgram {
  readonly #interpreter: Interpreter;
  readonly #connection: Connection;
  readonly #decoder = new FrameDecoder(MAX_REPLY_FRAME_BYTES);
  readonly #order = new WasmEventOrder(MAX_LOG_BYTES);
  readonly #clock = new ProgramClock(() => performance.now(), MAX_LOG_BYTES);
  readonly #timers = new Map<number, ProgramTimer>();
  /** Calls without an answer. */
  readonly #calls = new Set<number>();
  #numbers = new Keystream(randomBytes(32), "Math.random");
  #bytes = new Keystream(randomBytes(32), "crypto");
  #nextCall = 0;
  #nextTimer = 1;
  #program: ProgramMessage | undefined;
  #caps = { out: new TextCap(0), err: new TextCap(0) };
  #lastLine = new LastLine(0);
  #printed: string[] = [];
  #consoleBytes = 0;
  #sourceMap: SourceMap | undefined;
  #hasReported = false;
  #isTurning = false;
  /** A reply that still lacks texts, and their places. */
  #incomplete: { reply: ReplyMessage; places: TextPlace[]; texts: string[] } | undefined;

  constructor(interpreter: Interpreter, connection: Connection) {
    this.#interpreter = interpreter;
    this.#connection = connection;
    interpreter.host = this.#hostFunctions();
    interpreter.nowMs = () => (this.#program === undefined ? 0 : this.#clock.nowMs());
    interpreter.offset = (seconds) => new Date(seconds * 1_000).getTimezoneOffset();
    connection.onBytes = (piece) => {
      for (const payload of this.#decoder.push(piece)) this.#take(payload.toString("utf8"));
      this.#decoder.keep();
    };
  }

  greet(hello: SandboxMessage): void {
    this.#send(hello);
  }

  #take(text: string): void {
    if (this.#incomplete !== undefined) {
      this.#complete(this.#incomplete, text);
      return;
    }
    // What is parsed here loses digits of long numbers, so a reply is handed on as it was written.
    const message = JSON.parse(text) as HostMessage;
    if (message.type === "program") this.#start(message, text);
    else if (message.type === "trace") this.#send(this.#traceMessage());
    else if (message.type === "reply") {
      if (message.ok && message.texts !== undefined)
        this.#incomplete = { reply: message, places: [...message.texts], texts: [] };
      else this.#settle(message.id, text);
    }
  }

  /** Puts a text into its place, as JSON: the reply is then parsed inside. */
  #complete(
    { reply, places, texts }: { reply: ReplyMessage; places: TextPlace[]; texts: string[] },
    text: string,
  ): void {
    texts.push(text);
    if (texts.length < places.length) return;
    this.#incomplete = undefined;
    let { data } = reply as { data: unknown };
    for (const [index, place] of places.entries()) {
      const last = place.at(-1);
      if (last === undefined) data = texts[index];
      else {
        let holder = data;
        for (const name of place.slice(0, -1)) holder = Reflect.get(holder as object, name);
        Reflect.set(holder as object, last, texts[index]);
      }
    }
    this.#settle(reply.id, JSON.stringify({ ...reply, data }));
  }

  #start(program: ProgramMessage, text: string): void {
    this.#program = program;
    const { environment, max_output_bytes: maxOutput, max_stderr_bytes: maxStderr, bundle } = program;
    this.#caps = { out: new TextCap(maxOutput), err: new TextCap(maxStderr) };
    this.#lastLine = new LastLine(maxOutput);
    if (environment !== undefined) {
      const seed = Buffer.from(environment.seed, "hex");
      this.#numbers = new Keystream(seed, "Math.random");
      this.#bytes = new Keystream(seed, "crypto");
    }
    process.env.TZ = environment?.time_zone ?? "UTC";
    this.#clock.start(Date.now(), environment?.replay);
    if (environment?.replay !== undefined) this.#order.replay(environment.replay.events);
    if (environment !== undefined) this.#sendTraces();
    if (program.files !== undefined) {
      const message =
        "files cannot be passed to a program with sandbox.engine: wasm; pass their text as data";
      this.#report({ ok: false, error: buildFailure("ScriptError", message) });
      return;
    }
    const data = this.#withLongNumbers(JSON.stringify(program.data ?? null), text);
    this.#turn(() => {
      this.#interpreter.call("begin", data, program.exact === true);
      this.#interpreter.evaluate(bundle);
    });
  }

  /** The program's data as JSON. Only a message with long numbers is parsed again, because that takes several times as long. */
  #withLongNumbers(json: string, message: string): string {
    if (!LONG_DIGITS.test(message)) return json;
    const quoted = JSON.parse(quoteBigIntegers(message, this.#mark)) as ProgramMessage;
    return JSON.stringify(quoted.data ?? null);
  }

  get #mark(): string {
    return this.#program?.exact === true ? BIG_MARK : "";
  }

  #settle(id: number, replyJson: string): void {
    if (!this.#calls.has(id)) return;
    const json = LONG_DIGITS.test(replyJson) ? quoteBigIntegers(replyJson, this.#mark) : replyJson;
    const event = callEvent(id);
    const deliver = () => {
      this.#calls.delete(id);
      this.#turn(() => this.#interpreter.call("answer", id, json));
    };
    this.#order.add(event, { deliver, release: () => this.#order.happen(event, deliver) });
    this.#rest();
  }

  /** Lets the program run until it rests, and looks whether it has ended. */
  #turn(work: () => void): void {
    this.#isTurning = true;
    try {
      work();
    } catch (error) {
      this.#end(error);
    } finally {
      this.#isTurning = false;
    }
    if (!this.#order.replaying) this.#rest();
  }

  /** Ends the program after something that it cannot go on from. */
  #end(error: unknown): void {
    if (error instanceof ThrownInside) {
      this.#fail(error.json);
      return;
    }
    const isOutOfMemory = error instanceof OutOfMemoryError;
    this.#sendTraceNow();
    const { code, says } = INTERPRETER_FAILED;
    const [why] = (error instanceof Error ? error.message : String(error)).split("\n");
    writeAll(
      STDERR,
      Buffer.from(isOutOfMemory ? "the interpreter's heap out of memory\n" : `${says}${why}\n`),
    );
    process.exit(isOutOfMemory ? ABORTED : code);
  }

  /** @param json a failure as the part inside describes it. */
  #fail(json: string): void {
    if (json === OUT_OF_MEMORY) this.#end(new OutOfMemoryError());
    else this.#report({ ok: false, error: JSON.parse(json) as Failure });
  }

  #rest(): void {
    while (!this.#hasReported && !this.#isTurning) {
      if (this.#order.step((event) => event % 2 === 0 && this.#calls.has(event / 2))) continue;
      if (this.#order.replaying) return;
      break;
    }
    if (this.#hasReported || this.#isTurning || this.#program === undefined) return;
    try {
      this.#lookForEnd();
    } catch (error) {
      this.#end(error);
    }
  }

  #lookForEnd(): void {
    const state = this.#interpreter.call("state");
    if (state !== "running" && state !== "ended") {
      this.#fail(state);
      return;
    }
    if (this.#calls.size > 0 || [...this.#timers.values()].some(({ isKept }) => isKept)) return;
    const unhandled = this.#interpreter.unhandled();
    if (unhandled !== undefined) {
      this.#fail(unhandled);
      return;
    }
    if (state === "running") {
      const message =
        "the program waits for a promise that can never settle: no call is in flight and no timer is set; " +
        "look for a `new Promise` that is never resolved";
      this.#report({ ok: false, error: buildFailure("ScriptError", message) });
      return;
    }
    const code = this.#interpreter.call("exitCode");
    if (code !== 0) {
      const message = `the program set process.exitCode to ${code}`;
      this.#report({ ok: false, error: buildFailure("ScriptError", message) });
      return;
    }
    if (this.#interpreter.call("settleResult")) {
      this.#lookForEnd();
      return;
    }
    this.#report(this.#outcome());
  }

  #outcome(): DataJson {
    const { max_output_bytes: maxOutput = 0, max_result: max } = this.#program ?? {};
    const json = this.#interpreter.call("result", maxOutput, max === undefined ? "" : JSON.stringify(max));
    if (json !== "") return JSON.parse(json) as DataJson;
    return serializeConsole(this.#printed.join(""), this.#lastLine.value(), maxOutput);
  }

  #report(outcome: DataJson): void {
    if (this.#hasReported) return;
    this.#hasReported = true;
    const bytes = this.#writeClaim(outcome);
    const done = { type: "done", bytes, console_bytes: this.#consoleBytes } as const;
    const { environment, linger_ms: lingerMs = 0 } = this.#program ?? {};
    const messages = environment === undefined ? [done] : [this.#traceMessage(), done];
    const encoded = messages.map((message) => encodeFrame(message, MAX_CALL_FRAME_BYTES, MAX_VALUES));
    this.#connection.writeLast(Buffer.concat(encoded), () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lingerMs);
      process.exit(0);
    });
  }

  #writeClaim(outcome: DataJson): number {
    const line = Buffer.from(
      outcome.ok
        ? `{"ok":true,"data":${outcome.json},"from":"${outcome.from}"}\n`
        : `${JSON.stringify({ ok: false, error: withPlaces(outcome.error, this.#places) })}\n`,
    );
    writeAll(STDOUT, line);
    return line.length;
  }

  /** As in Node.js: with a result and code 0 the program has succeeded; otherwise the host gets no claim. */
  #leave(code: number): never {
    this.#sendTraceNow();
    if (code === 0) {
      try {
        if (this.#interpreter.call("hasResult")) this.#writeClaim(this.#outcome());
      } catch {
        // Without a claim, the host says that the program ended its process.
      }
    }
    process.exit(code);
  }

  #hostFunctions(): HostFunctions {
    return {
      call: (tool, argumentsJson, raw) => {
        const id = this.#nextCall++;
        const rounded = LONG_DIGITS.test(argumentsJson) ? roundedPlaces(JSON.parse(argumentsJson)) : [];
        const about = JSON.stringify({
          type: "call",
          id,
          tool,
          ...(raw && { raw }),
          ...(rounded.length > 0 && { rounded }),
        });
        const json = argumentsJson === "" ? about : `${about.slice(0, -1)},"arguments":${argumentsJson}}`;
        this.#connection.write(encodeJson(json, MAX_CALL_FRAME_BYTES, MAX_VALUES));
        this.#calls.add(id);
        return id;
      },
      emit: (blockJson) => {
        this.#connection.write(
          encodeJson(`{"type":"emit","block":${blockJson}}`, MAX_CALL_FRAME_BYTES, MAX_VALUES),
        );
      },
      print: (stream, text) => this.#print(stream === "err" ? "err" : "out", text),
      setTimer: (delayMs, kind) => this.#setTimer(delayMs, kind === "immediate"),
      clearTimer: (id) => this.#clearTimer(id),
      keepTimer: (id, isKept) => {
        const timer = this.#timers.get(id);
        if (timer !== undefined) timer.isKept = isKept;
      },
      nowMs: () => this.#clock.nowMs(),
      ticks: () => this.#clock.elapsedTicks(),
      startedMs: () => this.#clock.startedMs,
      random: () => this.#numbers.fraction(),
      randomBytes: (count) => {
        if (!(count <= MAX_RANDOM_BYTES)) throw new RangeError("too many random bytes at once");
        const bytes = new Uint8Array(count);
        this.#bytes.fill(bytes);
        return bytes.buffer;
      },
      hash: (algorithm, bytes) => toArrayBuffer(createHash(algorithm).update(new Uint8Array(bytes)).digest()),
      hmac: (algorithm, key, bytes) =>
        toArrayBuffer(createHmac(algorithm, new Uint8Array(key)).update(new Uint8Array(bytes)).digest()),
      path: (name, argumentsJson) => computePath(name, JSON.parse(argumentsJson) as unknown[]),
      date: (method, values) => String(localTime(method, values)),
      locale: (method, argumentsJson) => byLocale(method, JSON.parse(argumentsJson) as unknown[]),
      exit: (code) => this.#leave(code),
    };
  }

  #print(stream: "out" | "err", text: string): void {
    const placed = this.#places(text);
    const shown = this.#caps[stream].take(placed);
    if (shown !== "") {
      const record = encodeConsoleEntry({ stream, text: shown });
      this.#consoleBytes += record.length;
      writeAll(STDERR, record);
    }
    if (stream === "err") return;
    if (shown !== "") this.#printed.push(shown);
    this.#lastLine.push(placed);
  }

  /** Turns places in the bundle into places in the program's own text. */
  readonly #places = (text: string): string => {
    if (!text.includes(BUNDLE_FILE)) return text;
    this.#sourceMap ??= sourceMapOf(this.#program?.bundle ?? "");
    const map = this.#sourceMap;
    const entryAt = (line: string, column: string) => {
      const entry = map?.findEntry(Number(line) - 1, Number(column) - 1);
      return entry !== undefined && "originalSource" in entry ? entry : undefined;
    };
    const own = text.replace(BUNDLE_FRAME, (frame: string, line: string, column: string) =>
      entryAt(line, column)?.originalSource.includes(PROGRAM_SCHEME) === false ? "" : frame,
    );
    return own.replace(BUNDLE_PLACE, (_all, line: string, column: string) => {
      const entry = entryAt(line, column);
      if (entry === undefined) return `${WORKSPACE}:${line}:${column}`;
      const [, file = entry.originalSource] = entry.originalSource.split(PROGRAM_SCHEME, 2);
      return `${file}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    });
  };

  #setTimer(delayMs: number, isImmediate: boolean): number {
    const id = this.#nextTimer++;
    const timer: ProgramTimer = { real: undefined, isKept: true };
    this.#timers.set(id, timer);
    const event = timerEvent(id);
    const deliver = () => {
      this.#timers.delete(id);
      this.#turn(() => this.#interpreter.call("fire", id));
    };
    const happen = () => this.#order.happen(event, deliver);
    this.#order.add(event, {
      deliver,
      release: () => {
        timer.real = isImmediate ? setImmediate(happen) : setTimeout(happen, delayMs);
      },
    });
    return id;
  }

  #clearTimer(id: number): void {
    const timer = this.#timers.get(id);
    this.#timers.delete(id);
    this.#order.drop(timerEvent(id));
    if (timer?.real === undefined) return;
    if ("refresh" in timer.real) clearTimeout(timer.real);
    else clearImmediate(timer.real);
  }

  #trace(): Trace {
    const clock = this.#clock.log;
    const events = this.#order.log;
    return {
      started_ms: this.#clock.startedMs,
      clock: clock.toString(),
      events: events.toString(),
      complete: !clock.full && !events.full,
    };
  }

  #traceMessage(): SandboxMessage {
    return { type: "trace", trace: this.#trace() };
  }

  #sendTraceNow(): void {
    if (this.#program?.environment !== undefined) this.#send(this.#traceMessage());
  }

  /** Sends the trace periodically, always whole, so that most of it is known of a run that is killed. */
  #sendTraces(runMs = 0): void {
    const pauseMs = Math.max(FIRST_TRACE_AFTER_MS, runMs * TRACE_PAUSE_SHARE);
    setTimeout(() => {
      this.#sendTraceNow();
      this.#sendTraces(runMs + pauseMs);
    }, pauseMs).unref();
  }

  #send(message: SandboxMessage): void {
    this.#connection.write(encodeFrame(message, MAX_CALL_FRAME_BYTES, MAX_VALUES));
  }
}

const PLACE = `${BUNDLE_FILE.replaceAll(".", "\\.")}:(\\d+):(\\d+)`;
const BUNDLE_PLACE = new RegExp(PLACE, "g");
/** A line of a stack. Those of ptc's own modules in the bundle are left out. */
const BUNDLE_FRAME = new RegExp(`\\n +at [^\\n]*${PLACE}\\)?(?=\\n|$)`, "g");

function withPlaces(failure: Failure, places: (text: string) => string): Failure {
  return { ...failure, message: places(failure.message) };
}

/** The inline source map at the end of a bundle. */
function sourceMapOf(bundle: string): SourceMap | undefined {
  const [, base64 = ""] =
    /\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/.exec(bundle) ?? [];
  try {
    return new SourceMap(JSON.parse(Buffer.from(base64, "base64").toString("utf8")));
  } catch {
    return undefined;
  }
}

function toArrayBuffer(bytes: Buffer): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

const DATE_SETTERS: ReadonlySet<string> = new Set([
  "setDate",
  "setFullYear",
  "setHours",
  "setMilliseconds",
  "setMinutes",
  "setMonth",
  "setSeconds",
  "setYear",
]);

function localTime(method: string, values: string): number | string {
  if (method === "parse") return Date.parse(values);
  const [time = Number.NaN, ...rest] = values.split(",").map(Number);
  if (method === "new") return new Date(...([time, ...rest] as [number, number])).getTime();
  const date = new Date(time);
  if (method === "toString") return date.toString();
  if (method === "toTimeString") return date.toTimeString();
  if (!DATE_SETTERS.has(method)) throw new TypeError(`Date has no ${method} here`);
  return Number(Reflect.apply(Reflect.get(date, method) as () => number, date, rest));
}

/** @throws RangeError, TypeError for locales and options that there are not. */
function byLocale(method: string, [value, ...rest]: unknown[]): string {
  // What is undefined inside is null in JSON, and counts as left out.
  const [first, second, third] = rest.map((each) => each ?? undefined);
  const text = String(value);
  if (method === "number") return Number(text).toLocaleString(first as string, second as object);
  if (method === "bigint") return BigInt(text).toLocaleString(first as string, second as object);
  if (method === "localeCompare")
    return String(text.localeCompare(String(first), second as string, third as object));
  const date = new Date(Number(text));
  if (method === "toLocaleDateString") return date.toLocaleDateString(first as string, second as object);
  if (method === "toLocaleTimeString") return date.toLocaleTimeString(first as string, second as object);
  return date.toLocaleString(first as string, second as object);
}

/** @throws TypeError for arguments that the function does not take. */
function computePath(name: string, args: unknown[]): string {
  const { posix } = path;
  // Without a folder of its own, a path would say where this process is.
  const full = (each: unknown) => posix.resolve(WORKSPACE, each as string);
  if (name === "resolve") return JSON.stringify(posix.resolve(WORKSPACE, ...(args as string[])));
  if (name === "relative") return JSON.stringify(posix.relative(full(args[0]), full(args[1])));
  const fn: unknown = Object.hasOwn(posix, name) ? Reflect.get(posix, name) : undefined;
  if (typeof fn !== "function") throw new TypeError(`path.${name} is not there`);
  return JSON.stringify(Reflect.apply(fn, posix, args));
}
