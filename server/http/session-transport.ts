/**
 * The streams of one session in one process. A question of the server to its client has an id that no other process uses. This tells its
 * answer from answers to other processes, which share the session. An answer or a cancellation that reaches a process which it does not
 * concern is put where the other process looks for it (`Elsewhere`).
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCResultResponse,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { SharedFacts } from "../../archive/shared-facts.ts";
import { isObject, readJson, writeJson } from "../../base/json.ts";
import type { StateSealer } from "../mcp/mcp-server.ts";

type Answer = JSONRPCResultResponse | JSONRPCErrorResponse;
type Options = ConstructorParameters<typeof WebStandardStreamableHTTPServerTransport>[0];

/** How often to look for what came to other processes, while a request is. A request that takes less costs nothing. */
const LOOK_MS = 500;
/** Longer than a question is open. */
const KEEP_MS = 15 * 60_000;
/** The most that waits for other processes in one session. More cancellings are dropped. */
const MAX_WAITING = 1_000;
/** The longest sealed answer that is handed on. */
export const MAX_ANSWER_CHARS = 1024 * 1024;

export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #elsewhere: Elsewhere | undefined;
  readonly #prefix = randomUUID();
  /** The ids under which questions went out, with those of the server. */
  readonly #asked = new Map<string, RequestId>();
  /** The requests of the client that are not answered yet. */
  readonly #running = new Set<RequestId>();
  #isLooking = false;

  /** @param elsewhere where to look for what comes to other processes. */
  constructor(options: Options, elsewhere: Elsewhere | undefined) {
    super(options);
    this.#elsewhere = elsewhere;
  }

  override async send(
    message: JSONRPCMessage,
    options?: Parameters<WebStandardStreamableHTTPServerTransport["send"]>[1],
  ): Promise<void> {
    if (isJSONRPCRequest(message)) {
      const id = `${this.#prefix}.${message.id}`;
      this.#asked.set(id, message.id);
      await this.#elsewhere?.expect(id);
      void this.#look();
      return super.send({ ...message, id }, options).catch((error: unknown) => {
        this.#forget(id);
        throw error;
      });
    }
    if (isAnswer(message) && message.id !== undefined) this.#running.delete(message.id);
    return super.send(this.#withdrawn(message), options);
  }

  /** Follows what the server is given, which is connected by now. */
  follow(): void {
    const give = this.onmessage;
    this.onmessage = (message, extra) => {
      if (isJSONRPCRequest(message)) {
        this.#running.add(message.id);
        void this.#look();
      }
      // A request that is cancelled is not answered.
      const cancelled = cancelledBy(message);
      if (cancelled !== undefined) this.#running.delete(cancelled);
      give?.(isAnswer(message) ? this.#asAsked(message) : message, extra);
    };
  }

  /**
   * Takes out of what a client sends what concerns other processes, and hands it on. @throws ArchiveError when it cannot be handed on.
   *
   * @returns what is left for this process; `undefined` if that is nothing.
   */
  async sort(body: unknown): Promise<unknown> {
    if (!Array.isArray(body)) return (await this.#handOn(body)) ? undefined : body;
    const handed = await Promise.all(body.map((message) => this.#handOn(message)));
    const left = body.filter((_, index) => !handed[index]);
    return left.length === 0 && body.length > 0 ? undefined : left;
  }

  override async close(): Promise<void> {
    for (const id of [...this.#asked.keys()]) this.#forget(id);
    this.#running.clear();
    await super.close();
  }

  /** Resolves with whether a message was for another process. */
  async #handOn(message: unknown): Promise<boolean> {
    const elsewhere = this.#elsewhere;
    if (elsewhere === undefined) return false;
    if (isAnswer(message)) return !this.#asked.has(String(message.id)) && elsewhere.hand(message);
    const cancelled = cancelledBy(message);
    if (cancelled === undefined || this.#running.has(cancelled)) return false;
    await elsewhere.cancel(message as JSONRPCNotification, cancelled);
    return true;
  }

  /** An answer under the id that the server knows. */
  #asAsked(answer: Answer): Answer {
    const id = this.#asked.get(String(answer.id));
    if (id === undefined) return answer;
    this.#forget(String(answer.id));
    return { ...answer, id };
  }

  /** Names a question that is withdrawn as the client knows it. */
  #withdrawn(message: JSONRPCMessage): JSONRPCMessage {
    if (!isJSONRPCNotification(message) || message.method !== "notifications/cancelled") return message;
    const requestId = message.params?.requestId;
    const [id] = [...this.#asked].find(([, own]) => own === requestId) ?? [];
    if (id === undefined) return message;
    this.#forget(id);
    return { ...message, params: { ...message.params, requestId: id } };
  }

  #forget(id: string): void {
    this.#asked.delete(id);
    void this.#elsewhere?.forget(id);
  }

  /** Looks for answers and cancellings as long as a request is under way. */
  async #look(): Promise<void> {
    if (this.#isLooking || this.#elsewhere === undefined) return;
    this.#isLooking = true;
    while (this.#asked.size + this.#running.size > 0) {
      await delay(LOOK_MS);
      if (this.#asked.size + this.#running.size === 0) break;
      for (const found of await this.#elsewhere.found([...this.#asked.keys()], [...this.#running]))
        this.onmessage?.(found);
    }
    this.#isLooking = false;
  }
}

/** What a session's client sends to other processes than it concerns. */
export class Elsewhere {
  readonly #facts: SharedFacts;
  readonly #sealer: StateSealer;
  readonly #session: string;

  /** @param session its unguessable name. */
  constructor(facts: SharedFacts, sealer: StateSealer, session: string) {
    this.#facts = facts;
    this.#sealer = sealer;
    this.#session = session;
  }

  /** Says that a question is open. Where that cannot be said, it is answered here alone. */
  async expect(id: string): Promise<void> {
    await this.#note({ [id]: "" }).catch(() => {});
  }

  /** Hands an answer on. Resolves with whether another process waits for it. @throws ArchiveError */
  async hand(answer: Answer): Promise<boolean> {
    const id = String(answer.id);
    const open = await this.#facts.read(this.#name);
    // The first answer counts.
    if (!Object.hasOwn(open, id) || open[id] !== "") return false;
    const sealed = await this.#seal(id, answer);
    await this.#note({
      [id]: sealed.length > MAX_ANSWER_CHARS ? await this.#seal(id, tooLong(answer)) : sealed,
    });
    return true;
  }

  /** Hands on that a client cancels a request that is not here. It may be nowhere any more. @throws ArchiveError */
  async cancel(notification: JSONRPCNotification, request: RequestId): Promise<void> {
    const key = keyOfCancelling(request);
    const sealed = await this.#seal(key, notification);
    const waiting = await this.#facts.read(this.#name);
    if (sealed.length <= MAX_ANSWER_CHARS && Object.keys(waiting).length < MAX_WAITING)
      await this.#note({ [key]: sealed });
  }

  /** What has come to these questions and requests. Never rejects: while it cannot be read, nothing has. */
  async found(asked: readonly string[], running: readonly RequestId[]): Promise<JSONRPCMessage[]> {
    const messages: JSONRPCMessage[] = [];
    try {
      const facts = await this.#facts.read(this.#name);
      for (const key of [...asked, ...running.map(keyOfCancelling)]) {
        const sealed = (Object.hasOwn(facts, key) && facts[key]) || "";
        const text = sealed === "" ? undefined : await this.#sealer.opened(sealed, this.#purpose(key));
        const message: unknown = text && readJson(text);
        if (isAnswer(message)) messages.push(message);
        else if (cancelledBy(message) !== undefined) {
          messages.push(message as JSONRPCNotification);
          await this.forget(key);
        }
      }
    } catch {
      // The next look may find them.
    }
    return messages;
  }

  /** Says that nothing more is to be known of a question or a cancelling. */
  async forget(key: string): Promise<void> {
    await this.#note({}, [key]).catch(() => {});
  }

  #seal(key: string, message: JSONRPCMessage): Promise<string> {
    return this.#sealer.seal(writeJson(message), this.#purpose(key));
  }

  async #note(facts: Record<string, string>, remove: string[] = []): Promise<void> {
    await this.#facts.note(this.#name, { facts, remove, keepMs: KEEP_MS });
  }

  get #name(): string {
    return `messages ${this.#session}`;
  }

  #purpose(key: string): string {
    return `message ${this.#session} ${key}`;
  }
}

function tooLong({ id }: Answer): Answer {
  return { jsonrpc: "2.0", id: id ?? "", error: { code: -32_000, message: "the answer is too long" } };
}

function isAnswer(message: unknown): message is Answer {
  return isObject(message) && (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message));
}

/** The request that a message cancels; `undefined` where it cancels none. */
function cancelledBy(message: unknown): RequestId | undefined {
  if (!isObject(message) || !isJSONRPCNotification(message)) return undefined;
  const requestId = message.method === "notifications/cancelled" ? message.params?.requestId : undefined;
  return typeof requestId === "string" || typeof requestId === "number" ? requestId : undefined;
}

/** It tells `1` from `"1"`, and both from the ids of questions. */
function keyOfCancelling(request: RequestId): string {
  return `cancel ${JSON.stringify(request)}`;
}
