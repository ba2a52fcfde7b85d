import { AsyncLocalStorage } from "node:async_hooks";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "./message-transport.ts";

/**
 * Passes results of `tools/list` and `tools/call` by the MCP client's own schemas: these reject a server's whole list
 * for one odd tool, and nothing here may be lost. The client gets a valid stand-in that carries the result as it came.
 */

const STAND_INS: Readonly<Record<string, JsonRpcMessage>> = {
  "tools/list": { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "private" },
  "tools/call": { resultType: "complete", content: [] },
};

const RAW = "ptc/raw";
const FAULT = "ptc/fault";

/** Deeper values would overflow the stack of whatever walks them next. */
const MAX_RESULT_DEPTH = 1_000;

export type RawResultFault = "oversize" | "too_deep" | "stream_ended" | "malformed_error";

/** The result inside of a stand-in. */
export function rawResultOf(standIn: unknown): unknown {
  return isObject(standIn) ? standIn[RAW] : undefined;
}

/** Why an answer was replaced by an error, read from the `data` of that error. */
export function rawResultFaultOf(data: unknown): RawResultFault | undefined {
  return isObject(data) ? (data[FAULT] as RawResultFault | undefined) : undefined;
}

export class RawResultTransport implements MessageTransport {
  readonly hasPerRequestStream: boolean | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onclose?: (() => void) | undefined;

  readonly #inner: MessageTransport;
  /** Methods of the requests of ours that wait for an answer. */
  readonly #waiting = new Map<unknown, string>();
  readonly #sending = new AsyncLocalStorage<unknown>();

  constructor(inner: MessageTransport) {
    this.#inner = inner;
    this.hasPerRequestStream = inner.hasPerRequestStream;
    inner.onmessage = (message) => this.#receive(message);
    inner.onerror = (error) => this.onerror?.(error);
    inner.onclose = () => this.onclose?.();
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  /** The id of the request whose sending is under way in this asynchronous context. */
  get sendingId(): unknown {
    return this.#sending.getStore();
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  close(): Promise<void> {
    this.#waiting.clear();
    return this.#inner.close();
  }

  async send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    const { id, method } = message;
    if (method === "notifications/cancelled" && isObject(message.params)) {
      this.#waiting.delete(message.params.requestId);
    }
    if (id === undefined || typeof method !== "string" || STAND_INS[method] === undefined) {
      return this.#inner.send(message, options);
    }
    this.#waiting.set(id, method);
    options?.requestSignal?.addEventListener("abort", () => this.#waiting.delete(id), { once: true });
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      this.fail(id, "stream_ended");
    };
    try {
      await this.#sending.run(id, () => this.#inner.send(message, { ...options, onRequestStreamEnd }));
    } catch (error) {
      this.#waiting.delete(id);
      throw error;
    }
  }

  /** Answers a request that still waits with an error of ours. */
  fail(id: unknown, fault: RawResultFault): void {
    if (!this.#waiting.delete(id)) return;
    this.onmessage?.({
      jsonrpc: "2.0",
      id,
      error: { code: -32603, message: fault, data: { [FAULT]: fault } },
    });
  }

  #receive(message: JsonRpcMessage): void {
    const { id } = message;
    const method = message.method === undefined ? this.#waiting.get(id) : undefined;
    if (method === undefined) {
      this.onmessage?.(message);
      return;
    }
    const { error, result } = message;
    if (error !== undefined && !isJsonRpcError(error)) this.fail(id, "malformed_error");
    else if (isDeeperThan(result, MAX_RESULT_DEPTH)) this.fail(id, "too_deep");
    else {
      this.#waiting.delete(id);
      const standIn = { jsonrpc: "2.0", id, result: { ...STAND_INS[method], [RAW]: result } };
      this.onmessage?.(error === undefined ? standIn : message);
    }
  }
}

function isJsonRpcError(error: unknown): boolean {
  return isObject(error) && Number.isInteger(error.code) && typeof error.message === "string";
}

function isDeeperThan(value: unknown, maxDepth: number): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    const next: unknown[] = [];
    for (const container of level) {
      if (typeof container !== "object" || container === null) continue;
      for (const member of Object.values(container)) {
        if (typeof member === "object" && member !== null) next.push(member);
      }
    }
    level = next;
  }
  return false;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
