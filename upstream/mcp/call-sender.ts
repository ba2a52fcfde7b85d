import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { isObject } from "../../base/json.ts";
import { orAborted } from "../../base/waiting.ts";
import type { ProgressReport, QuestionAnswer, ServerQuestion, UpstreamCall } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";
import { MAX_ROUNDS, parseNeededVisits, parseWantedInput, type WantedInput } from "./input-requests.ts";
import { URL_ELICITATION_REQUIRED } from "./message-gate.ts";
import {
  RequestError,
  type RequestOutcome,
  type ServerRequest,
  type ServerSession,
} from "./server-session.ts";
import { SessionEndedError } from "./session-end.ts";
import { seeTaskThrough, taskIn } from "./task.ts";
import type { UpstreamFaults } from "./upstream-faults.ts";

/** JSON-RPC 2.0, section 5.1 */
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

/** The pause before a call is sent again, if the server deferred it without a question. */
const PUT_OFF_MS = 250;
/** How long to wait for a server's answer to the cancellation of a task. */
const CANCEL_TIMEOUT_MS = 5_000;

type Params = Readonly<Record<string, unknown>>;

/** What a server may ask for besides a person's input. */
export interface Offered {
  /** The folders that it may ask for. */
  readonly roots: readonly string[];
  /** Whether it may ask for answers of the client's model. */
  readonly samples: boolean;
}

type BuildFault = (
  error: unknown,
  timeoutMs: number,
  signal: AbortSignal,
  spentMs: number | undefined,
) => UpstreamError;

/**
 * Sends calls to one server and follows each to its result, passing questions of the server to the caller. An older server asks in
 * a request (MCP 2025-11-25), a newer one in a result, after which the call is sent again with the answers (MCP 2026-07-28, "Multi
 * Round-Trip Requests").
 */
export class CallSender {
  readonly #session: ServerSession;
  readonly #faults: UpstreamFaults;
  readonly #roots: readonly string[];
  readonly #samples: boolean;
  readonly #faultOf: BuildFault;
  /** The unanswered calls, by progress token; the newest last. */
  readonly #open = new Map<number, SentCall>();
  #tokens = 0;

  constructor(
    session: ServerSession,
    faults: UpstreamFaults,
    { roots, samples }: Offered,
    faultOf: BuildFault,
  ) {
    this.#session = session;
    this.#faults = faults;
    this.#roots = roots;
    this.#samples = samples;
    this.#faultOf = faultOf;
    session.onRequest = (request) => this.#onRequest(request);
    session.onProgress = (token, params) => this.#open.get(Number(token))?.progress(params);
    session.onElicitationComplete = (id) => {
      for (const call of this.#open.values()) call.complete(id);
    };
  }

  /** Sends a call and resolves with its result, which is only checked to be an object. @throws UpstreamError */
  async call(
    method: string,
    params: Params,
    call: UpstreamCall,
    headers: Record<string, string> = {},
  ): Promise<Record<string, unknown>> {
    const { timeoutMs, spentMs = 0, signal } = call;
    if (timeoutMs - spentMs <= 0) {
      const text = `was not sent the call: starting it and listing its tools took all of its ${timeoutMs / 1_000} s`;
      throw this.#faults.build("connect_timeout", `${text}; a later call may find it ready`);
    }
    const token = ++this.#tokens;
    const sent = new SentCall(call, token);
    this.#open.set(token, sent);
    try {
      return await this.#seeThrough(method, params, sent, headers);
    } catch (error) {
      if (sent.failure !== undefined) throw sent.failure;
      if (error instanceof UpstreamError) throw error;
      if (sent.isLate && !signal.aborted) throw this.#late(sent, call);
      if (sent.isBegun && error instanceof SessionEndedError)
        throw this.#faults.build("disconnected", "has ended the session in the middle of the call", error);
      throw this.#faultOf(error, timeoutMs, signal, spentMs);
    } finally {
      this.#open.delete(token);
      sent.end();
    }
  }

  async #seeThrough(
    method: string,
    params: Params,
    call: SentCall,
    headers: Record<string, string>,
  ): Promise<Record<string, unknown>> {
    let answers: Params = {};
    for (let round = 0; ; round++) {
      const result = await this.#send(method, { ...params, ...answers }, call, headers);
      if (!isObject(result)) {
        throw this.#faults.build("protocol_error", "answered a call with something that is no tool result");
      }
      const task = method === "tools/call" ? taskIn(result, params.task !== undefined) : undefined;
      if (task !== undefined) return this.#seeTaskThrough(task, result.resultType !== "task", call);
      const { resultType = "complete" } = result;
      if (resultType === "complete") return result;
      if (resultType !== "input_required")
        throw this.#faults.build("protocol_error", "answered a call with a result of an unknown kind");
      if (round >= MAX_ROUNDS)
        throw this.#faults.build(
          "protocol_error",
          `asked for input more than ${MAX_ROUNDS} times in one call`,
        );
      answers = await this.#answersTo(result, call);
    }
  }

  async #seeTaskThrough(task: unknown, isLegacy: boolean, call: SentCall): Promise<Record<string, unknown>> {
    const requests = {
      signal: call.signal,
      send: (method: string, params: Params) =>
        method === "tasks/cancel"
          ? this.#session.request(method, params, { timeoutMs: CANCEL_TIMEOUT_MS })
          : this.#send(method, params, call),
      answer: (wanted: WantedInput["requests"]) => this.#answer(wanted, call),
      progress: () => call.time.progress(),
    };
    const result = await seeTaskThrough(task, requests, isLegacy, this.#faults);
    if (isObject(result) && (result.resultType ?? "complete") === "complete") return result;
    throw this.#faults.build("protocol_error", "ended a task with something that is no tool result");
  }

  async #send(
    method: string,
    params: Params,
    call: SentCall,
    headers: Record<string, string> = {},
  ): Promise<unknown> {
    for (let visits = 0; ; visits++) {
      try {
        const result = await this.#session.request(
          method,
          { ...params, _meta: { ...call.meta, progressToken: call.token } },
          { signal: call.signal, headers },
        );
        call.isBegun = true;
        return result;
      } catch (error) {
        const { failure } = error instanceof RequestError ? error : {};
        const isVisit = failure?.kind === "rejected" && failure.code === URL_ELICITATION_REQUIRED;
        const needed = isVisit ? parseNeededVisits(failure.data) : undefined;
        if (needed === undefined || visits >= MAX_ROUNDS) throw error;
        // The server has said that it did not begin the call.
        for (const { elicitationId, params: visit } of needed) await this.#visit(elicitationId, visit, call);
      }
    }
  }

  /** Sends a person to a URL, and waits until the server says that the person has finished there. */
  async #visit(elicitationId: string, params: unknown, call: SentCall): Promise<void> {
    const answer = await this.#ask(params, call);
    if (answer.action !== "accept") {
      const said = answer.action === "decline" ? "refused" : "did not answer";
      throw this.#faults.build("input_refused", `needs a visit to an address first, which the user ${said}`);
    }
    await call.completion(elicitationId);
  }

  /** The answers to everything that an `input_required` result asks for, as parameters of the next round. */
  async #answersTo(result: Record<string, unknown>, call: SentCall): Promise<Params> {
    const wanted = parseWantedInput(result);
    if (wanted === undefined)
      throw this.#faults.build("protocol_error", "asked for input in a form that the protocol does not have");
    const { requests, requestState } = wanted;
    if (requests.length === 0) await delay(PUT_OFF_MS, undefined, { signal: call.signal });
    return {
      ...(requests.length === 0 ? {} : { inputResponses: await this.#answer(requests, call) }),
      ...(requestState === undefined ? {} : { requestState }),
    };
  }

  /** Answers by key. */
  async #answer(requests: WantedInput["requests"], call: SentCall): Promise<Params> {
    const responses: [string, Params][] = [];
    for (const { key, method, params } of requests) {
      if (method === "elicitation/create") responses.push([key, await this.#ask(params, call)]);
      else if (method === SAMPLING && this.#samples)
        responses.push([key, await this.#ask(params, call, true)]);
      else if (method === "roots/list" && this.#roots.length > 0) responses.push([key, this.#listRoots()]);
      else throw this.#faults.build("input_refused", `asked for ${nameOf(method)}, which ptc does not offer`);
    }
    return Object.fromEntries(responses);
  }

  async #ask(params: unknown, call: SentCall, isForModel = false): Promise<Params> {
    const answer = await call.ask({ params, isCertain: true, isForModel });
    switch (answer.kind) {
      case "answered":
        return answer.result;
      case "invalid":
        throw this.#faults.build("protocol_error", answer.reason);
      case "unasked":
        throw this.#faults.build("input_refused", answer.reason);
    }
  }

  /** Answers a server's request; `undefined` for a method that ptc does not offer. */
  #onRequest(request: ServerRequest): Promise<RequestOutcome> | undefined {
    if (request.method === "roots/list" && this.#roots.length > 0)
      return Promise.resolve({ result: this.#listRoots() });
    if (request.method === "elicitation/create") return this.#onQuestion(request, false);
    if (request.method === SAMPLING && this.#samples) return this.#onQuestion(request, true);
    return undefined;
  }

  async #onQuestion(
    { params, cameWith, signal }: ServerRequest,
    isForModel: boolean,
  ): Promise<RequestOutcome> {
    const known = cameWith === undefined ? undefined : this.#open.get(Number(cameWith));
    const call = known ?? [...this.#open.values()].at(-1);
    if (call === undefined) return refused(INTERNAL_ERROR, "nobody waits for a call of this server");
    const isCertain = known !== undefined || this.#open.size === 1;
    // Another's model must not read it.
    if (isForModel && !isCertain)
      return refused(INTERNAL_ERROR, "it is not known for which call this is asked");
    let answer: Awaited<ReturnType<SentCall["ask"]>>;
    try {
      answer = await call.ask({ params: params(), isCertain, isForModel }, signal);
    } catch {
      return refused(INTERNAL_ERROR, "the call that this was asked for is over");
    }
    switch (answer.kind) {
      case "answered":
        return { result: answer.result };
      case "invalid":
        return refused(INVALID_PARAMS, answer.reason);
      case "unasked":
        call.fail(this.#faults.build("input_refused", answer.reason));
        return refused(INTERNAL_ERROR, answer.reason);
    }
  }

  /** MCP 2025-11-25, "Roots". */
  #listRoots(): Params {
    return { roots: this.#roots.map((path) => ({ uri: pathToFileURL(path).href, name: basename(path) })) };
  }

  #late(call: SentCall, { timeoutMs, spentMs }: UpstreamCall): UpstreamError {
    if (!call.time.hasProgress)
      return this.#faults.ofRequest(
        { kind: "timeout", cause: undefined },
        timeoutMs,
        undefined,
        undefined,
        spentMs,
      );
    const text = `did not answer within ${timeoutMs / 1_000} s of its last progress, or ${(timeoutMs * TOTAL_TIMES) / 1_000} s in all; it may still be at work`;
    return this.#faults.build("call_timeout", text);
  }
}

function refused(code: number, message: string): RequestOutcome {
  return { error: { code, message } };
}

const SAMPLING = "sampling/createMessage";

/** The name of a server's request in messages. */
function nameOf(method: string): string {
  switch (method) {
    case SAMPLING:
      return "an answer of a model (sampling)";
    case "roots/list":
      return "its roots, which the configuration does not give it";
    default:
      return "something";
  }
}

/** Nobody can answer the questions of this call. */
const NOBODY: QuestionAnswer = {
  kind: "unasked",
  reason: "asks for something that a person has to answer, and nobody can be asked here",
};

/** An abort reason that is never read. It is shared by all calls, because creating one takes longer than all other clean-up. */
const OVER = new Error("the call is over");

/** A sent and unanswered call: its time, its server's questions, and why it was called off. */
class SentCall {
  readonly token: number;
  readonly meta: UpstreamCall["meta"];
  readonly time: CallTime;
  readonly #ask: UpstreamCall["ask"];
  readonly #onProgress: UpstreamCall["onProgress"];
  readonly #caller: AbortSignal;
  readonly #stop = new AbortController();
  readonly #onAbort = () => this.#stop.abort();
  readonly #awaited = new Map<string, () => void>();
  /** Elicitations that were completed before they were awaited. */
  readonly #completed = new Set<string>();
  /** Whether the server has answered a request of the call, and so may have begun it. */
  isBegun = false;
  #isLate = false;
  /** Whether something may be waiting for the end of the call. */
  #isWaitedFor = false;
  #failure: UpstreamError | undefined;

  constructor({ timeoutMs, spentMs = 0, signal, ask, meta, onProgress }: UpstreamCall, token: number) {
    this.token = token;
    this.meta = meta;
    this.#ask = ask;
    this.#onProgress = onProgress;
    this.#caller = signal;
    if (signal.aborted) this.#stop.abort();
    signal.addEventListener("abort", this.#onAbort);
    this.time = new CallTime(timeoutMs, timeoutMs - spentMs, () => {
      this.#isLate = true;
      this.#stop.abort();
    });
  }

  /** The server has reported progress. @param params as it did. */
  progress(params: unknown): void {
    this.time.progress();
    const report = this.#onProgress && parseProgress(params);
    if (report !== undefined && !this.#stop.signal.aborted) this.#onProgress?.(report);
  }

  /** Aborts when the call is over or called off. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether the call was called off because its time ran out. */
  get isLate(): boolean {
    return this.#isLate;
  }

  /** Why ptc called the call off, if it did. */
  get failure(): UpstreamError | undefined {
    return this.#failure;
  }

  /** Calls off the call. */
  fail(failure: UpstreamError): void {
    this.#failure ??= failure;
    this.#stop.abort();
  }

  /** Puts a question to a person, or to the client's model, while the time of the call stands still. */
  async ask(question: ServerQuestion, signal?: AbortSignal): Promise<QuestionAnswer> {
    if (this.#ask === undefined) return NOBODY;
    this.#isWaitedFor = true;
    const withdrawn = signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal]);
    this.time.pause();
    try {
      return await orAborted(
        this.#ask(question, withdrawn),
        withdrawn,
        () => new Error("the question was withdrawn"),
      );
    } finally {
      this.time.resume();
    }
  }

  /** The person has finished at a URL. */
  complete(elicitationId: string): void {
    this.#completed.add(elicitationId);
    this.#awaited.get(elicitationId)?.();
  }

  /** Waits until the person has finished at a URL. Rejects if the call ends first. */
  async completion(elicitationId: string): Promise<void> {
    if (this.#completed.has(elicitationId)) return;
    this.#isWaitedFor = true;
    const done = new Promise<void>((resolve) => this.#awaited.set(elicitationId, resolve));
    await orAborted(done, this.#stop.signal, () => OVER);
  }

  /** The call is over: its questions are withdrawn. */
  end(): void {
    this.time.end();
    this.#caller.removeEventListener("abort", this.#onAbort);
    // Aborting takes longer than all other clean-up, and is rarely needed.
    if (this.#isWaitedFor) this.#stop.abort(OVER);
  }
}

/** Reads the parameters of a progress report; `undefined` if they are not valid. */
function parseProgress(params: unknown): ProgressReport | undefined {
  if (!isObject(params) || !isNumber(params.progress)) return undefined;
  const { progress, total, message } = params;
  return {
    progress,
    ...(isNumber(total) ? { total } : {}),
    ...(typeof message === "string" ? { message } : {}),
  };
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** A call may take this many times its time limit in total if its server keeps reporting progress. */
export const TOTAL_TIMES = 10;

/** The longest delay of a timer. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * The time of one sent call. Progress restarts its time limit, up to a total; while a person is asked something, the time is
 * stopped.
 */
class CallTime {
  readonly #limitMs: number;
  readonly #onUp: () => void;
  /** The time until the call is called off, and until progress no longer helps, as of `#runningSince`. */
  #leftMs: number;
  #totalLeftMs: number;
  #runningSince = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #questions = 0;
  #hasProgress = false;

  /**
   * Starts the time.
   *
   * @param limitMs the time limit of the call
   * @param leftMs how much of it is left
   */
  constructor(limitMs: number, leftMs: number, onUp: () => void) {
    this.#limitMs = limitMs;
    this.#leftMs = leftMs;
    this.#totalLeftMs = limitMs * TOTAL_TIMES - (limitMs - leftMs);
    this.#onUp = onUp;
    this.#run();
  }

  /** Whether the server has reported progress. */
  get hasProgress(): boolean {
    return this.#hasProgress;
  }

  /** The server has reported progress. */
  progress(): void {
    this.#hasProgress = true;
    if (this.#timer === undefined) {
      this.#leftMs = this.#limitMs;
      return;
    }
    this.#stop();
    this.#leftMs = this.#limitMs;
    this.#run();
  }

  /** A person is asked. Several questions may be open at once. */
  pause(): void {
    if (this.#questions++ === 0) this.#stop();
  }

  /** A question was answered or withdrawn. */
  resume(): void {
    if (--this.#questions === 0) this.#run();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#questions = Number.POSITIVE_INFINITY;
  }

  #run(): void {
    this.#runningSince = performance.now();
    const delayMs = Math.max(0, Math.min(this.#leftMs, this.#totalLeftMs, MAX_DELAY_MS));
    this.#timer = setTimeout(this.#onUp, Math.ceil(delayMs));
  }

  #stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const ranMs = performance.now() - this.#runningSince;
    this.#leftMs -= ranMs;
    this.#totalLeftMs -= ranMs;
  }
}
