import { isObject } from "../../base/json/is-object.ts";
import { itemsIn, type Member, membersIn, parseText, type Span } from "../../base/json/json-spans.ts";
import { ForeignJsonError, parseForeignJson } from "../../base/json/parse-json.ts";
import { answeredIdOf } from "../../base/line-splitter.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { parseListingPage } from "../listing-page.ts";
import type { JsonRpcMessage } from "./message-transport.ts";
import { standInOf } from "./stand-ins.ts";

/**
 * Decides which messages of a server are read. An answer to one of our requests is parsed, within bounds. Of what is
 * unrequested, questions of the server and reports of progress are read within narrow bounds, and the rest is dropped unparsed. The MCP client gets small stand-ins for results of tools, because its own schemas would
 * reject a whole list for one odd tool.
 */

export type RequestId = string | number;

/** Why an answer could not be used. */
export type AnswerFault =
  | { readonly kind: "oversize" }
  | { readonly kind: "stream_ended" }
  | { readonly kind: "malformed_error" }
  /** The call needs a person to visit addresses first. `data` is unchecked. */
  | { readonly kind: "needs_visit"; readonly data: unknown }
  /** Its JSON is rejected. `detail` follows a subject. */
  | { readonly kind: "refused"; readonly detail: string };

/** The result of admitting one text. */
export interface Admission {
  /** The messages for the MCP client. */
  readonly messages: readonly JsonRpcMessage[];
  /** The number of messages that answered no request. */
  readonly unasked: number;
  /** Whether the text contains something that is no message. */
  readonly isGarbage: boolean;
}

/** What a server lists, and announces changes of. */
export type ChangingList = "tools" | "resources" | "prompts";

/** Receives requests and notifications of the server. */
export interface GateListener {
  onListChanged(list: ChangingList): void;
  /** @param params reads the parameters, within bounds; `undefined` when there are none or they are refused. */
  onRequest(id: RequestId, method: string, params: () => unknown): void;
  /** The server no longer wants the answer to a request of its own. */
  onRequestCancelled(id: RequestId): void;
  /** The server reports progress, with these parameters, on the request that was sent with this token. */
  onProgress(token: RequestId, params: unknown): void;
  /** What a person was sent to do elsewhere is done (MCP 2025-11-25, "Completion Notifications for URL Mode Elicitation"). */
  onElicitationComplete(id: string): void;
}

/** The most messages of one batch (batches exist only in MCP 2025-03-26). */
const MAX_BATCH = 100;
const MAX_MEMBERS = 16;
const MAX_ID_CHARS = 256;
const MAX_METHOD_CHARS = 256;
const MAX_NOTICE_CHARS = 16_384;
/** The most characters of the parameters of a server's request, and how deep they may nest. */
const MAX_REQUEST_CHARS = 256 * 1024;
const MAX_REQUEST_DEPTH = 32;
/** The error of a call that needs a person to visit an address first (MCP 2025-11-25, "URL Elicitation Required Error"). */
const URL_ELICITATION_REQUIRED = -32042;
const EXCERPT_CHARS = 512;

export class MessageGate {
  /** Our requests that wait for an answer: methods by id. */
  readonly #waiting = new Map<RequestId, string>();
  /** Answers that were replaced by stand-ins, until the client has passed these on. */
  readonly #kept = new Map<RequestId, { result: unknown } | { fault: AnswerFault }>();
  listener: GateListener = {
    onListChanged() {},
    onRequest() {},
    onRequestCancelled() {},
    onProgress() {},
    onElicitationComplete() {},
  };

  /** Notes that a request is being sent. */
  expect(id: RequestId, method: string): void {
    this.#waiting.set(id, method);
  }

  /** Notes that a request no longer waits for its answer. */
  forget(id: RequestId): void {
    this.#waiting.delete(id);
    this.#kept.delete(id);
  }

  clear(): void {
    this.#waiting.clear();
    this.#kept.clear();
  }

  isWaiting(id: RequestId): boolean {
    return this.#waiting.has(id);
  }

  /** The result or fault behind a stand-in. It can be taken once. */
  take(id: unknown): { result: unknown } | { fault: AnswerFault } | undefined {
    const kept = this.#kept.get(id as RequestId);
    this.#kept.delete(id as RequestId);
    return kept;
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

  /** An error that replaces an unusable answer; `undefined` when no request waits for it. */
  refuse(id: RequestId, fault: AnswerFault): JsonRpcMessage | undefined {
    if (!this.#waiting.delete(id)) return undefined;
    this.#kept.set(id, { fault });
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

  /** Handles text that is no JSON. It may still show the id of the request that it answers. */
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
      case "notifications/cancelled":
        this.#tell(text);
    }
    const isOfSubscription =
      method === "notifications/subscriptions/acknowledged" || method === "notifications/cancelled";
    if (!isOfSubscription || ![...this.#waiting.values()].includes("subscriptions/listen")) return UNASKED;
    try {
      const limits = { maxBytes: MAX_NOTICE_CHARS, maxDepth: MAX_NESTING_DEPTH };
      return { ...UNASKED, messages: [parseForeignJson(text, limits) as JsonRpcMessage] };
    } catch {
      return UNASKED;
    }
  }

  /** Passes on a notice about a call of ours. */
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
    const method = this.#waiting.get(id) ?? "";
    const standIn = standInOf(method);
    const twice = members.find(({ name }, index) => members.findIndex((each) => each.name === name) < index);
    if (twice !== undefined) {
      return this.refuse(id, { kind: "refused", detail: `has the key ${JSON.stringify(twice.name)} twice` });
    }
    const find = (wanted: string) => members.find(({ name }) => name === wanted);
    try {
      const error = find("error");
      const result = find("result");
      const message: JsonRpcMessage = { jsonrpc: "2.0", id };
      if (error !== undefined) {
        const value = parsePart(text, error);
        if (!isJsonRpcError(value)) return this.refuse(id, { kind: "malformed_error" });
        // The data of an error is needed only during version negotiation.
        if (standIn !== undefined && value.code === URL_ELICITATION_REQUIRED) {
          this.#kept.set(id, { fault: { kind: "needs_visit", data: value.data } });
        }
        message.error = standIn === undefined ? value : { code: value.code, message: value.message };
      } else if (result !== undefined && standIn !== undefined) {
        const part = text.slice(result.start, result.end);
        const value = method === "tools/list" ? parseListingPage(part) : parsePart(text, result);
        this.#kept.set(id, { result: value });
        message.result = standIn;
      } else if (result !== undefined) message.result = parsePart(text, result);
      this.#waiting.delete(id);
      return message;
    } catch (error) {
      // No error of any kind may stop the reading of the stream.
      const detail = error instanceof ForeignJsonError ? error.message : `cannot be read: ${String(error)}`;
      return this.refuse(id, { kind: "refused", detail });
    }
  }
}

const GARBAGE: Admission = { messages: [], unasked: 1, isGarbage: true };
const UNASKED: Admission = { messages: [], unasked: 1, isGarbage: false };

function describeFault(fault: AnswerFault): string {
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

/** The parameters of an unrequested message; `undefined` when there are none, or when they exceed the bounds. */
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

function isJsonRpcError(error: unknown): error is { code: number; message: string; data?: unknown } {
  if (typeof error !== "object" || error === null || Array.isArray(error)) return false;
  return (
    "code" in error && Number.isInteger(error.code) && "message" in error && typeof error.message === "string"
  );
}
