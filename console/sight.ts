/**
 * What a viewer sees: their own records, everything of the project if they sit at its machine, and records of others if a rule permits
 * it. The gate of `project/` decides about the records of others, as it does for every other endpoint, and audits what it releases.
 */

import type { ArchiveStore } from "../archive/archive-store.ts";
import type { ArchivedRun } from "../archive/archived-run.ts";
import type { ListedRun } from "../archive/listed-run.ts";
import type { Owner } from "../broker/policy/authorizer.ts";
import {
  approvalOf,
  type ListedQuestion,
  type PendingApproval,
  type PendingApprovals,
} from "../execution/pending/pending-approvals.ts";
import { identityOf } from "../protocol/run-context.ts";
import type { Rights, Viewer } from "./viewer.ts";

/** How long a decision about a listed record is valid, so that a feed need not ask again for each event. */
const DECIDED_MS = 2_000;
const MAX_DECIDED = 2_000;

export class Sight {
  readonly viewer: Viewer;
  readonly rights: Rights;
  readonly #decided = new Map<string, { may: boolean; until: number }>();

  constructor(viewer: Viewer, rights: Rights) {
    this.viewer = viewer;
    this.rights = rights;
  }

  /** Whether they see everybody's runs and questions. */
  get seesAll(): boolean {
    return this.rights.runs === "all";
  }

  /** Whether a rule may let them see records of others. */
  get seesOthers(): boolean {
    return this.seesAll || this.rights.gate !== undefined;
  }

  isOwn({ principal }: Owner): boolean {
    return principal === this.viewer.principal;
  }

  /** @param runId the run that is shown, if it is more than a line in a list. */
  async mayRead(of: Owner, runId?: string): Promise<boolean> {
    if (this.seesAll || this.isOwn(of)) return true;
    const { gate } = this.rights;
    if (gate === undefined) return false;
    if (runId !== undefined) return gate({ action: "read_runs", of }, runId);
    return this.#recently(["read", of], () => gate({ action: "read_runs", of }));
  }

  /** If the configured groups of its principal do not decide, the groups in its record do. */
  async mayList(
    { principal, run_id: runId }: ListedRun,
    archive: Pick<ArchiveStore, "read">,
  ): Promise<boolean> {
    if (await this.mayRead({ principal })) return true;
    if (this.rights.gate === undefined) return false;
    const run = await archive.read(runId).catch(() => undefined);
    return run !== undefined && this.mayRead(ownerOf(run));
  }

  /** @param isAnswered whether they have answered it, which the audit log notes. */
  async mayAnswer(
    { owner, request }: Pick<ListedQuestion, "owner" | "request">,
    isAnswered = false,
  ): Promise<boolean> {
    if (this.seesAll || this.isOwn(owner)) return true;
    const { gate, approves } = this.rights;
    if (gate === undefined || !approves) return false;
    const access = approvalOf(owner, request);
    return isAnswered ? gate(access, request.runId) : this.#recently(["answer", access], () => gate(access));
  }

  /** The principal whose questions are searched; `undefined` for everybody's. */
  get asksOf(): string | undefined {
    const isOfOthers = this.seesAll || (this.rights.gate !== undefined && this.rights.approves);
    return isOfOthers ? undefined : this.viewer.principal;
  }

  /** The questions that they may answer, including answered ones. */
  async questions(approvals: Pick<PendingApprovals, "list">): Promise<ListedQuestion[]> {
    return this.answerable(await approvals.list(this.asksOf));
  }

  /** The question of a ticket, if they may answer it. */
  async question(
    approvals: Pick<PendingApprovals, "look" | "get">,
    ticket: string,
  ): Promise<PendingApproval | undefined> {
    const listed = await approvals.look(ticket);
    if (listed === undefined || !(this.asksOf === undefined || this.isOwn(listed.owner))) return undefined;
    return (await this.mayAnswer(listed)) ? approvals.get(ticket) : undefined;
  }

  async answerable(questions: readonly ListedQuestion[]): Promise<ListedQuestion[]> {
    const may = await Promise.all(questions.map((each) => this.mayAnswer(each)));
    return questions.filter((_, index) => may[index]);
  }

  async #recently(of: object, decide: () => Promise<boolean>): Promise<boolean> {
    const key = JSON.stringify(of);
    const known = this.#decided.get(key);
    if (known !== undefined && known.until > performance.now()) return known.may;
    const may = await decide();
    if (this.#decided.size >= MAX_DECIDED) this.#decided.clear();
    this.#decided.set(key, { may, until: performance.now() + DECIDED_MS });
    return may;
  }
}

export function ownerOf({ record: { principal, groups, bound_groups } }: ArchivedRun): Owner {
  return identityOf({ principal, groups, boundGroups: bound_groups });
}
