/**
 * The streams of one session in one process. What the server asks its client goes out under an id that no other process gives, and so
 * its answer is told from those to questions of other processes, whose sessions are the same to the client. An answer that comes to a
 * process that did not ask is put where the one that did looks for it (`AnswersElsewhere`).
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
  type JSONRPCResultResponse,
  type RequestId,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { SharedFacts } from "../../archive/shared-facts.ts";
import { isObject } from "../../base/json.ts";
import type { StateSealer } from "../mcp/mcp-server.ts";

type Answer = JSONRPCResultResponse | JSONRPCErrorResponse;
type Options = ConstructorParameters<typeof WebStandardStreamableHTTPServerTransport>[0];

/** How often to look for answers while a question is open. */
const LOOK_MS = 500;
/** Longer than a question is open. */
const KEEP_MS = 15 * 60_000;
/** The longest sealed answer that is handed on. */
export const MAX_ANSWER_CHARS = 1024 * 1024;

export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #elsewhere: AnswersElsewhere | undefined;
  readonly #prefix = randomUUID();
  /** The ids under which questions went out, with those of the server. */
  readonly #asked = new Map<string, RequestId>();
  #isLooking = false;

  /** @param elsewhere where answers are looked for that come to other processes. */
  constructor(options: Options, elsewhere: AnswersElsewhere | undefined) {
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
      return super.send({ ...message, id }, options);
    }
    return super.send(this.#withdrawn(message), options);
  }

  /**
   * Takes out of a client's message the answers to questions of other processes, which are handed on, and gives the others the ids that
   * the server knows. @throws ArchiveError when an answer cannot be handed on.
   *
   * @returns what is left for this process; `undefined` if that is nothing.
   */
  async sort(body: unknown): Promise<unknown> {
    if (!Array.isArray(body)) return this.#sortOne(body);
    const sorted = await Promise.all(body.map((message) => this.#sortOne(message)));
    const left = sorted.filter((message) => message !== undefined);
    return left.length === 0 && body.length > 0 ? undefined : left;
  }

  override async close(): Promise<void> {
    for (const id of [...this.#asked.keys()]) this.#forget(id);
    await super.close();
  }

  async #sortOne(body: unknown): Promise<unknown> {
    if (!isAnswer(body)) return body;
    const own = this.#take(body);
    if (own !== undefined) return own;
    return (await this.#elsewhere?.hand(body)) === true ? undefined : body;
  }

  /** An answer with the id that the server knows; `undefined` where it is not to an open question of this process. */
  #take(answer: Answer): Answer | undefined {
    const id = this.#asked.get(String(answer.id));
    if (id === undefined) return undefined;
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

  /** Looks for answers as long as a question is open. */
  async #look(): Promise<void> {
    if (this.#isLooking || this.#elsewhere === undefined) return;
    this.#isLooking = true;
    while (this.#asked.size > 0) {
      await delay(LOOK_MS);
      for (const found of await this.#elsewhere.found([...this.#asked.keys()])) {
        const answer = this.#take(found);
        if (answer !== undefined) this.onmessage?.(answer);
      }
    }
    this.#isLooking = false;
  }
}

/** The answers of a session's client that come to other processes than those that asked. */
export class AnswersElsewhere {
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
    const sealed = await this.#seal(answer);
    await this.#note({ [id]: sealed.length > MAX_ANSWER_CHARS ? await this.#seal(tooLong(answer)) : sealed });
    return true;
  }

  /** The answers to these questions that have come. Never rejects: while they cannot be read, none has. */
  async found(ids: readonly string[]): Promise<Answer[]> {
    const answers: Answer[] = [];
    try {
      const facts = await this.#facts.read(this.#name);
      for (const id of ids) {
        const sealed = (Object.hasOwn(facts, id) && facts[id]) || "";
        const text = sealed === "" ? undefined : await this.#sealer.opened(sealed, this.#purpose(id));
        const answer: unknown = text && JSON.parse(text);
        if (isAnswer(answer)) answers.push(answer);
      }
    } catch {
      // The next look may find them.
    }
    return answers;
  }

  /** Says that a question is not open any more. */
  async forget(id: string): Promise<void> {
    await this.#note({}, [id]).catch(() => {});
  }

  #seal(answer: Answer): Promise<string> {
    return this.#sealer.seal(JSON.stringify(answer), this.#purpose(String(answer.id)));
  }

  async #note(facts: Record<string, string>, remove: string[] = []): Promise<void> {
    await this.#facts.note(this.#name, { facts, remove, keepMs: KEEP_MS });
  }

  get #name(): string {
    return `answers ${this.#session}`;
  }

  #purpose(id: string): string {
    return `answer ${this.#session} ${id}`;
  }
}

function tooLong({ id }: Answer): Answer {
  return { jsonrpc: "2.0", id: id ?? "", error: { code: -32_000, message: "the answer is too long" } };
}

function isAnswer(message: unknown): message is Answer {
  return isObject(message) && (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message));
}
