import { randomBytes } from "node:crypto";
import { linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { ArchiveError } from "../../archive/archive-error.ts";
import { PendingStore } from "../../archive/sqlite/pending/pending-store.ts";
import type { Clock } from "../../base/clock.ts";
import { whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  countsTyped,
  NOT_TYPED,
  questionDigest,
} from "../../broker/approvals/approvals.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { SEALING_KEY_BYTES, SealingError, seal, unseal } from "../../secrets/sealing.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";
import { currentProcess, formatIdentity, isDead } from "../../system/process-identity.ts";
import type { KeptRun, ResumedRun, SuspendedRun } from "../suspension/suspended-run.ts";
import { PendingError } from "./pending-error.ts";
import { newTicket } from "./ticket.ts";

/** The form of what is sealed. Another version of ptc that has another form does not go on with it. */
const FORMAT = 1;
const MAX_RUN_BYTES = 64 * 1024 * 1024;
const MAX_PENDING = 100;

/** A question that waits for an answer, without secrets. */
export interface PendingApproval {
  ticket: string;
  /** Milliseconds since 1970. */
  askedAt: number;
  expiresAt: number;
  isAnswered: boolean;
  /** Whether its run still has its sandbox, and goes on by itself with the answer. */
  isLive: boolean;
  /** The request as it was put to whoever was asked. Its arguments hold no secrets. */
  request: ApprovalRequest;
  source: RunContext["source"];
  fileName: string;
  /** What the answer counts for. */
  digest: string;
}

/** An answer, as it is kept. */
export interface KeptAnswer {
  digest: string;
  answer: ApprovalAnswer;
}

/** What came of going on with a run. */
export type TakenRun =
  | { kind: "resumed"; resumed: ResumedRun; source: RunContext["source"] }
  | { kind: "unanswered"; pending: PendingApproval }
  /** Another process goes on with it. */
  | { kind: "elsewhere" }
  /** It still has its sandbox, and goes on by itself when its question is answered. */
  | { kind: "live"; pending: PendingApproval }
  | { kind: "unknown" };

export interface PendingApprovalsOptions {
  configuration: Pick<Configuration, "directory" | "approvals">;
  env: EnvironmentVariables;
  clock: Pick<Clock, "wallMs">;
}

/**
 * The runs of a project that wait for approvals: kept from one process to the next, sealed with a key of this user's machine,
 * and gone when they go on or expire. Methods throw a `PendingError` when they cannot be had.
 */
export class PendingApprovals {
  readonly #options: PendingApprovalsOptions;
  readonly #self = currentProcess();
  readonly #owner = formatIdentity(this.#self);

  constructor(options: PendingApprovalsOptions) {
    this.#options = options;
  }

  /** Keeps a run until somebody has answered. Never throws. */
  keep(context: RunContext, run: SuspendedRun, request: ApprovalRequest, ticket = newTicket()): KeptRun {
    try {
      let expiresAt = 0;
      const json = Buffer.from(JSON.stringify(run));
      if (json.length > MAX_RUN_BYTES)
        return { ok: false, why: "its run has read too much to be kept until somebody can be" };
      this.#use((store) => {
        if (store.list(context.principal).length >= MAX_PENDING)
          throw new PendingError(`${MAX_PENDING} runs wait for approvals already`);
        const question = this.#questionRow(context, request, run.program.fileName, ticket);
        ({ expiresAt } = question);
        store.add({ ...question, run: this.#seal("run", ticket, json) });
      });
      return { ok: true, ticket, expiresAt };
    } catch (error) {
      if (!(error instanceof PendingError)) throw error;
      return { ok: false, why: `its run cannot be kept until somebody can be (${error.message})` };
    }
  }

  /**
   * Offers a question to whoever may answer it by another way than the one by which it is asked, while its run waits.
   *
   * @throws PendingError
   */
  offer(context: RunContext, request: ApprovalRequest, fileName: string, ticket: string): void {
    const question = this.#questionRow(context, request, fileName, ticket);
    this.#use((store) => store.offer({ ...question, owner: this.#owner }));
  }

  /** The answer that came to a question that this process has offered. @throws PendingError */
  offered(ticket: string): KeptAnswer | undefined {
    return this.#keptAnswer(
      ticket,
      this.#use((store) => store.offered(ticket, this.#owner)),
    );
  }

  /** Takes back a question that this process has offered. An answer that it has by now counts. Never throws. */
  withdraw(ticket: string): KeptAnswer | undefined {
    try {
      if (!PendingStore.exists(this.#path)) return undefined;
      return this.#keptAnswer(
        ticket,
        this.#use((store) => store.withdraw(ticket, this.#owner)),
      );
    } catch (error) {
      // What is left is of a process that ends.
      if (!(error instanceof PendingError)) throw error;
      return undefined;
    }
  }

  #keptAnswer(ticket: string, sealed: Uint8Array | undefined): KeptAnswer | undefined {
    return sealed && this.#counting(this.#unseal("answer", ticket, sealed) as KeptAnswer);
  }

  get #isTypedOnly(): boolean {
    return this.#options.configuration.approvals.require === "terminal";
  }

  /** An answer that was kept, perhaps under other settings, as it counts now. */
  #counting({ digest, answer }: KeptAnswer): KeptAnswer {
    return { digest, answer: this.#isTypedOnly ? countsTyped(answer) : answer };
  }

  #questionRow(context: RunContext, request: ApprovalRequest, fileName: string, ticket: string) {
    const { isAgain: _, ticket: __, ...asked } = request;
    const { source, principal } = context;
    const question = { request: asked, source, fileName, digest: questionDigest(request) };
    const askedAt = this.#now();
    return {
      ticket,
      principal,
      askedAt,
      expiresAt: askedAt + this.#options.configuration.approvals.expireMs,
      question: this.#seal("question", ticket, Buffer.from(JSON.stringify(question))),
    };
  }

  /** Those of a principal, the oldest first. */
  list(principal: string): PendingApproval[] {
    if (!PendingStore.exists(this.#path)) return [];
    return this.#use((store) =>
      this.#waiting(store, principal).map((row) => {
        const sealed = this.#unseal("question", row.ticket, row.question);
        const { request, source, fileName, digest } = sealed as Pick<
          PendingApproval,
          "request" | "source" | "fileName" | "digest"
        >;
        return {
          ticket: row.ticket,
          askedAt: row.asked_at,
          expiresAt: row.expires_at,
          isAnswered: row.answer !== null,
          isLive: row.has_run === 0,
          request,
          source,
          fileName,
          digest,
        };
      }),
    );
  }

  /** The rows of a principal without those whose process has died while its run had its sandbox. */
  #waiting(store: PendingStore, principal: string) {
    return store.list(principal).filter(({ ticket, owner, has_run }) => {
      if (has_run === 1 || owner === null || !isDead(owner, this.#self)) return true;
      store.withdraw(ticket, owner);
      return false;
    });
  }

  /** Those whose ticket begins like this. Nothing is the beginning of none. */
  find(principal: string, beginning: string): PendingApproval[] {
    if (beginning.trim() === "") return [];
    return this.list(principal).filter(({ ticket }) => ticket.startsWith(beginning));
  }

  /**
   * Gives the first answer to a question. False when it was answered before, or has expired.
   *
   * @throws PendingError also for an approval that would not count, which does not use the question up.
   */
  answer(principal: string, { ticket, digest }: PendingApproval, answer: ApprovalAnswer): boolean {
    if (this.#isTypedOnly && countsTyped(answer) !== answer) throw new PendingError(NOT_TYPED);
    const kept: KeptAnswer = { digest, answer };
    const sealed = this.#seal("answer", ticket, Buffer.from(JSON.stringify(kept)));
    return this.#use((store) => store.answer(ticket, principal, sealed));
  }

  /** Claims a run that was answered, to go on with it. */
  take(principal: string, ticket: string): TakenRun {
    if (!PendingStore.exists(this.#path)) return { kind: "unknown" };
    const claimed = this.#use((store) =>
      store.claim(ticket, principal, this.#owner, (owner) => isDead(owner, this.#self)),
    );
    if (claimed.kind !== "claimed") {
      if (claimed.kind === "taken") return { kind: "elsewhere" };
      if (claimed.kind === "unknown") return claimed;
      const [pending] = this.find(principal, ticket);
      if (pending === undefined) return { kind: "unknown" };
      return { kind: claimed.kind, pending };
    }
    try {
      const kept = this.#unseal("run", ticket, claimed.run) as SuspendedRun;
      const run = this.#isTypedOnly ? withTypedGrants(kept) : kept;
      const answered = this.#counting(this.#unseal("answer", ticket, claimed.answer) as KeptAnswer);
      const [pending] = this.find(principal, ticket);
      return {
        kind: "resumed",
        source: pending?.source ?? "serve",
        resumed: {
          run,
          answered,
          goLive: async () => this.#goLive(ticket),
          leave: async (isToBeTriedAgain) => this.#leave(ticket, isToBeTriedAgain),
        },
      };
    } catch (error) {
      this.#leave(ticket, true);
      throw error;
    }
  }

  #goLive(ticket: string): string | undefined {
    try {
      const isOurs = this.#use((store) => store.remove(ticket, this.#owner));
      return isOurs ? undefined : "another process goes on with this run, or its ticket has expired";
    } catch (error) {
      if (!(error instanceof PendingError)) throw error;
      return `that this run goes on could not be noted, so nothing more was called (${error.message})`;
    }
  }

  #leave(ticket: string, isToBeTriedAgain: boolean): void {
    try {
      this.#use((store) => {
        if (isToBeTriedAgain) store.release(ticket, this.#owner);
        else store.remove(ticket, this.#owner);
      });
    } catch (error) {
      // What is left is of a process that ends, and can be claimed then, or expires.
      if (!(error instanceof PendingError)) throw error;
    }
  }

  get #path(): string {
    return join(this.#options.configuration.directory, PRIVATE_FOLDER_NAME, "approvals.db");
  }

  #now(): number {
    return Math.round(this.#options.clock.wallMs());
  }

  /** The file is opened for each use: uses are rare, and it may be moved or deleted in between. */
  #use<T>(work: (store: PendingStore) => T): T {
    return plainly(() => {
      const store = PendingStore.open(this.#path, this.#now());
      try {
        return work(store);
      } finally {
        store.close();
      }
    });
  }

  #seal(what: string, ticket: string, bytes: Buffer): Buffer {
    return plainly(() => seal(readHostKey(this.#options.env), bytes, purposeOf(what, ticket)));
  }

  #unseal(what: string, ticket: string, sealed: Uint8Array): unknown {
    const key = plainly(() => readHostKey(this.#options.env));
    const bytes = plainly(() => unseal(key, sealed, purposeOf(what, ticket)));
    return JSON.parse(bytes.toString("utf8"));
  }
}

/** A run without what it was allowed by other ways than typing. */
function withTypedGrants(run: SuspendedRun): SuspendedRun {
  const { approvals } = run;
  return {
    ...run,
    approvals: approvals && {
      ...approvals,
      grants: approvals.grants.filter(({ isTyped }) => isTyped === true),
    },
  };
}

/** Does some work, whose failures are of one kind for whoever asks. */
function plainly<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof SealingError)
      throw new PendingError(`what waits for an approval cannot be read: ${error.message}`);
    if (error instanceof ArchiveError) throw new PendingError(error.message);
    throw error;
  }
}

/** What is sealed as one thing cannot be taken for another. */
function purposeOf(what: string, ticket: string): string {
  return `ptc approval ${FORMAT} ${what} ${ticket}`;
}

const OTHERS = 0o077;

/**
 * The key with which this user's ptc seals what waits for approvals. It is kept apart from what it seals, in the user's own
 * state folder, and made with the first thing to be sealed.
 *
 * @throws SealingError in one line, when there can be none.
 */
function readHostKey(env: EnvironmentVariables): Buffer {
  const folder = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
  const path = join(folder, "ptc/approvals.key");
  try {
    return readKey(path) ?? makeKey(path);
  } catch (error) {
    if (error instanceof SealingError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new SealingError(`the key for approvals, ${path}, cannot be had (${code ?? "unknown"})`);
  }
}

function readKey(path: string): Buffer | undefined {
  const status = lstatSync(path, { throwIfNoEntry: false });
  if (status === undefined) return undefined;
  const isOwn = process.getuid === undefined || status.uid === process.getuid();
  if (!status.isFile() || !isOwn || (process.platform !== "win32" && (status.mode & OTHERS) !== 0))
    throw new SealingError(`the key for approvals, ${path}, is not a private file of yours; remove it`);
  const key = readFileSync(path);
  if (key.length === SEALING_KEY_BYTES) return key;
  throw new SealingError(`the key for approvals, ${path}, is not what ptc has written; remove it`);
}

/** Of several processes that make one at a time, the first wins. */
function makeKey(path: string): Buffer {
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { mode, uid } = lstatSync(folder);
  const unsafe = whyFolderIsUnsafe(folder, { isLink: false, mode, uid }, process.getuid?.());
  if (unsafe !== undefined) throw new SealingError(`${folder} ${unsafe.what}; ${unsafe.advice}`);
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(draft, randomBytes(SEALING_KEY_BYTES), { mode: 0o600, flag: "wx", flush: true });
    try {
      linkSync(draft, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  } finally {
    rmSync(draft, { force: true });
  }
  const key = readKey(path);
  if (key === undefined) throw new SealingError(`the key for approvals, ${path}, has gone again`);
  return key;
}
