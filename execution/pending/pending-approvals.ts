import { randomBytes } from "node:crypto";
import { linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { ArchiveError } from "../../archive/archive-error.ts";
import { type PendingRow, type PendingStore, type Sealed, sealedAs } from "../../archive/pending-store.ts";
import type { Clock } from "../../base/clock.ts";
import { readJson, writeJson } from "../../base/json.ts";
import { whyFolderIsUnsafe } from "../../base/unsafe-folder.ts";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  countsProven,
  isProven,
  NOT_PROVEN,
  questionDigest,
  type RequiredProof,
} from "../../broker/approvals/approvals.ts";
import type { Access, Owner } from "../../broker/policy/authorizer.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { SEALING_KEY_BYTES, type Sealer, SealingError, seal, unseal } from "../../secrets/sealing.ts";
import { openWaiting, sharedStorage } from "../../storage/storage.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";
import { currentProcess, formatIdentity, isDead } from "../../system/process-identity.ts";
import type { KeptRun, ResumedRun, SuspendedRun } from "../suspension/suspended-run.ts";
import { newTicket, PendingError } from "./tickets.ts";

const MAX_RUN_BYTES = 64 * 1024 * 1024;
const MAX_PENDING = 100;
/** How much of a program is kept beside its question. */
const MAX_CODE_CHARS = 128 * 1024;

/** A question that waits for an answer, without secrets. */
export interface PendingApproval {
  ticket: string;
  /** Whose run it is, in what groups, and what they are called, as far as a login says that. */
  owner: Pick<RunContext, "principal" | "groups" | "name">;
  /** Milliseconds since 1970. */
  askedAt: number;
  expiresAt: number;
  isAnswered: boolean;
  /** Whether its run still has its sandbox, and continues by itself with the answer. */
  isLive: boolean;
  /** The request as it was asked. Its arguments hold no secrets. */
  request: ApprovalRequest;
  source: RunContext["source"];
  /** What the client calls itself that runs the program. */
  client?: string | undefined;
  fileName: string;
  /** The beginning of its program, without secrets; `undefined` for a single call, and for questions of earlier versions. */
  code?: string | undefined;
  language?: string | undefined;
  /** The digest of the question that the answer counts for. */
  digest: string;
}

/** What answering a question of somebody's run is to rules. */
export function approvalOf(of: Owner, { tool, claims }: ApprovalRequest): Access {
  return { action: "approve", of, tool, server: claims?.server ?? "" };
}

/** The program that asks, as whoever answers sees it: without secrets. */
export interface AskingProgram {
  fileName: string;
  code?: string | undefined;
  language?: string | undefined;
}

/** An answer, as it is kept. */
export interface KeptAnswer {
  digest: string;
  answer: ApprovalAnswer;
}

/** A suspended run that this process has claimed, or why it has not. */
export type TakenRun =
  /** `resumed` is for the request that continues the run. Its `leave` gives it back instead. */
  | { kind: "taken"; resumed: ResumedRun }
  /** Nobody has answered its question yet. */
  | { kind: "unanswered"; pending: PendingApproval }
  /** Another process continues it. */
  | { kind: "elsewhere" }
  /** It still has its sandbox, and continues by itself when its question is answered. */
  | { kind: "live"; pending: PendingApproval }
  | { kind: "unknown" };

export interface PendingApprovalsOptions {
  configuration: Pick<Configuration, "directory" | "approvals"> & Partial<Pick<Configuration, "storage">>;
  env: EnvironmentVariables;
  clock: Pick<Clock, "wallMs">;
  /** Keeps the pending runs; by default the configured database, or a file in the project's private folder. */
  store?: PendingStore | undefined;
}

/**
 * The runs of a project that wait for approvals. They outlive a process, and are sealed with a key of this user's machine, or with
 * the keys of the storage that several ptc share. They are deleted when they continue or expire. Methods reject with a
 * `PendingError` when a pending run cannot be read or kept.
 */
export class PendingApprovals {
  readonly #options: PendingApprovalsOptions;
  readonly #store: PendingStore;
  readonly #sealer: () => Promise<Sealer>;
  readonly #self = currentProcess();
  readonly #owner = formatIdentity(this.#self);

  constructor(options: PendingApprovalsOptions) {
    this.#options = options;
    const { configuration, env, store } = options;
    const path = join(configuration.directory, PRIVATE_FOLDER_NAME, "approvals.db");
    this.#store = store ?? openWaiting(configuration, env, { path, now: () => this.#now() });
    this.#sealer = projectSealer(configuration, env);
  }

  /** Keeps a run until somebody has answered. Never rejects. @param program as whoever answers sees it. */
  async keep(
    context: RunContext,
    run: SuspendedRun,
    request: ApprovalRequest,
    ticket = newTicket(),
    program: AskingProgram = { fileName: run.program.fileName },
  ): Promise<KeptRun> {
    try {
      const json = Buffer.from(writeJson(run));
      if (json.length > MAX_RUN_BYTES)
        return { ok: false, why: "its run has read too much to be kept until somebody can be" };
      const question = await this.#questionRow(context, request, program, ticket);
      const row = { ...question, run: await this.#seal("run", ticket, json) };
      if (!(await plainly(() => this.#store.keep(row, MAX_PENDING))))
        throw new PendingError(`${MAX_PENDING} runs wait for approvals already`);
      return { ok: true, ticket, expiresAt: question.expiresAt };
    } catch (error) {
      if (!(error instanceof PendingError)) throw error;
      return { ok: false, why: `its run cannot be kept until somebody can be (${error.message})` };
    }
  }

  /** Offers a question so that it can also be answered elsewhere while its run waits. */
  async offer(
    context: RunContext,
    request: ApprovalRequest,
    program: AskingProgram,
    ticket: string,
  ): Promise<void> {
    const question = await this.#questionRow(context, request, program, ticket);
    await plainly(() => this.#store.offer({ ...question, owner: this.#owner }));
  }

  /** The answer to a question that this process has offered, if there is one. */
  async offered(ticket: string): Promise<KeptAnswer | undefined> {
    return this.#keptAnswer(ticket, await plainly(() => this.#store.offered(ticket, this.#owner)));
  }

  /** Takes back a question that this process has offered. An answer that has come by now counts. Never rejects. */
  async withdraw(ticket: string): Promise<KeptAnswer | undefined> {
    try {
      return await this.#keptAnswer(ticket, await plainly(() => this.#store.withdraw(ticket, this.#owner)));
    } catch (error) {
      // The row belongs to this process. It is removed once the process has ended.
      if (!(error instanceof PendingError)) throw error;
      return undefined;
    }
  }

  async #keptAnswer(ticket: string, sealed: Uint8Array | undefined): Promise<KeptAnswer | undefined> {
    return sealed && this.#counting((await this.#unseal("answer", ticket, sealed)) as KeptAnswer);
  }

  get #requiredProof(): RequiredProof {
    return this.#options.configuration.approvals.require;
  }

  /** A kept answer as it counts under the present settings. */
  #counting({ digest, answer }: KeptAnswer): KeptAnswer {
    return { digest, answer: countsProven(answer, this.#requiredProof) };
  }

  async #questionRow(
    context: RunContext,
    request: ApprovalRequest,
    { fileName, code, language }: AskingProgram,
    ticket: string,
  ) {
    const { isAgain: _, ticket: __, ...asked } = request;
    const { source, principal, groups, name, client } = context;
    const program = { fileName, code: code?.slice(0, MAX_CODE_CHARS), language };
    const question = {
      request: asked,
      ...{ source, groups, name, client: client?.name },
      ...program,
      digest: questionDigest(request),
    };
    const askedAt = this.#now();
    return {
      ticket,
      principal,
      askedAt,
      expiresAt: askedAt + this.#options.configuration.approvals.expireMs,
      question: await this.#seal("question", ticket, Buffer.from(writeJson(question))),
    };
  }

  /** The pending approvals of a principal, or of everybody, the oldest first. */
  async list(principal: string | undefined): Promise<PendingApproval[]> {
    const rows = await this.#waiting(principal);
    const listed = rows.map(
      async ({ ticket, principal: of, askedAt, expiresAt, question, answer, isKept }) => {
        const sealed = await this.#unseal("question", ticket, question);
        const asked = sealed as Pick<PendingApproval, "request" | "source" | "client" | "digest"> &
          AskingProgram &
          Pick<RunContext, "groups" | "name">;
        const { request, source, client, fileName, code, language, digest, groups, name } = asked;
        const state = { isAnswered: answer !== null, isLive: !isKept };
        const owner = { principal: of, ...(groups && { groups }), ...(name !== undefined && { name }) };
        const program = { fileName, code, language };
        return { ticket, owner, askedAt, expiresAt, ...state, request, source, client, ...program, digest };
      },
    );
    return Promise.all(listed);
  }

  /** The rows of a principal, or of everybody, without those whose process died while its run had its sandbox. */
  async #waiting(principal: string | undefined): Promise<PendingRow[]> {
    const waiting: PendingRow[] = [];
    for (const row of await plainly(() => this.#store.list(principal))) {
      const { ticket, owner, isKept } = row;
      if (isKept || owner === null || !isDead(owner, this.#self)) waiting.push(row);
      else await plainly(() => this.#store.withdraw(ticket, owner));
    }
    return waiting;
  }

  /** The pending approvals of a principal, or of everybody, whose tickets begin like this. An empty beginning finds nothing. */
  async find(principal: string | undefined, beginning: string): Promise<PendingApproval[]> {
    if (beginning.trim() === "") return [];
    return (await this.list(principal)).filter(({ ticket }) => ticket.startsWith(beginning));
  }

  /** Whether a question that was found before is answered or gone. */
  async isAnswered(principal: string, { ticket }: PendingApproval): Promise<boolean> {
    const [pending] = await this.find(principal, ticket);
    return pending?.isAnswered !== false;
  }

  /**
   * Gives the first answer to a question. False when it was answered before, or has expired.
   *
   * @throws PendingError also for an approval that would not count, which does not use the question up.
   */
  async answer(
    principal: string,
    { ticket, digest }: PendingApproval,
    answer: ApprovalAnswer,
  ): Promise<boolean> {
    const required = this.#requiredProof;
    if (required !== "any" && countsProven(answer, required) !== answer)
      throw new PendingError(NOT_PROVEN[required]);
    const kept: KeptAnswer = { digest, answer };
    const sealed = await this.#seal("answer", ticket, Buffer.from(writeJson(kept)));
    return plainly(() => this.#store.answer(ticket, principal, sealed));
  }

  /** Claims a run whose question was answered, to continue it. */
  async take(principal: string, ticket: string): Promise<TakenRun> {
    const claimed = await plainly(() =>
      this.#store.claim(ticket, principal, this.#owner, (owner) => isDead(owner, this.#self)),
    );
    if (claimed.kind !== "claimed") {
      if (claimed.kind === "taken") return { kind: "elsewhere" };
      if (claimed.kind === "unknown") return claimed;
      const [pending] = await this.find(principal, ticket);
      return pending === undefined ? { kind: "unknown" } : { kind: claimed.kind, pending };
    }
    try {
      const kept = (await this.#unseal("run", ticket, claimed.run)) as SuspendedRun;
      const run = withProvenGrants(kept, this.#requiredProof);
      const answered = this.#counting((await this.#unseal("answer", ticket, claimed.answer)) as KeptAnswer);
      return {
        kind: "taken",
        resumed: {
          run,
          answered,
          goLive: () => this.#goLive(ticket),
          leave: (isToBeTriedAgain) => this.#leave(ticket, isToBeTriedAgain),
        },
      };
    } catch (error) {
      await this.#leave(ticket, true);
      throw error;
    }
  }

  async #goLive(ticket: string): Promise<string | undefined> {
    try {
      const isOurs = await plainly(() => this.#store.remove(ticket, this.#owner));
      return isOurs ? undefined : "another process continues this run, or its ticket has expired";
    } catch (error) {
      if (!(error instanceof PendingError)) throw error;
      return `ptc could not note that this run continues, so nothing more was called (${error.message})`;
    }
  }

  async #leave(ticket: string, isToBeTriedAgain: boolean): Promise<void> {
    try {
      if (isToBeTriedAgain) await plainly(() => this.#store.release(ticket, this.#owner));
      else await plainly(() => this.#store.remove(ticket, this.#owner));
    } catch (error) {
      // The claim belongs to this process. After it ends, others can claim the run, or the run expires.
      if (!(error instanceof PendingError)) throw error;
    }
  }

  #now(): number {
    return Math.round(this.#options.clock.wallMs());
  }

  #seal(what: Sealed, ticket: string, bytes: Buffer): Promise<Buffer> {
    return plainly(async () => (await this.#sealer()).seal(bytes, sealedAs(what, ticket)));
  }

  async #unseal(what: Sealed, ticket: string, sealed: Uint8Array): Promise<unknown> {
    const bytes = await plainly(async () => (await this.#sealer()).unseal(sealed, sealedAs(what, ticket)));
    return readJson(bytes.toString("utf8"));
  }
}

/** A run with only the grants that have the required proof. */
function withProvenGrants(run: SuspendedRun, required: RequiredProof): SuspendedRun {
  const { approvals } = run;
  return {
    ...run,
    approvals: approvals && {
      ...approvals,
      grants: approvals.grants.filter((grant) => isProven(grant, required)),
    },
  };
}

/** Works with the store or the sealer. @throws PendingError when either fails. */
async function plainly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ArchiveError) throw new PendingError(error.message);
    if (!(error instanceof SealingError)) throw error;
    throw new PendingError(`what waits for an approval cannot be read: ${error.message}`);
  }
}

/** Reads what seals in a project: the keys of the storage that several ptc share, or the key of this user's machine. */
export function projectSealer(
  configuration: Partial<Pick<Configuration, "storage">>,
  env: EnvironmentVariables,
): () => Promise<Sealer> {
  const shared = sharedStorage(configuration, env);
  return shared === undefined ? async () => hostSealer(env) : async () => (await shared()).keys;
}

/** Seals with the key of this user's machine. */
function hostSealer(env: EnvironmentVariables): Sealer {
  return {
    seal: (bytes, purpose) => seal(readHostKey(env), bytes, purpose),
    unseal: (sealed, purpose) => unseal(readHostKey(env), sealed, purpose),
  };
}

const OTHERS = 0o077;

/**
 * The key with which this user's ptc seals pending approvals. It is kept apart from what it seals, in the user's own state folder,
 * and is created when the first approval is sealed.
 *
 * @throws SealingError in one line, when the key can be neither read nor created.
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

/** When several processes create the key at the same time, the first one wins. */
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
