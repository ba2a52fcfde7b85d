import { randomBytes } from "node:crypto";
import { linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ArchiveError } from "../../archive/archive-error.ts";
import {
  type PendingRow,
  type PendingStore,
  type RowFacts,
  type Sealed,
  sealedAs,
  sealedEarlierAs,
} from "../../archive/pending-store.ts";
import type { Clock } from "../../base/clock.ts";
import { readJson, writeJson } from "../../base/json.ts";
import { RecentlyUsed } from "../../base/recently-used.ts";
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
import { type Identified, identityOf, owns, type RunContext } from "../../protocol/run-context.ts";
import { SEALING_KEY_BYTES, type Sealer, SealingError, seal, unseal } from "../../secrets/sealing.ts";
import { openWaiting, sharedStorage } from "../../storage/storage.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";
import { currentProcess, formatIdentity, isDead } from "../../system/process-identity.ts";
import type { KeptRun, ResumedRun, SuspendedRun } from "../suspension/suspended-run.ts";
import { newTicket, PendingError } from "./tickets.ts";

const MAX_RUN_BYTES = 64 * 1024 * 1024;
/** How much of one principal waits at most: runs, and bytes of their questions with arguments and programs. */
export const MAX_PENDING = 100;
export const MAX_QUESTION_BYTES = 32 * 1024 * 1024;
const MOST = { runs: MAX_PENDING, bytes: MAX_QUESTION_BYTES };
const WHY_NOT_KEPT = {
  too_many: `${MAX_PENDING} runs wait for approvals already`,
  too_large: `with it, the questions that wait would have more than ${MAX_QUESTION_BYTES / 1024 / 1024} MiB of arguments`,
} as const;
/** How many rows are read from the store before others have their turn. */
const ROWS_AT_ONCE = 50;
const MAX_REMEMBERED = 2_000;
const MAX_NAME_CHARS = 500;
/** How much of a program is kept beside its question. */
const MAX_CODE_CHARS = 128 * 1024;

/** A waiting question in a list: everything except what its program wrote, which may be long. Without secrets. */
export interface ListedQuestion {
  ticket: string;
  /** The owner of the run: the principal, and the groups and the name that a login gives. */
  owner: Pick<RunContext, "principal" | "groups" | "boundGroups" | "name">;
  /** Milliseconds since 1970. */
  askedAt: number;
  expiresAt: number;
  isAnswered: boolean;
  /** Whether its run still has its sandbox, and continues by itself with the answer. */
  isLive: boolean;
  request: ListedRequest;
  source: RunContext["source"];
  /** What the client calls itself that runs the program. */
  client?: string | undefined;
  fileName: string;
  /** The digest of the question that the answer counts for. */
  digest: string;
  /** The size of the whole question. */
  bytes: number;
}

type ListedRequest = Pick<ApprovalRequest, "runId" | "tool" | "definitionDigest" | "argumentsDigest"> & {
  claims?: Pick<NonNullable<ApprovalRequest["claims"]>, "server"> | undefined;
};

/** A question that waits for an answer, whole. */
export interface PendingApproval extends Omit<ListedQuestion, "bytes"> {
  /** The request as it was asked. Its arguments hold no secrets. */
  request: ApprovalRequest;
  /** The beginning of its program, without secrets; `undefined` for a single call, and for questions of earlier versions. */
  code?: string | undefined;
  language?: string | undefined;
}

/** What answering a question of somebody's run is to rules. */
export function approvalOf(of: Owner, { tool, claims }: ListedRequest): Access {
  return { action: "approve", of, tool, server: claims?.server ?? "" };
}

/** The program that asks, as the person sees it who answers: without secrets. */
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
  /** It began with groups that the principal does not have now, so it is not theirs (`owns`). */
  | { kind: "of_more_groups" }
  | { kind: "unknown" };

/** What was unsealed of rows, by ticket. It counts as long as a row has the same bytes for the same purpose. */
const LISTINGS = new RecentlyUsed<string, { sealed: Uint8Array; purpose: string; listing: Listing }>({
  maxEntries: MAX_REMEMBERED,
});

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
  /** What was offered and not yet taken back, by ticket. */
  readonly #offers = new Map<string, RowFacts>();
  constructor(options: PendingApprovalsOptions) {
    this.#options = options;
    const { configuration, env, store } = options;
    const path = join(configuration.directory, PRIVATE_FOLDER_NAME, "approvals.db");
    this.#store = store ?? openWaiting(configuration, env, { path, now: () => this.#now() });
    this.#sealer = projectSealer(configuration, env);
  }

  /** Keeps a run until somebody has answered. Never rejects. @param program as the person sees it who answers. */
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
      const row = { ...question, run: await this.#seal("run", question, json) };
      const kept = await plainly(() => this.#store.keep(row, MOST));
      if (kept !== "kept") throw new PendingError(WHY_NOT_KEPT[kept]);
      return { ok: true, ticket, expiresAt: question.expiresAt };
    } catch (error) {
      if (!(error instanceof PendingError)) throw error;
      return { ok: false, why: `its run cannot be kept until somebody can be (${error.message})` };
    }
  }

  /**
   * Offers a question so that it can also be answered elsewhere while its run waits.
   *
   * @throws PendingError also where too much of its principal waits.
   */
  async offer(
    context: RunContext,
    request: ApprovalRequest,
    program: AskingProgram,
    ticket: string,
  ): Promise<void> {
    const question = await this.#questionRow(context, request, program, ticket);
    const kept = await plainly(() => this.#store.offer({ ...question, owner: this.#owner }, MOST));
    if (kept !== "kept") throw new PendingError(WHY_NOT_KEPT[kept]);
    this.#offers.set(ticket, factsOf(question));
  }

  /** The answer to a question that was offered here; `undefined` while nobody has answered. */
  async offered(ticket: string): Promise<KeptAnswer | undefined> {
    return this.#keptAnswer(ticket, await plainly(() => this.#store.offered(ticket, this.#owner)));
  }

  /** Takes back a question that was offered here. An answer that has arrived already counts. Never rejects. */
  async withdraw(ticket: string): Promise<KeptAnswer | undefined> {
    try {
      return await this.#keptAnswer(ticket, await plainly(() => this.#store.withdraw(ticket, this.#owner)));
    } catch (error) {
      // The row belongs to this process. It is removed once the process has ended.
      if (!(error instanceof PendingError)) throw error;
      return undefined;
    } finally {
      this.#offers.delete(ticket);
    }
  }

  async #keptAnswer(ticket: string, sealed: Uint8Array | undefined): Promise<KeptAnswer | undefined> {
    const facts = this.#offers.get(ticket);
    if (sealed === undefined || facts === undefined) return undefined;
    return this.#counting((await this.#unseal("answer", facts, sealed)) as KeptAnswer);
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
    const { source, name, client } = context;
    const { principal, groups, boundGroups } = identityOf(context);
    const program = { code: code?.slice(0, MAX_CODE_CHARS), language };
    const by = {
      source,
      groups,
      boundGroups,
      name,
      client: client?.name,
      fileName: fileName.slice(0, MAX_NAME_CHARS),
    };
    const digest = questionDigest(request);
    const whole = Buffer.from(writeJson({ request: asked, ...by, ...program, digest }));
    const listing: Listing = { request: listedOf(asked), ...by, digest, bytes: whole.length };
    const askedAt = this.#now();
    const expiresAt = askedAt + this.#options.configuration.approvals.expireMs;
    const facts: RowFacts = { ticket, principal, askedAt, expiresAt };
    return {
      ...facts,
      listing: await this.#seal("listing", facts, Buffer.from(writeJson(listing))),
      question: await this.#seal("question", facts, whole),
    };
  }

  /**
   * What waits of a principal, or of everybody, the oldest first. What another version kept is left out.
   *
   * @param onLeftOut receives one line for each that is left out.
   */
  async list(
    principal: string | undefined,
    onLeftOut: (line: string) => void = () => {},
  ): Promise<ListedQuestion[]> {
    const listed: ListedQuestion[] = [];
    for (const [index, row] of (await plainly(() => this.#store.list(principal))).entries()) {
      if (index % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await nextTurn();
      if (!(await this.#isAlive(row))) continue;
      try {
        listed.push(await this.#listed(row));
      } catch (error) {
        if (!(error instanceof OfAnotherVersion)) throw error;
        onLeftOut(error.message);
      }
    }
    return listed;
  }

  /** The questions of a principal, or of everybody, each whole, the oldest first. @param onLeftOut as that of `list`. */
  async *whole(
    principal: string | undefined,
    onLeftOut?: (line: string) => void,
  ): AsyncGenerator<PendingApproval> {
    for (const { ticket } of await this.list(principal, onLeftOut)) {
      const found = await this.get(ticket);
      if (found !== undefined) yield found;
      await nextTurn();
    }
  }

  /** What waits under a ticket. */
  async look(ticket: string): Promise<ListedQuestion | undefined> {
    const row = await plainly(() => this.#store.row(ticket));
    return row !== undefined && (await this.#isAlive(row)) ? this.#listed(row) : undefined;
  }

  /** The whole question of a ticket. @param principal whose alone is looked for; by default anybody's. */
  async get(ticket: string, principal?: string): Promise<PendingApproval | undefined> {
    const listed = await this.look(ticket);
    if (listed === undefined || (principal ?? listed.owner.principal) !== listed.owner.principal)
      return undefined;
    const sealed = await plainly(() => this.#store.question(ticket));
    if (sealed === undefined) return undefined;
    const facts = factsOf({ ...listed, ...listed.owner });
    const { request, code, language } = (await this.#unseal("question", facts, sealed)) as PendingApproval;
    const { bytes: _, ...rest } = listed;
    return { ...rest, request, code, language };
  }

  /** Whether the process of a row has not died while its run had its sandbox. If it has, the row is removed. */
  async #isAlive({ ticket, owner, isKept }: PendingRow): Promise<boolean> {
    if (isKept || owner === null || !isDead(owner, this.#self)) return true;
    await plainly(() => this.#store.withdraw(ticket, owner));
    return false;
  }

  async #listed(row: PendingRow): Promise<ListedQuestion> {
    const { ticket, principal, askedAt, expiresAt, answer, isKept } = row;
    const { groups, boundGroups, name, ...listing } = await this.#listing(row);
    const owner = {
      ...identityOf({ principal, groups, boundGroups }),
      ...(name !== undefined && { name }),
    };
    return { ticket, owner, askedAt, expiresAt, isAnswered: answer !== null, isLive: !isKept, ...listing };
  }

  async #listing(row: PendingRow): Promise<Listing> {
    const { ticket, listing: sealed } = row;
    const purpose = sealedAs("listing", row);
    const known = LISTINGS.get(ticket);
    if (known?.purpose === purpose && Buffer.compare(known.sealed, sealed) === 0) return known.listing;
    const listing = (await this.#unseal("listing", row, sealed)) as Listing;
    LISTINGS.set(ticket, { sealed, purpose, listing });
    return listing;
  }

  /** The pending approvals of a principal, or of everybody, whose tickets begin like this. An empty beginning finds nothing. */
  async find(principal: string | undefined, beginning: string): Promise<PendingApproval[]> {
    if (beginning.trim() === "") return [];
    const only = await this.get(beginning, principal);
    if (only !== undefined) return [only];
    const tickets = (await this.list(principal)).filter(({ ticket }) => ticket.startsWith(beginning));
    const found = await Promise.all(tickets.map(({ ticket }) => this.get(ticket)));
    return found.filter((each) => each !== undefined);
  }

  /** Whether a question that was found before is answered or gone. */
  async isAnswered(principal: string, { ticket }: Pick<PendingApproval, "ticket">): Promise<boolean> {
    const row = await plainly(() => this.#store.row(ticket));
    return row?.principal !== principal || row.answer !== null || !(await this.#isAlive(row));
  }

  /**
   * Gives the first answer to a question. False when it was answered before, or has expired.
   *
   * @throws PendingError also for an approval that would not count, which does not use the question up.
   */
  async answer(
    principal: string,
    { ticket, digest, askedAt, expiresAt }: AnsweredQuestion,
    answer: ApprovalAnswer,
  ): Promise<boolean> {
    const required = this.#requiredProof;
    if (required !== "any" && countsProven(answer, required) !== answer)
      throw new PendingError(NOT_PROVEN[required]);
    const kept: KeptAnswer = { digest, answer };
    const facts = { ticket, principal, askedAt, expiresAt };
    const sealed = await this.#seal("answer", facts, Buffer.from(writeJson(kept)));
    return plainly(() => this.#store.answer(ticket, principal, sealed));
  }

  /** Claims a run of somebody whose question was answered, to continue it. */
  async take(viewer: Identified, ticket: string): Promise<TakenRun> {
    const { principal } = viewer;
    const row = await plainly(() => this.#store.row(ticket));
    if (row === undefined || row.principal !== principal) return { kind: "unknown" };
    const { owner } = await this.#listed(row);
    if (!owns(viewer, owner)) return { kind: "of_more_groups" };
    const claimed = await plainly(() =>
      this.#store.claim(ticket, principal, this.#owner, (owner) => isDead(owner, this.#self)),
    );
    if (claimed.kind !== "claimed") {
      if (claimed.kind === "taken") return { kind: "elsewhere" };
      if (claimed.kind === "unknown") return claimed;
      const pending = await this.get(ticket, principal);
      return pending === undefined ? { kind: "unknown" } : { kind: claimed.kind, pending };
    }
    try {
      const kept = (await this.#unseal("run", row, claimed.run)) as SuspendedRun;
      const run = withProvenGrants(kept, this.#requiredProof);
      const answered = this.#counting((await this.#unseal("answer", row, claimed.answer)) as KeptAnswer);
      return {
        kind: "taken",
        resumed: {
          run,
          began: identityOf(owner),
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

  #seal(what: Sealed, facts: RowFacts, bytes: Buffer): Promise<Buffer> {
    return plainly(async () => (await this.#sealer()).seal(bytes, sealedAs(what, facts)));
  }

  async #unseal(what: Sealed, facts: RowFacts, sealed: Uint8Array): Promise<unknown> {
    const sealer = await plainly(this.#sealer);
    const bytes = await plainly(async () => {
      try {
        return sealer.unseal(sealed, sealedAs(what, facts));
      } catch (error) {
        if (error instanceof SealingError && isOfAnotherVersion(sealer, what, facts, sealed))
          throw new OfAnotherVersion(facts);
        throw error;
      }
    });
    return readJson(bytes.toString("utf8"));
  }
}

/** Another version of ptc stored the approval, in a format that this one does not read. */
class OfAnotherVersion extends PendingError {
  constructor({ ticket }: RowFacts) {
    super(`what waits as ${ticket} was kept by another version of ptc: run its program again`);
  }
}

function isOfAnotherVersion(sealer: Sealer, what: Sealed, { ticket }: RowFacts, sealed: Uint8Array): boolean {
  return sealedEarlierAs(what, ticket).some((purpose) => {
    try {
      sealer.unseal(sealed, purpose);
      return true;
    } catch {
      return false;
    }
  });
}

/** The question that an answer is for. */
export type AnsweredQuestion = Pick<PendingApproval, "ticket" | "digest" | "askedAt" | "expiresAt">;

function factsOf({ ticket, principal, askedAt, expiresAt }: RowFacts): RowFacts {
  return { ticket, principal, askedAt, expiresAt };
}

/** The content of a row that is listed, as it is sealed. */
interface Listing
  extends Pick<ListedQuestion, "request" | "source" | "client" | "fileName" | "digest" | "bytes"> {
  groups?: RunContext["groups"] | undefined;
  boundGroups?: RunContext["boundGroups"] | undefined;
  name?: string | undefined;
}

function listedOf({ runId, tool, definitionDigest, argumentsDigest, claims }: ListedRequest): ListedRequest {
  const about = claims === undefined ? {} : { claims: { server: claims.server } };
  return { runId, tool, definitionDigest, argumentsDigest, ...about };
}

/** A run with only the grants that have the required proof. */
function withProvenGrants(run: SuspendedRun, required: RequiredProof): SuspendedRun {
  const { approvals } = run;
  return {
    ...run,
    approvals: approvals && {
      ...approvals,
      grants: approvals.grants.filter((grant) => isProven(grant, required)),
      plan: approvals.plan !== undefined && isProven(approvals.plan, required) ? approvals.plan : undefined,
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
    throw new SealingError(`the key for approvals, ${path}, cannot be read or made (${code ?? "unknown"})`);
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
