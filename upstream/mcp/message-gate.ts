import { ForeignJsonError, isObject, parseForeignJson } from "../../base/json.ts";
import { itemsIn, type Member, membersIn, parseText, type Span } from "../../base/json-spans.ts";
import { answeredIdOf } from "../../base/streams.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { parseListingPage } from "./tool-listing.ts";

/**
 * Decides which messages of a server are read. The answer to a request is parsed, within bounds. Of unrequested messages, only the
 * server's own requests and progress reports are read, within narrow bounds; all others are dropped unparsed.
 *
 * An answer goes to the sender of the request. Only answers to the MCP client's own requests become messages for it.
 */

/** One unchecked JSON-RPC message. */
export type JsonRpcMessage = Record<string, unknown>;

export type RequestId = string | number;

/** Why an answer cannot be used. */
export type AnswerFault =
  | { readonly kind: "oversize" }
  | { readonly kind: "stream_ended" }
  | { readonly kind: "malformed_error" }
  /** Its JSON is rejected. `detail` is phrased to follow a subject. */
  | { readonly kind: "refused"; readonly detail: string };

/** The outcome of a request: its result or JSON-RPC error as the server sent it, or why neither can be used. */
export type Answer =
  | { readonly result: unknown }
  | { readonly error: JsonRpcError }
  | { readonly fault: AnswerFault };

interface JsonRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A request that waits for its answer. */
interface WaitingRequest {
  readonly method: string;
  /** Receives the answer. If absent, the request is the MCP client's, and the answer is passed to it as a message. */
  readonly settle?: (answer: Answer) => void;
}

/** The result of admitting one text. */
export interface Admission {
  /** The messages for the MCP client. */
  readonly messages: readonly JsonRpcMessage[];
  /** The number of messages that answered no request. */
  readonly unasked: number;
  /** Whether the text contains something that is not a message. */
  readonly isGarbage: boolean;
}

/** A server's lists, of which it announces changes. */
export type ChangingList = "tools" | "resources" | "prompts";

/** Receives requests and notifications of the server. */
export interface GateListener {
  onListChanged(list: ChangingList): void;
  /** @param params reads the parameters, within bounds; returns `undefined` if there are none or they are refused. */
  onRequest(id: RequestId, method: string, params: () => unknown): void;
  /** The server no longer wants the answer to one of its requests. */
  onRequestCancelled(id: RequestId): void;
  /** The server reports progress, with these parameters, on the request that was sent with this token. */
  onProgress(token: RequestId, params: unknown): void;
  /** A person has finished at a URL (MCP 2025-11-25, "Completion Notifications for URL Mode Elicitation"). */
  onElicitationComplete(id: string): void;
  /** A resource has changed. */
  onResourceUpdated?(uri: string): void;
  /** @param params of a log message. */
  onMessage?(params: Record<string, unknown>): void;
}

/** The maximum number of messages in one batch (batches exist only in MCP 2025-03-26). */
const MAX_BATCH = 100;
const MAX_MEMBERS = 16;
const MAX_ID_CHARS = 256;
const MAX_METHOD_CHARS = 256;
const MAX_NOTICE_CHARS = 16_384;
/** The maximum length and depth of the parameters of a server's request. */
const MAX_REQUEST_CHARS = 256 * 1024;
const MAX_REQUEST_DEPTH = 32;
/** The error of a call that needs a person to visit an address first (MCP 2025-11-25, "URL Elicitation Required Error"). */
export const URL_ELICITATION_REQUIRED = -32042;
const EXCERPT_CHARS = 512;

/** From this many unrequested messages in one chunk on, a server counts as flooding. */
const FLOOD_MESSAGES = 100;

/**
 * How long to stop reading from a server after a chunk with unrequested messages, in milliseconds: as long as the chunk took to
 * process, so that a flood leaves half of the thread's time to others. 0 if there were few.
 */
export function pauseAfter(unasked: number, busyMs: number): number {
  return unasked < FLOOD_MESSAGES ? 0 : Math.ceil(busyMs);
}

export class MessageGate {
  readonly #waiting = new Map<RequestId, WaitingRequest>();
  listener: GateListener = {
    onListChanged() {},
    onRequest() {},
    onRequestCancelled() {},
    onProgress() {},
    onElicitationComplete() {},
  };

  /** Records that a request is being sent. */
  expect(id: RequestId, request: WaitingRequest): void {
    this.#waiting.set(id, request);
  }

  /** Records that a request no longer waits for its answer. */
  forget(id: RequestId): void {
    this.#waiting.delete(id);
  }

  clear(): void {
    this.#waiting.clear();
  }

  isWaiting(id: RequestId): boolean {
    return this.#waiting.has(id);
  }

  /** Admits a text that should be a message or a batch of them. Never throws. */
  admit(text: string): Admission {
    const batch = itemsIn(text, MAX_BATCH);
    if (batch === undefined) return this.#admitOne(text);
    const admitted = batch.map(({ start, end }) => this.#admitOne(text.slice(start, end)));
    return {
      messages: admitted.flatMap(({ messages }) => messages),
      unasked: admitted.reduce((sum, { unasked }) => sum + unasked, 0),
      isGarbage: admitted.some(({ isGarbage }) => isGarbage),
    };
  }

  /** Answers a waiting request with a fault. Returns the message for the transport; `undefined` if no such request waits. */
  refuse(id: RequestId, fault: AnswerFault): JsonRpcMessage | undefined {
    const request = this.#waiting.get(id);
    if (request === undefined) return undefined;
    this.#waiting.delete(id);
    if (request.settle !== undefined) return settleWith(id, request.settle, { fault });
    return { jsonrpc: "2.0", id, error: { code: -32603, message: describeFault(fault) } };
  }

  #admitOne(text: string): Admission {
    const members = membersIn(text, MAX_MEMBERS);
    if (members === undefined) return this.#broken(text);
    let version: string | undefined;
    let method: Member | undefined;
    let firstId: Member | undefined;
    let isAnswer = false;
    for (const member of members) {
      if (member.name === "jsonrpc") version = parseText(text, member, MAX_METHOD_CHARS);
      else if (member.name === "method") method = member;
      else if (member.name === "id") firstId ??= member;
      else if (member.name === "result" || member.name === "error") isAnswer = true;
    }
    if (version !== "2.0") return GARBAGE;
    if (method !== undefined) return this.#unasked(text, method, firstId);
    if (!isAnswer) return GARBAGE;
    const id = this.#waitingId(firstId === undefined ? undefined : parseId(text, firstId));
    if (id === undefined) return UNASKED;
    const message = this.#answer(id, text, members);
    return { messages: message === undefined ? [] : [message], unasked: 0, isGarbage: false };
  }

  /** Handles a request or a notification of the server. */
  #unasked(text: string, method: Span, id: Span | undefined): Admission {
    const name = parseText(text, method, MAX_METHOD_CHARS);
    if (name === undefined) return UNASKED;
    if (id === undefined) return this.#notice(name, text);
    const requestId = parseId(text, id);
    if (requestId !== undefined) this.listener.onRequest(requestId, name, () => paramsIn(text));
    return UNASKED;
  }

  /** Handles text that is not JSON. It may still contain the id of the request that it answers. */
  #broken(text: string): Admission {
    const ends = { head: text.slice(0, EXCERPT_CHARS), tail: text.slice(-EXCERPT_CHARS) };
    const id = this.#waitingId(answeredIdOf(ends));
    const message = id === undefined ? undefined : this.refuse(id, { kind: "refused", detail: "is no JSON" });
    return message === undefined ? GARBAGE : { messages: [message], unasked: 0, isGarbage: false };
  }

  /** Handles a notification. The MCP client gets only those about its own subscriptions. */
  #notice(method: string, text: string): Admission {
    switch (method) {
      case "notifications/tools/list_changed":
        this.listener.onListChanged("tools");
        break;
      case "notifications/resources/list_changed":
        this.listener.onListChanged("resources");
        break;
      case "notifications/prompts/list_changed":
        this.listener.onListChanged("prompts");
        break;
      case "notifications/progress":
      case "notifications/elicitation/complete":
        this.#tell(text);
        return UNASKED;
      case "notifications/resources/updated":
      case "notifications/message": {
        const params = text.length > MAX_NOTICE_CHARS ? undefined : paramsIn(text);
        if (!isObject(params)) return UNASKED;
        if (method === "notifications/message") this.listener.onMessage?.(params);
        else if (typeof params.uri === "string") this.listener.onResourceUpdated?.(params.uri);
        return UNASKED;
      }
      case "notifications/cancelled":
        this.#tell(text);
    }
    const isOfSubscription =
      method === "notifications/subscriptions/acknowledged" || method === "notifications/cancelled";
    if (
      !isOfSubscription ||
      ![...this.#waiting.values()].some(({ method }) => method === "subscriptions/listen")
    )
      return UNASKED;
    try {
      const limits = { maxBytes: MAX_NOTICE_CHARS, maxDepth: MAX_NESTING_DEPTH };
      return { ...UNASKED, messages: [parseForeignJson(text, limits) as JsonRpcMessage] };
    } catch {
      return UNASKED;
    }
  }

  /** Passes on a notification about one of our calls. */
  #tell(text: string): void {
    if (text.length > MAX_NOTICE_CHARS) return;
    const params = paramsIn(text);
    if (!isObject(params)) return;
    const { progressToken, elicitationId, requestId } = params;
    const isId = (value: unknown): value is RequestId =>
      typeof value === "string" || typeof value === "number";
    if (isId(progressToken)) this.listener.onProgress(progressToken, params);
    else if (typeof elicitationId === "string") this.listener.onElicitationComplete(elicitationId);
    else if (isId(requestId)) this.listener.onRequestCancelled(requestId);
  }

  /** The id of the waiting request that an answer is for. Some servers send numeric ids as text. */
  #waitingId(id: RequestId | undefined): RequestId | undefined {
    if (id === undefined || this.#waiting.has(id)) return id;
    if (typeof id !== "string") return undefined;
    const number = Number(id);
    return String(number) === id && this.#waiting.has(number) ? number : undefined;
  }

  #answer(id: RequestId, text: string, members: readonly Member[]): JsonRpcMessage | undefined {
    const { method = "", settle } = this.#waiting.get(id) ?? {};
    const twice = members.find(({ name }, index) => members.findIndex((each) => each.name === name) < index);
    if (twice !== undefined) {
      return this.refuse(id, { kind: "refused", detail: `has the key ${JSON.stringify(twice.name)} twice` });
    }
    const find = (wanted: string) => members.find(({ name }) => name === wanted);
    try {
      const error = find("error");
      const result = find("result");
      let answer: Exclude<Answer, { fault: unknown }>;
      if (error !== undefined) {
        const value = parsePart(text, error);
        if (!isJsonRpcError(value)) return this.refuse(id, { kind: "malformed_error" });
        answer = { error: value };
      } else if (result !== undefined && method === "tools/list") {
        answer = { result: parseListingPage(text.slice(result.start, result.end)) };
      } else answer = { result: result === undefined ? undefined : parsePart(text, result) };
      this.#waiting.delete(id);
      return settle === undefined ? { jsonrpc: "2.0", id, ...answer } : settleWith(id, settle, answer);
    } catch (error) {
      // No error may stop the reading of the stream.
      const detail = error instanceof ForeignJsonError ? error.message : `cannot be read: ${String(error)}`;
      return this.refuse(id, { kind: "refused", detail });
    }
  }
}

/** Delivers an answer. The SDK's transport must also see a message, or it would request the rest of the stream. */
function settleWith(id: RequestId, settle: (answer: Answer) => void, answer: Answer): JsonRpcMessage {
  settle(answer);
  return { jsonrpc: "2.0", id, result: {} };
}

const GARBAGE: Admission = { messages: [], unasked: 1, isGarbage: true };
const UNASKED: Admission = { messages: [], unasked: 1, isGarbage: false };

/** Says why an answer cannot be used, in a complete clause. */
export function describeFault(fault: AnswerFault): string {
  return fault.kind === "refused" ? `the answer ${fault.detail}` : `the answer is not usable (${fault.kind})`;
}

function parsePart(text: string, { start, end }: Span): unknown {
  return parseForeignJson(text.slice(start, end), { maxBytes: end - start, maxDepth: MAX_NESTING_DEPTH });
}

function parseId(text: string, span: Span): RequestId | undefined {
  if (text[span.start] === '"') return parseText(text, span, MAX_ID_CHARS);
  const written = text.slice(span.start, Math.min(span.end, span.start + MAX_ID_CHARS));
  const id = /^-?\d/.test(written) ? Number(written) : Number.NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}

/** The parameters of an unrequested message; `undefined` if there are none, or they exceed the bounds. */
function paramsIn(text: string): unknown {
  const params = membersIn(text, MAX_MEMBERS)?.find(({ name }) => name === "params");
  if (params === undefined) return undefined;
  try {
    const limits = { maxBytes: MAX_REQUEST_CHARS, maxDepth: MAX_REQUEST_DEPTH };
    return parseForeignJson(text.slice(params.start, params.end), limits);
  } catch {
    return undefined;
  }
}

function isJsonRpcError(error: unknown): error is JsonRpcError {
  return isObject(error) && Number.isInteger(error.code) && typeof error.message === "string";
}
