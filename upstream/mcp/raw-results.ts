import { AsyncLocalStorage } from "node:async_hooks";
import { isObject } from "../../base/json/is-object.ts";
import type { AnswerFault, MessageGate, RequestId } from "./message-gate.ts";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "./message-transport.ts";

/**
 * Sits between the MCP client and a transport whose messages come through a gate. Replaces the gate's stand-ins by the
 * original results, so that the client returns them unchanged, and answers the server's requests.
 */

const RAW = "ptc/raw";
const FAULT = "ptc/fault";
const RESULTS_OF_TOOLS: ReadonlySet<unknown> = new Set(["tools/list", "tools/call"]);

/** While this many answers wait for a server to read them, its further requests are not answered. */
const MAX_UNREAD_ANSWERS = 100;
/** From this revision on, servers send no requests to clients (MCP 2026-07-28). */
const FIRST_WITHOUT_REQUESTS = "2026-07-28";
const METHOD_NOT_FOUND = -32601;

/** The result inside of a stand-in. */
export function rawResultOf(standIn: unknown): unknown {
  return isObject(standIn) ? standIn[RAW] : undefined;
}

/** Why an answer to `tools/list` or `tools/call` was replaced by an error, read from the `data` of that error. */
export function answerFaultOf(data: unknown): AnswerFault | undefined {
  return isObject(data) ? (data[FAULT] as AnswerFault | undefined) : undefined;
}

export class RawResultTransport implements MessageTransport {
  readonly hasPerRequestStream: boolean | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onclose?: (() => void) | undefined;
  /** Called when the server announces a change of its tools; once for several notices at the same time. */
  onToolsChanged: () => void = () => {};

  readonly #inner: MessageTransport;
  readonly #gate: MessageGate;
  readonly #sending = new AsyncLocalStorage<RequestId>();
  #protocolVersion: string | undefined;
  #unreadAnswers = 0;
  #isChangeTold = false;

  constructor(inner: MessageTransport, gate: MessageGate) {
    this.#inner = inner;
    this.#gate = gate;
    this.hasPerRequestStream = inner.hasPerRequestStream;
    gate.listener = {
      onToolsChanged: () => this.#tellChange(),
      onRequest: (id, method) => this.#answer(id, method),
    };
    inner.onmessage = (message) => this.#receive(message);
    inner.onerror = (error) => this.onerror?.(error);
    inner.onclose = () => this.onclose?.();
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
    return this.#inner.close();
  }

  async send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    const { id, method } = message;
    if (method === "notifications/cancelled" && isObject(message.params)) {
      this.#gate.forget(message.params.requestId as RequestId);
    }
    if (!isRequestId(id) || typeof method !== "string") return this.#inner.send(message, options);
    this.#gate.expect(id, method);
    options?.requestSignal?.addEventListener("abort", () => this.#gate.forget(id), { once: true });
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      if (RESULTS_OF_TOOLS.has(method)) this.fail(id, { kind: "stream_ended" });
    };
    try {
      await this.#sending.run(id, () => this.#inner.send(message, { ...options, onRequestStreamEnd }));
    } catch (error) {
      this.#gate.forget(id);
      throw error;
    }
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

  #tellChange(): void {
    if (this.#isChangeTold) return;
    this.#isChangeTold = true;
    setImmediate(() => {
      this.#isChangeTold = false;
      this.#guard(() => this.onToolsChanged());
    });
  }

  /** Answers pings, and everything else with "method not found": ptc offers servers nothing (MCP 2025-11-25, "Ping"). */
  #answer(id: RequestId, method: string): void {
    if (this.#unreadAnswers >= MAX_UNREAD_ANSWERS) return;
    if (this.#protocolVersion !== undefined && this.#protocolVersion >= FIRST_WITHOUT_REQUESTS) return;
    const outcome =
      method === "ping"
        ? { result: {} }
        : { error: { code: METHOD_NOT_FOUND, message: "ptc offers no such method" } };
    this.#unreadAnswers++;
    this.#inner
      .send({ jsonrpc: "2.0", id, ...outcome })
      .catch((error: Error) => this.onerror?.(error))
      .finally(() => {
        this.#unreadAnswers--;
      });
  }
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || typeof id === "number";
}
