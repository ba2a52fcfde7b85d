import { AsyncLocalStorage } from "node:async_hooks";
import { isObject, withRawNumbers, writeJson } from "../../base/json.ts";
import {
  type Answer,
  type AnswerFault,
  type ChangingList,
  describeFault,
  type JsonRpcMessage,
  type MessageGate,
  type RequestId,
} from "./message-gate.ts";

/**
 * The session with one server. Requests come from two senders, over one transport whose messages pass a gate:
 *
 * - The MCP client of the SDK negotiates the protocol version and listens for changes of lists. It sees only the answers to these
 *   requests.
 * - `ServerSession.request` sends every other request, and resolves with the result exactly as the server sent it. The client's
 *   own `request` cannot do that: in `@modelcontextprotocol/client` 2.4 each result has to match the schema that MCP 2026-07-28
 *   has for its method before the caller's schema is asked, so that one odd tool would cost a whole list, and tasks are refused.
 *
 * Requests of the server are also answered here, within bounds. The client does not see them.
 */

export interface SendOptions {
  /** Called when the stream for the request's answer has ended. */
  onRequestStreamEnd?: (() => void) | undefined;
  /** Aborts when the answer is no longer wanted. */
  requestSignal?: AbortSignal | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** Carries messages to and from one server: the used part of the SDK's transport interface. */
export interface MessageTransport {
  /** Whether it writes each `bigint` in a message with all digits by itself. */
  readonly writesBigIntegers?: boolean;
  readonly hasPerRequestStream?: boolean | undefined;
  readonly sessionId?: string | undefined;
  start(): Promise<void>;
  send(message: JsonRpcMessage, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
  setProtocolVersion?: ((version: string) => void) | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onclose?: (() => void) | undefined;
}

/** The maximum number of a server's requests that are answered at the same time. */
const MAX_OPEN_REQUESTS = 16;
/** While this many answers wait for a server to read them, its further requests are not answered. */
const MAX_UNREAD_ANSWERS = 100;
/** From this revision on, servers send no requests to clients (MCP 2026-07-28). */
const FIRST_WITHOUT_REQUESTS = "2026-07-28";
/** The ids of `request` begin here. The MCP client counts its own from 0, and sends fewer than this. */
const FIRST_ID = 1_000;

/** JSON-RPC 2.0, section 5.1 */
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;

type Params = Readonly<Record<string, unknown>>;

/** Why a request has no result. */
export type RequestFailure =
  /** The server answered with a JSON-RPC error. `data` is unchecked. */
  | { readonly kind: "rejected"; readonly code: number; readonly data: unknown }
  /** The server answered with something that cannot be used. */
  | { readonly kind: "unusable"; readonly fault: AnswerFault }
  /** The time of the request ran out, or its signal aborted. */
  | { readonly kind: "called_off" }
  | { readonly kind: "closed" };

/** A request has no result. If the server rejected the request, the message is the server's own. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly failure: RequestFailure;

  constructor(message: string, failure: RequestFailure) {
    super(message);
    this.failure = failure;
  }
}

/** Whether a server has rejected a request because it does not know the method. */
export function isUnknownMethod(error: unknown): boolean {
  return isRejected(error, METHOD_NOT_FOUND);
}

/** Whether a server has rejected a request for its parameters, such as a URI that it does not know. */
export function isInvalidParams(error: unknown): boolean {
  return isRejected(error, INVALID_PARAMS);
}

function isRejected(error: unknown, code: number): boolean {
  return error instanceof RequestError && error.failure.kind === "rejected" && error.failure.code === code;
}

export interface RequestOptions {
  /** The time for the answer; unlimited by default. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Sent with the request, where each request is a separate HTTP request. */
  headers?: Readonly<Record<string, string>>;
}

/** A server's request. */
export interface ServerRequest {
  method: string;
  /** Reads the parameters on the first call, within bounds. */
  params(): unknown;
  /** The progress token of our request in whose response it came; `undefined` if the transport does not say. */
  cameWith: RequestId | undefined;
  /** Aborts when the server no longer wants the answer, or the connection has ended. */
  signal: AbortSignal;
}

/** The answer to a request of a server. */
export type RequestOutcome =
  | { result: Readonly<Record<string, unknown>> }
  | { error: { code: number; message: string } };

export class ServerSession implements MessageTransport {
  readonly hasPerRequestStream: boolean | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onclose?: (() => void) | undefined;
  /** Called when the server announces changes of what it lists; once for several notices at the same time. */
  onListsChanged: (lists: ReadonlySet<ChangingList>) => void = () => {};
  /** Answers a request of the server; `undefined` if ptc offers no such method. */
  onRequest: (request: ServerRequest) => Promise<RequestOutcome> | undefined = () => undefined;
  onProgress: (token: RequestId, params: unknown) => void = () => {};
  onElicitationComplete: (id: string) => void = () => {};
  onResourceUpdated: (uri: string) => void = () => {};
  onMessage: (params: Params) => void = () => {};
  /** The `_meta` of every request in the negotiated protocol version; `undefined` before MCP 2026-07-28. */
  requestMeta: Params | undefined;

  readonly #inner: MessageTransport;
  readonly #gate: MessageGate;
  readonly #sending = new AsyncLocalStorage<RequestId>();
  /** The unanswered requests of `request`, by id. */
  readonly #sent = new Map<number, { token: RequestId | undefined; fail: (error: RequestError) => void }>();
  #nextId = FIRST_ID;
  /** The server's requests that are being answered. */
  readonly #open = new Map<RequestId, AbortController>();
  #protocolVersion: string | undefined;
  #unreadAnswers = 0;
  #isClosed = false;
  /** The lists whose changes are about to be passed on. */
  readonly #changed = new Set<ChangingList>();

  constructor(inner: MessageTransport, gate: MessageGate) {
    this.#inner = inner;
    this.#gate = gate;
    this.hasPerRequestStream = inner.hasPerRequestStream;
    gate.listener = {
      onListChanged: (list) => this.#announceChange(list),
      onRequest: (id, method, params) => this.#answer(id, method, params),
      onRequestCancelled: (id) => this.#open.get(id)?.abort(),
      onProgress: (token, params) => this.#guard(() => this.onProgress(token, params)),
      onElicitationComplete: (id) => this.#guard(() => this.onElicitationComplete(id)),
      onResourceUpdated: (uri) => this.#guard(() => this.onResourceUpdated(uri)),
      onMessage: (params) => this.#guard(() => this.onMessage(params)),
    };
    inner.onmessage = (message) => this.#receive(message);
    inner.onerror = (error) => this.onerror?.(error);
    inner.onclose = () => {
      this.#isClosed = true;
      this.#withdraw();
      this.onclose?.();
      for (const { fail } of this.#sent.values()) fail(hasClosed());
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

  /** A message whose numbers the transport writes with all digits. */
  #writable<Message>(message: Message): Message {
    return this.#inner.writesBigIntegers === true ? message : withRawNumbers(message);
  }

  /** Withdraws the server's requests, whose answers are no longer needed. */
  #withdraw(): void {
    for (const open of this.#open.values()) open.abort();
  }

  /** Sends a message of the MCP client. */
  async send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    const { id, method } = message;
    if (!isRequestId(id) || typeof method !== "string") return this.#inner.send(message, options);
    this.#gate.expect(id, { method });
    options?.requestSignal?.addEventListener("abort", () => this.#gate.forget(id), { once: true });
    try {
      await this.#sending.run(id, () => this.#inner.send(this.#writable(message), options));
    } catch (error) {
      this.#gate.forget(id);
      throw error;
    }
  }

  /**
   * Sends a request and resolves with its unchecked result. If its time runs out or its signal aborts, it is cancelled at the server.
   *
   * @throws RequestError, and whatever the transport throws.
   */
  async request(
    method: string,
    params: Params | undefined,
    { timeoutMs, signal, headers }: RequestOptions = {},
  ): Promise<unknown> {
    if (signal?.aborted) throw new RequestError(String(signal.reason), { kind: "called_off" });
    if (this.#isClosed) throw hasClosed();
    const id = this.#nextId++;
    let resolve = (_result: unknown) => {};
    let reject = (_error: unknown) => {};
    const answered = new Promise<unknown>((...settlers) => {
      [resolve, reject] = settlers;
    });
    // A transport with a stream for each request cancels by ending the stream (MCP 2026-07-28, "Cancellation").
    const stream =
      this.requestMeta !== undefined && this.hasPerRequestStream === true ? new AbortController() : undefined;
    const callOff = (reason: string) => {
      reject(new RequestError(reason, { kind: "called_off" }));
      this.#gate.forget(id);
      if (stream !== undefined) return stream.abort();
      const cancelled = this.#withMeta("notifications/cancelled", { requestId: id, reason });
      this.#inner.send(cancelled).catch((error: Error) => this.onerror?.(error));
    };
    const onAbort = () => callOff(String(signal?.reason));
    signal?.addEventListener("abort", onAbort, { once: true });
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(() => callOff("the request timed out"), timeoutMs);
    const settle = (answer: Answer) => {
      if ("result" in answer) resolve(answer.result);
      else reject(errorOf(answer));
    };
    this.#gate.expect(id, { method, settle });
    this.#sent.set(id, { token: progressTokenOf(params), fail: reject });
    const options = {
      headers,
      requestSignal: stream?.signal,
      onRequestStreamEnd: () => this.fail(id, { kind: "stream_ended" }),
    };
    this.#sending
      .run(id, () => this.#inner.send(this.#writable({ ...this.#withMeta(method, params), id }), options))
      .catch(reject);
    try {
      return await answered;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      this.#sent.delete(id);
      this.#gate.forget(id);
    }
  }

  #withMeta(method: string, params: Params | undefined): JsonRpcMessage {
    const meta = this.requestMeta;
    if (meta === undefined) return { jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) };
    const own = isObject(params?._meta) ? params._meta : {};
    return { jsonrpc: "2.0", method, params: { ...params, _meta: { ...meta, ...own } } };
  }

  /** Answers a waiting request with a fault. */
  fail(id: RequestId | undefined, fault: AnswerFault): void {
    const message = id === undefined ? undefined : this.#gate.refuse(id, fault);
    if (message !== undefined) this.#receive(message);
  }

  #receive(message: JsonRpcMessage): void {
    const { id, method } = message;
    if (method === undefined && isRequestId(id) && this.#gate.isWaiting(id)) {
      // The transport took this from a response that did not pass the gate, such as one with HTTP 400.
      for (const admitted of this.#gate.admit(writeJson(message)).messages) this.#deliver(admitted);
    } else this.#deliver(message);
  }

  /** Passes a message to the client, unless it only reports that a request of `request` has been answered. */
  #deliver(message: JsonRpcMessage): void {
    if (message.method === undefined && typeof message.id === "number" && message.id >= FIRST_ID) return;
    // If the client throws on an answer, its request times out, but the stream is still read.
    this.#guard(() => this.onmessage?.(message));
  }

  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #announceChange(list: ChangingList): void {
    const isFirst = this.#changed.size === 0;
    this.#changed.add(list);
    if (!isFirst) return;
    setImmediate(() => {
      const lists = new Set(this.#changed);
      this.#changed.clear();
      this.#guard(() => this.onListsChanged(lists));
    });
  }

  /** Answers pings (MCP 2025-11-25, "Ping"), then uses `onRequest`, and answers everything else with "method not found". */
  #answer(id: RequestId, method: string, params: () => unknown): void {
    if (this.#unreadAnswers >= MAX_UNREAD_ANSWERS) return;
    if (this.#protocolVersion !== undefined && this.#protocolVersion >= FIRST_WITHOUT_REQUESTS) return;
    const cameWith = this.#sent.get(Number(this.sendingId))?.token;
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
    // A failure of this answer must not affect our request in whose response the server asked.
    this.#sending
      .exit(() => this.#inner.send(this.#writable({ jsonrpc: "2.0", id, ...outcome })))
      .catch((error: Error) => this.onerror?.(error))
      .finally(() => {
        this.#unreadAnswers--;
      });
  }
}

function hasClosed(): RequestError {
  return new RequestError("the connection has ended", { kind: "closed" });
}

function errorOf(answer: Exclude<Answer, { result: unknown }>): RequestError {
  if ("fault" in answer) {
    return new RequestError(describeFault(answer.fault), { kind: "unusable", fault: answer.fault });
  }
  const { code, message, data } = answer.error;
  return new RequestError(message, { kind: "rejected", code, data });
}

function progressTokenOf(params: Params | undefined): RequestId | undefined {
  const meta = params?._meta;
  const token = isObject(meta) ? meta.progressToken : undefined;
  return isRequestId(token) ? token : undefined;
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || typeof id === "number";
}
