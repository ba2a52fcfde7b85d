import { AsyncLocalStorage } from "node:async_hooks";
import { isObject } from "../../base/json/is-object.ts";
import type { AnswerFault, ChangingList, MessageGate, RequestId } from "./message-gate.ts";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "./message-transport.ts";
import { standInOf } from "./stand-ins.ts";

/**
 * Sits between the MCP client and a transport whose messages come through a gate. Replaces the gate's stand-ins by the
 * original results, so that the client returns them unchanged, and answers the server's requests.
 */

const RAW = "ptc/raw";
const FAULT = "ptc/fault";

/** The most requests of a server that are being answered at the same time. */
const MAX_OPEN_REQUESTS = 16;
/** While this many answers wait for a server to read them, its further requests are not answered. */
const MAX_UNREAD_ANSWERS = 100;
/** From this revision on, servers send no requests to clients (MCP 2026-07-28). */
const FIRST_WITHOUT_REQUESTS = "2026-07-28";
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** A request of a server, and what it is about. */
export interface ServerRequest {
  method: string;
  /** Read when it is first asked for, within bounds. */
  params(): unknown;
  /** The progress token of the request of ours in whose response it came; `undefined` where a transport does not tell. */
  cameWith: RequestId | undefined;
  /** Aborts when the server no longer wants the answer, or the connection has ended. */
  signal: AbortSignal;
}

/** The answer to a request of a server. */
export type RequestOutcome =
  | { result: Readonly<Record<string, unknown>> }
  | { error: { code: number; message: string } };

/** The result inside of a stand-in. */
export function rawResultOf(standIn: unknown): unknown {
  return isObject(standIn) ? standIn[RAW] : undefined;
}

/** Why an answer was replaced by an error, read from the `data` of that error. */
export function answerFaultOf(data: unknown): AnswerFault | undefined {
  return isObject(data) ? (data[FAULT] as AnswerFault | undefined) : undefined;
}

export class RawResultTransport implements MessageTransport {
  readonly hasPerRequestStream: boolean | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onclose?: (() => void) | undefined;
  /** Called when the server announces changes of what it lists; once for several notices at the same time. */
  onListsChanged: (lists: ReadonlySet<ChangingList>) => void = () => {};
  /** Answers a request of the server; `undefined` when ptc offers no such method. */
  onRequest: (request: ServerRequest) => Promise<RequestOutcome> | undefined = () => undefined;
  onProgress: (token: RequestId, params: unknown) => void = () => {};
  onElicitationComplete: (id: string) => void = () => {};

  readonly #inner: MessageTransport;
  readonly #gate: MessageGate;
  readonly #sending = new AsyncLocalStorage<RequestId>();
  /** The progress tokens of requests that wait for their answers, by id. */
  readonly #tokens = new Map<RequestId, RequestId>();
  /** The server's requests that are being answered. */
  readonly #open = new Map<RequestId, AbortController>();
  #protocolVersion: string | undefined;
  #unreadAnswers = 0;
  /** The lists whose changes are about to be passed on. */
  readonly #changed = new Set<ChangingList>();

  constructor(inner: MessageTransport, gate: MessageGate) {
    this.#inner = inner;
    this.#gate = gate;
    this.hasPerRequestStream = inner.hasPerRequestStream;
    gate.listener = {
      onListChanged: (list) => this.#tellChange(list),
      onRequest: (id, method, params) => this.#answer(id, method, params),
      onRequestCancelled: (id) => this.#open.get(id)?.abort(),
      onProgress: (token, params) => this.#guard(() => this.onProgress(token, params)),
      onElicitationComplete: (id) => this.#guard(() => this.onElicitationComplete(id)),
    };
    inner.onmessage = (message) => this.#receive(message);
    inner.onerror = (error) => this.onerror?.(error);
    inner.onclose = () => {
      this.#withdraw();
      this.onclose?.();
    };
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  /** The id of the request that is being sent in this asynchronous context. */
  get sendingId(): RequestId | undefined {
    return this.#sending.getStore();
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
    this.#inner.setProtocolVersion?.(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  close(): Promise<void> {
    this.#gate.clear();
    this.#withdraw();
    return this.#inner.close();
  }

  /** The server's requests are of no use any more. */
  #withdraw(): void {
    for (const open of this.#open.values()) open.abort();
  }

  async send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    const { id, method } = message;
    if (method === "notifications/cancelled" && isObject(message.params)) {
      this.#forget(message.params.requestId as RequestId);
    }
    if (!isRequestId(id) || typeof method !== "string") return this.#inner.send(message, options);
    this.#gate.expect(id, method);
    const token = progressTokenOf(message.params);
    if (token !== undefined) this.#tokens.set(id, token);
    options?.requestSignal?.addEventListener("abort", () => this.#forget(id), { once: true });
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      if (standInOf(method) !== undefined) this.fail(id, { kind: "stream_ended" });
    };
    try {
      await this.#sending.run(id, () => this.#inner.send(message, { ...options, onRequestStreamEnd }));
    } catch (error) {
      this.#forget(id);
      throw error;
    }
  }

  #forget(id: RequestId): void {
    this.#tokens.delete(id);
    this.#gate.forget(id);
  }

  /** Answers a waiting request with an error of our own. */
  fail(id: RequestId | undefined, fault: AnswerFault): void {
    const message = id === undefined ? undefined : this.#gate.refuse(id, fault);
    if (message !== undefined) this.#receive(message);
  }

  #receive(message: JsonRpcMessage): void {
    const { id, method } = message;
    if (method === undefined && isRequestId(id) && this.#gate.isWaiting(id)) {
      // The client took this from a response that did not pass the gate, such as that of HTTP 400.
      for (const admitted of this.#gate.admit(JSON.stringify(message)).messages) this.#deliver(admitted);
    } else this.#deliver(message);
  }

  #deliver(message: JsonRpcMessage): void {
    const kept = message.method === undefined ? this.#gate.take(message.id) : undefined;
    if (message.method === undefined) this.#tokens.delete(message.id as RequestId);
    let whole = message;
    if (kept !== undefined && "result" in kept) {
      whole = { ...message, result: { ...(message.result as object), [RAW]: kept.result } };
    } else if (kept !== undefined) {
      whole = { ...message, error: { ...(message.error as object), data: { [FAULT]: kept.fault } } };
    }
    // If the client throws on an answer, its request times out, and the stream is still read.
    this.#guard(() => this.onmessage?.(whole));
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #tellChange(list: ChangingList): void {
    const isFirst = this.#changed.size === 0;
    this.#changed.add(list);
    if (!isFirst) return;
    setImmediate(() => {
      const lists = new Set(this.#changed);
      this.#changed.clear();
      this.#guard(() => this.onListsChanged(lists));
    });
  }

  /** Answers pings (MCP 2025-11-25, "Ping"), what `onRequest` answers, and everything else with "method not found". */
  #answer(id: RequestId, method: string, params: () => unknown): void {
    if (this.#unreadAnswers >= MAX_UNREAD_ANSWERS) return;
    if (this.#protocolVersion !== undefined && this.#protocolVersion >= FIRST_WITHOUT_REQUESTS) return;
    const sending = this.sendingId;
    const cameWith = sending === undefined ? undefined : this.#tokens.get(sending);
    const closed = new AbortController();
    const isFree = this.#open.size < MAX_OPEN_REQUESTS && !this.#open.has(id);
    const answering =
      method === "ping" || !isFree
        ? undefined
        : this.onRequest({ method, params, cameWith, signal: closed.signal });
    if (answering === undefined) {
      const error = { code: METHOD_NOT_FOUND, message: "ptc offers no such method" };
      this.#reply(id, method === "ping" ? { result: {} } : { error });
      return;
    }
    this.#open.set(id, closed);
    const failed = { error: { code: INTERNAL_ERROR, message: "ptc could not answer" } };
    void answering
      .catch(() => failed)
      .then((outcome) => {
        this.#open.delete(id);
        // The answer to a request that its sender has cancelled is not sent (MCP 2025-11-25, "Cancellation").
        if (!closed.signal.aborted) this.#reply(id, outcome);
      });
  }

  #reply(id: RequestId, outcome: RequestOutcome): void {
    this.#unreadAnswers++;
    // What goes wrong with this answer is no fault of the request of ours in whose response the server asked.
    this.#sending
      .exit(() => this.#inner.send({ jsonrpc: "2.0", id, ...outcome }))
      .catch((error: Error) => this.onerror?.(error))
      .finally(() => {
        this.#unreadAnswers--;
      });
  }
}

function progressTokenOf(params: unknown): RequestId | undefined {
  const meta = isObject(params) ? params._meta : undefined;
  const token = isObject(meta) ? meta.progressToken : undefined;
  return isRequestId(token) ? token : undefined;
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || typeof id === "number";
}
