/**
 * Conversations whose requests come to several processes. Each process has its own `Conversation`, with the texts that it has read. What
 * these have come to (labels that the model was shown, that were read, and that servers were given) is shared: a request takes it
 * before anything is begun for it, and hands on what is new before its answer goes out. So no model reads anything in one process
 * that the others do not know of when it acts on it.
 */
import { createHash, randomUUID } from "node:crypto";
import * as z from "zod/mini";
import type { Facts, SharedFacts } from "../../archive/shared-facts.ts";
import { isWellFormed } from "../../base/json.ts";
import type { Carried, Conversation } from "../../broker/flow/conversation.ts";
import type { ConversationRuns } from "../../broker/policy/run-history.ts";
import type { RunContext } from "../../protocol/run-context.ts";

/** How long the labels of a principal without sessions stay, after the last request: as long as a process keeps a conversation. */
const KEEP_MS = 30 * 60_000;
/** The same for a session, whose client may keep what its model was shown as long as the session lasts. */
export const SESSION_MS = 7 * 24 * 3_600_000;
/** Of more facts, those of single processes are replaced by those of all. */
const MAX_FACTS = 200;
/** In the place of one process: what it says counts in every process as known elsewhere. */
const ANYWHERE = "*";

const Fact = z.union([
  z.tuple([z.literal("shown"), z.string()]),
  z.tuple([z.literal("read"), z.string(), z.string()]),
  z.tuple([z.literal("given"), z.string(), z.string(), z.string()]),
  z.tuple([z.literal("hinted"), z.string(), z.string(), z.number()]),
  z.tuple([
    z.literal("ran"),
    z.boolean(),
    z.string(),
    z.string(),
    z.string(),
    z.nullable(z.array(z.string())),
  ]),
]);

/** Names a conversation: a session, or all that a principal does without one. The name says nothing of either. */
export function nameOfConversation({
  principal,
  session,
}: Pick<RunContext, "principal" | "session">): string {
  return createHash("sha256")
    .update(JSON.stringify([principal, session ?? null]))
    .digest("hex");
}

/** One process's part in a conversation. */
export class SharedConversation {
  readonly #facts: SharedFacts;
  readonly #name: string;
  readonly #keepMs: number;
  readonly #conversation: Conversation;
  readonly #runs: ConversationRuns;
  /** This conversation here, as others tell it from theirs. */
  readonly #id = randomUUID().slice(0, 8);
  #stored: Facts = {};

  constructor(
    facts: SharedFacts,
    context: Pick<RunContext, "principal" | "session">,
    conversation: Conversation,
    runs: ConversationRuns,
  ) {
    this.#facts = facts;
    this.#name = nameOfConversation(context);
    this.#keepMs = context.session === undefined ? KEEP_MS : SESSION_MS;
    this.#conversation = conversation;
    this.#runs = runs;
  }

  /** Takes what the conversation has come to elsewhere. @throws ArchiveError */
  async take(): Promise<void> {
    await this.#note(this.#own());
  }

  /** Hands on what it has come to here, if that is new. @throws ArchiveError */
  async handOn(): Promise<void> {
    const own = this.#own();
    if (Object.keys(own).some((fact) => !Object.hasOwn(this.#stored, fact))) await this.#note(own);
  }

  async #note(own: Facts): Promise<void> {
    const remove = this.#mergeMany(own);
    this.#stored = await this.#facts.note(this.#name, { ...remove, keepMs: this.#keepMs });
    this.#conversation.learn(this.#elsewhere());
    this.#learnRuns();
  }

  /** What is to be noted. Where there are many facts, they no longer say of whom they are. */
  #mergeMany(own: Facts): { facts: Facts; remove?: string[] } {
    const known = Object.keys(this.#stored);
    if (known.length <= MAX_FACTS) return { facts: own };
    const facts: Record<string, string> = { ...own };
    const remove: string[] = [];
    for (const text of known) {
      const fact = parseFact(text);
      if (
        fact === undefined ||
        fact[0] === "shown" ||
        fact[0] === "ran" ||
        fact[1] === ANYWHERE ||
        fact[1] === this.#id
      )
        continue;
      facts[JSON.stringify([fact[0], ANYWHERE, ...fact.slice(2)])] = "";
      remove.push(text);
    }
    return { facts, remove };
  }

  #own(): Facts {
    const { shown, read, given, hinted } = this.#conversation.carried;
    const facts = [
      ...shown.map(({ label, tool = "" }) => [["shown", label], plainly(tool)] as const),
      ...read.map((label) => [["read", this.#id, label], ""] as const),
      ...given.map(({ server, label }) => [["given", this.#id, label, server], ""] as const),
      ...hinted.map(({ label, letters }) => [["hinted", this.#id, label, letters], ""] as const),
      ...[true, false].flatMap((isDirect) =>
        this.#runs
          .readsBy(isDirect)
          .filter(({ tool, name }) => plainly(tool) !== "" && plainly(name) !== "")
          .map(
            ({ tool, server, name, labels = null }) =>
              [["ran", isDirect, tool, server, name, labels], ""] as const,
          ),
      ),
    ];
    return Object.fromEntries(facts.map(([fact, text]) => [JSON.stringify(fact), text]));
  }

  #elsewhere(): Carried {
    const carried = { shown: [], read: [], given: [], hinted: [] } as {
      [Key in keyof Carried]: Carried[Key][number][];
    };
    for (const [text, tool] of Object.entries(this.#stored)) {
      const fact = parseFact(text);
      if (fact?.[0] === "shown") carried.shown.push({ label: fact[1], ...(tool === "" ? {} : { tool }) });
      else if (fact === undefined || fact[0] === "ran" || fact[1] === this.#id) continue;
      else if (fact[0] === "read") carried.read.push(fact[2]);
      else if (fact[0] === "given") carried.given.push({ label: fact[2], server: fact[3] });
      else carried.hinted.push({ label: fact[2], letters: fact[3] });
    }
    return carried;
  }

  /** Notes what runs of the conversation have read elsewhere. */
  #learnRuns(): void {
    for (const text of Object.keys(this.#stored)) {
      const fact = parseFact(text);
      if (fact?.[0] !== "ran") continue;
      const [, isDirect, tool, server, name, labels] = fact;
      this.#runs.note({ seq: 1, tool, server, name, ...(labels === null ? {} : { labels }) }, isDirect);
    }
  }
}

/** The name of a tool, if a database takes it. */
function plainly(tool: string): string {
  return isWellFormed(tool) && !tool.includes("\0") ? tool : "";
}

/** @returns `undefined` for what is no fact of this version. */
function parseFact(text: string): z.infer<typeof Fact> | undefined {
  return text.startsWith("[") ? Fact.safeParse(JSON.parse(text)).data : undefined;
}
