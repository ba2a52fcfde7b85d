import type { Tool } from "../../catalog/tool.ts";
import { digestInTurns, digestOf } from "../../protocol/canonical-json.ts";
import type { ApprovalState } from "../../protocol/envelope.ts";
import type { RunEvents } from "../decision-events.ts";
import {
  type ElicitationAnswer,
  type ElicitationRequest,
  NOT_ASKED,
  type ServerElicitation,
} from "../elicitation/elicitation.ts";
import { NOT_SAMPLED, type SamplingAnswer, type SamplingRequest } from "../elicitation/sampling.ts";
import type { CallFlow } from "../flow/run-flow.ts";
import { describeValues } from "../policy/data-flow.ts";
import { type ArgumentPattern, matchesArguments } from "./argument-pattern.ts";
import type { Plan, PlannedCall } from "./plan.ts";
import { type Ending, type KeptPlan, PlanInForce } from "./plan-in-force.ts";

/** A question for a person. The answer holds for this run, this definition of the tool, and these arguments. */
export interface ApprovalRequest {
  runId: string;
  tool: string;
  definitionDigest: string;
  arguments: unknown;
  argumentsDigest: string;
  /** Whether a person was already asked about this tool in this run, and may be asked many more times. */
  isAgain?: boolean;
  /** Why a rule requires the question: which rule, its text, and what the run has read. */
  reason?: string;
  /** The origins of its values, a line for each argument whose origin is known. */
  origins?: readonly string[];
  /** The server's claims about the tool, which are not checked. */
  claims?: ToolClaims;
  /** The ticket under which `ptc approvals` knows the question, if it does. */
  ticket?: string;
  /** What the program will change from this call on. The answer may be about all of it. */
  plan?: Plan;
  /** Why an approved plan does not cover the call, in one line. */
  differs?: string;
}

/** What a reviewer says of a question: its answer, or that it leaves the question to a person, and why. */
type Review =
  | { readonly kind: "answered"; readonly answer: ApprovalAnswer }
  | { readonly kind: "left"; readonly by: string; readonly why: string };

/** What a server claims about its tool. */
interface ToolClaims {
  server: string;
  description?: string | undefined;
  annotations?: Readonly<Record<string, unknown>> | undefined;
}

export interface ApprovalAnswer {
  /**
   * `once` approves this call, `run` also further calls of the tool in this run. `later`: nobody answers while the client waits, so
   * the run should be suspended until somebody does; if it cannot be, the call is denied.
   */
  decision: "once" | "run" | "denied" | "later";
  /** With `run`: only calls like this one, except for these arguments, as in `ArgumentPattern`. */
  except?: ArgumentPattern["except"];
  /** With `run`: at most this many calls, including this one. */
  atMost?: number;
  /**
   * With `once` and `denied`, to a question with a plan: the numbers of the approved calls of the plan, from 1. All others that could
   * be approved are denied. Without it, the answer is about this call alone.
   */
  calls?: readonly number[];
  /** With `calls`: those that are asked about by themselves once their late values are known. */
  kept?: readonly number[] | undefined;
  /** With `later`: the ticket under which the client knows the question. */
  ticket?: string;
  /** Who or what answered, for the audit log. */
  by: string;
  /** How the answer was given, if that is known. */
  how?: string;
  /** Whether the call was denied because nobody could be asked. */
  isUnasked?: boolean;
  /** Why it was not approved, phrased to follow "needs an approval and". The program sees it. */
  why?: string;
  /** How a person proved that they gave it; absent where nothing proves that. */
  proof?: Proof | undefined;
}

/**
 * What only a person can do for an approval. `terminal`: they typed a word that was shown at their terminal alone. `passkey`: they
 * used a passkey, with the id of this credential, for this question.
 */
export type Proof = { readonly way: "terminal" } | { readonly way: "passkey"; readonly credential: string };

/** How approvals have to be proven (`approvals.require`). With `any` they need no proof. */
export type RequiredProof = "any" | Proof["way"];

/** The answer if nobody can be asked. */
export const UNASKED: ApprovalAnswer = { decision: "denied", by: "nobody", isUnasked: true };

/** The answer if nobody can be asked right now. */
export const LATER: ApprovalAnswer = { decision: "later", by: "nobody", isUnasked: true };

/** Why an approval without the required proof does not count. */
export const NOT_PROVEN: Readonly<Record<Proof["way"], string>> = {
  terminal: "approvals count here only when they are typed at a terminal (approvals.require: terminal)",
  passkey:
    "approvals count here only with a passkey, in the inbox of the console (approvals.require: passkey)",
};

/** Whether something was approved with the required proof. */
export function isProven(
  { proof }: { proof?: { readonly way: string } | undefined },
  required: RequiredProof,
): boolean {
  return required === "any" || proof?.way === required;
}

/** Whether an answer approves any call: the one that was asked about, or another one of its plan. */
export function approvesAny({
  decision,
  calls = [],
}: {
  decision: string;
  calls?: readonly number[];
}): boolean {
  return decision === "once" || decision === "run" || calls.length > 0;
}

/** The effective answer where approvals have to be proven: an approval without proof is a denial, and says why. */
export function countsProven(answer: ApprovalAnswer, required: RequiredProof): ApprovalAnswer {
  const approves = approvesAny(answer);
  if (required === "any" || !approves || isProven(answer, required)) return answer;
  const { by, how } = answer;
  return { decision: "denied", by, ...(how === undefined ? {} : { how }), why: NOT_PROVEN[required] };
}

/** Puts a request to a person. An approver that has no way to ask answers `UNASKED`. */
export interface Approver {
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer>;
  /**
   * Puts a request to a reviewer, before a person is asked. Resolves with `undefined` if there is none.
   *
   * @param reviewer the check that may answer in the place of a person, as the audit log calls it.
   */
  review?(request: ApprovalRequest, reviewer: string, signal: AbortSignal): Promise<Review | undefined>;
  /**
   * Called when the answer that counts was given elsewhere before this approver's own.
   *
   * @param answer the answer, if it is known.
   */
  answeredElsewhere?(request: ApprovalRequest, answer: ApprovalAnswer | undefined): void;
  /** Puts a question of a server to a person. If absent, nobody can be asked. */
  elicit?(elicitation: ElicitationRequest, signal: AbortSignal): Promise<ElicitationAnswer>;
  /** Puts a server's request to the client's model. If absent, there is none. */
  sample?(request: SamplingRequest, signal: AbortSignal): Promise<SamplingAnswer>;
  /** Whether the person's client can show and open URLs. By default it cannot. */
  canVisit?(): boolean;
  /** Whether it answers for a tool by itself, so that nobody is shown a plan. By default it asks somebody. */
  asksNobody?(tool: string): boolean;
  /** The proof that comes with answers to what it asks: it asks at a terminal, or waits for a passkey. By default there is none. */
  provesBy?: Proof["way"] | undefined;
}

/** An approver with all of its methods. */
export type CompleteApprover = Required<Omit<Approver, "provesBy">> & Pick<Approver, "provesBy">;

/** Completes an approver with defaults. One that has no way to ask a person asks nobody. */
export function complete(approver: Approver): CompleteApprover {
  return {
    provesBy: approver.provesBy,
    ask: (request, signal) => approver.ask(request, signal),
    review: async (request, reviewer, signal) => approver.review?.(request, reviewer, signal),
    answeredElsewhere: (request, answer) => approver.answeredElsewhere?.(request, answer),
    elicit: async (elicitation, signal) => approver.elicit?.(elicitation, signal) ?? NOT_ASKED,
    sample: async (request, signal) => approver.sample?.(request, signal) ?? NOT_SAMPLED,
    canVisit: () => approver.elicit !== undefined && approver.canVisit?.() === true,
    asksNobody: (tool) => approver.asksNobody?.(tool) === true,
  };
}

/** The decision on a call that needs an approval. */
export interface Approval {
  decision: "approved-once" | "approved-for-run" | "denied";
  /** Who or what answered this time, or approved the tool for the run earlier. */
  by: string;
  /** Whether the call was denied because nobody could be asked. */
  isUnasked?: boolean | undefined;
  /** Why it was not approved, phrased to follow "needs an approval and". */
  why?: string | undefined;
  /** The number of the call in the plan that somebody has answered, if it is in one. */
  planned?: number | undefined;
}

/** The answer of no model, where the call has ended, or its run is suspended until a person has answered. */
const SUSPENDED: SamplingAnswer = { kind: "unsampled", why: "its run waits for a person, or has ended" };

interface Why {
  rule?: string | undefined;
  reason?: string | undefined;
  flow?: CallFlow | undefined;
  /** Whether what is asked is about this very call, so that nothing that was approved for further calls covers it. */
  isOfCheck?: boolean | undefined;
  /** The check that may answer in the place of a person. */
  reviewer?: string | undefined;
}

const APPROVALS = { once: "approved-once", run: "approved-for-run", denied: "denied" } as const;

/** What has been approved for a run, so that the run can be resumed with it. */
export interface ApprovalsSoFar {
  state: ApprovalState;
  grants: readonly Grant[];
  /** What a person has denied or kept, as `Grants.reserved` lists it. */
  reserved?: readonly string[] | undefined;
  /** The plan that somebody has answered. */
  plan?: KeptPlan | undefined;
  /** The plan of the question that is open. */
  asked?: Plan | undefined;
}

export interface RunApprovalsOptions {
  /** What was approved before the run was suspended. */
  earlier?: ApprovalsSoFar | undefined;
  /** What was approved for all direct calls of the conversation, where this is one of them. By default for this run alone. */
  shared?: Grants | undefined;
  /** The answer to the question for which the run was suspended. It counts once, and only for that question. */
  answered?: { digest: string; answer: ApprovalAnswer } | undefined;
  /**
   * Suspends the run because of this question. Resolves only if that was not possible, with the answer that then counts.
   * If absent, no run is suspended.
   */
  suspend?: ((request: ApprovalRequest, ticket: string | undefined) => Promise<ApprovalAnswer>) | undefined;
  /** Finds out what the program will change from this call on. If absent, each call is asked about. `giveUp` aborts when a server asks something. */
  plan?: ((request: ApprovalRequest, giveUp: AbortSignal) => Promise<Plan | undefined>) | undefined;
  /** Settles when the program waits for the answer. Rejects if it does not come to that, and the call is not made. */
  ready?: (() => Promise<void>) | undefined;
}

/** Why a person is asked whom a reviewer left the question. */
function reasonOf({ reason }: ApprovalRequest, { by, why }: Extract<Review, { kind: "left" }>): string {
  const left = `${by} leaves it to a person: ${why}`;
  return reason === undefined ? left : `${reason}; ${left}`;
}

/** Identifies the question that an answer counts for. */
export function questionDigest(request: ApprovalRequest): string {
  const { runId, tool, definitionDigest, argumentsDigest, plan } = request;
  const about = [runId, tool, definitionDigest, argumentsDigest];
  return digestOf(plan === undefined ? about : [...about, plan.digest]);
}

/** The approved scope, for the audit log, without the values of arguments. */
function describeScope({ decision, except, atMost, calls }: ApprovalAnswer, plan?: Plan): string {
  if (decision !== "run")
    return calls === undefined || plan === undefined
      ? decision
      : `${calls.length} of ${plan.calls.length} calls of plan ${plan.digest}`;
  const where = except === undefined ? [] : [`like it but for ${Object.keys(except).join(", ")}`];
  const bound = atMost === undefined ? [] : [`at most ${atMost}`];
  return ["run", ...where, ...bound].join("; ");
}

/** The approvals of one run, and the questions of servers during it: asks one question at a time and remembers grants. */
export class RunApprovals {
  readonly #runId: string;
  readonly #approver: CompleteApprover;
  readonly #events: RunEvents;
  readonly #options: RunApprovalsOptions;
  readonly #grants: Grants;
  #answered: RunApprovalsOptions["answered"];
  #state: ApprovalState;
  #plan: PlanInForce | undefined;
  #asking: Plan | undefined;
  /** The number in the plan of the call whose own question is open. */
  #askingAlone: number | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #suspending = new AbortController();
  #planning = new AbortController();
  /** How many questions of servers wait or are open. */
  #eliciting = 0;

  /** @param events receives each answer. */
  constructor(runId: string, approver: Approver, events: RunEvents = {}, options: RunApprovalsOptions = {}) {
    this.#runId = runId;
    this.#approver = complete(approver);
    this.#events = events;
    this.#options = options;
    this.#answered = options.answered;
    this.#grants = options.shared ?? new Grants(options.earlier?.grants, options.earlier?.reserved);
    const { plan } = options.earlier ?? {};
    this.#plan = plan && new PlanInForce(plan);
    this.#state = options.earlier?.state ?? "NOT_REQUIRED";
  }

  /** `DENIED` after any denial, else `APPROVED` after any approval. */
  get state(): ApprovalState {
    return this.#state;
  }

  get soFar(): ApprovalsSoFar {
    const reserved = this.#grants.reserved();
    const isShared = this.#options.shared !== undefined;
    return {
      // What is the conversation's stays there, so that nothing of it counts twice.
      state: this.#state,
      grants: isShared ? [] : this.#grants.list(),
      ...(isShared || reserved.length === 0 ? {} : { reserved }),
      ...(this.#plan === undefined ? {} : { plan: this.#plan.kept(this.#askingAlone) }),
      ...(this.#asking === undefined ? {} : { asked: this.#asking }),
    };
  }

  /** How many calls wait for an approval. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Whether the person can be sent to a URL. */
  get canVisit(): boolean {
    return this.#approver.canVisit();
  }

  /**
   * Asks about one call, unless its tool was approved for the run and no check asks. Waits for earlier questions first.
   *
   * @param why shown to the person who decides: why a rule requires the question, and where the values come from.
   */
  async approve(tool: Tool, args: unknown, signal: AbortSignal, why: Why = {}): Promise<Approval> {
    this.#waiting++;
    const answer = this.#turn.then(async () => {
      const approval = await this.#ask(tool, args, signal, why);
      await this.#options.ready?.();
      return approval;
    });
    this.#turn = answer.catch(() => {});
    try {
      return await answer;
    } finally {
      this.#waiting--;
    }
  }

  /**
   * Holds a call that needs no approval against the plan that somebody has answered. Resolves with its number there; `undefined` if
   * it is in none.
   */
  async unasked({ namespacedName, definitionDigest }: Tool, args: unknown): Promise<number | undefined> {
    const call = { tool: namespacedName, definitionDigest, arguments: args, asks: false };
    const matched = await this.#plan?.match(call);
    return matched === undefined || matched.kind === "unplanned" ? undefined : matched.number;
  }

  /** A call of the plan has ended. */
  ended(planned: number | undefined, ending: Ending): void {
    if (planned !== undefined) this.#plan?.end(planned, ending);
  }

  /** A call that only reads, and that needs no approval, has ended. The program does not have its answer yet. */
  async read({ namespacedName, definitionDigest }: Tool, args: unknown, answer: unknown): Promise<void> {
    await this.#plan?.read({ tool: namespacedName, definitionDigest, arguments: args }, answer);
  }

  /** Puts a question of a server to a person. Waits for earlier questions first, but not for a suspension. */
  elicit(asked: ServerElicitation, signal: AbortSignal): Promise<ElicitationAnswer> {
    return this.#ofServer(signal, NOT_ASKED, () =>
      this.#approver.elicit({ ...asked, runId: this.#runId }, signal),
    );
  }

  /** Puts a server's request to the client's model. Waits as `elicit` does. */
  sample(asked: Omit<SamplingRequest, "runId">, signal: AbortSignal): Promise<SamplingAnswer> {
    return this.#ofServer(signal, SUSPENDED, () =>
      this.#approver.sample({ ...asked, runId: this.#runId }, signal),
    );
  }

  /** @param unasked the answer where the call has ended, or the run is suspended. */
  async #ofServer<Answer>(signal: AbortSignal, unasked: Answer, ask: () => Promise<Answer>): Promise<Answer> {
    const suspending = this.#suspending.signal;
    // A plan waits for calls under way, and the call of this question waits for the plan.
    this.#planning.abort();
    this.#eliciting++;
    const answer = this.#turn.then(async () => {
      if (signal.aborted || suspending.aborted) return unasked;
      return ask();
    });
    this.#turn = answer
      .catch(() => {})
      .finally(() => {
        if (--this.#eliciting === 0) this.#planning = new AbortController();
      });
    if (suspending.aborted) return unasked;
    const given = new Promise<Answer>((resolve) => {
      suspending.addEventListener("abort", () => resolve(unasked), { once: true });
    });
    return Promise.race([answer, given]);
  }

  async #ask(
    tool: Tool,
    args: unknown,
    signal: AbortSignal,
    { rule, reason, flow, isOfCheck = false, reviewer }: Why,
  ): Promise<Approval> {
    const key = `${tool.namespacedName} ${tool.definitionDigest}`;
    const grant = isOfCheck ? undefined : this.#grants.take(tool.namespacedName, tool.definitionDigest, args);
    if (grant !== undefined) return { decision: "approved-for-run", by: grant.by };
    const { namespacedName, definitionDigest } = tool;
    const plan = this.#plan;
    const matched = await plan?.match({
      tool: namespacedName,
      definitionDigest,
      arguments: args,
      asks: true,
      rule,
    });
    if (plan !== undefined && matched !== undefined) {
      if (matched.kind === "approved")
        return { decision: "approved-once", by: plan.by, planned: matched.number };
      if (matched.kind === "denied") {
        this.#state = "DENIED";
        plan.end(matched.number, "failed");
        return { decision: "denied", by: plan.by };
      }
      // What is not as it was approved ends the plan: the person is asked anew, about all that follows.
      if (matched.kind === "unplanned") this.#plan = undefined;
    }
    const isByItself = matched?.kind === "by-itself";
    const argumentsDigest = await digestInTurns(args ?? null);
    const call = { tool: namespacedName, definitionDigest, argumentsDigest };
    // A person has said something about it, or was promised that anything else is asked about.
    const isForPerson = matched !== undefined || this.#grants.isReserved(call);
    const asked: ApprovalRequest = {
      runId: this.#runId,
      ...call,
      arguments: args,
      isAgain: this.#grants.asked.has(key),
      ...(reason === undefined ? {} : { reason }),
      ...(flow === undefined ? {} : { origins: describeValues(flow) }),
      claims: { server: tool.server, description: tool.description, annotations: tool.annotations },
      ...(matched?.kind === "unplanned" ? { differs: matched.differs } : {}),
    };
    const review =
      reviewer === undefined || isForPerson ? undefined : await this.#review(asked, reviewer, tool, signal);
    if (review?.kind === "answered") return this.#note(asked, tool.server, review.answer, true);
    const left = review === undefined ? asked : { ...asked, reason: reasonOf(asked, review) };
    const request = isByItself ? left : await this.#planned(left);
    this.#asking = request.plan;
    if (isByItself) this.#askingAlone = matched.number;
    try {
      const answer = await this.#answerTo(request, tool.server, signal);
      this.#grants.asked.add(key);
      const approval = this.#note(request, tool.server, answer);
      if (!isByItself) return approval;
      if (approval.decision === "denied") plan?.end(matched.number, "failed");
      return { ...approval, planned: matched.number };
    } finally {
      this.#asking = undefined;
      this.#askingAlone = undefined;
    }
  }

  /** Asks a reviewer, unless a person has answered the question already. */
  async #review(
    asked: ApprovalRequest,
    reviewer: string,
    { server, namespacedName }: Tool,
    signal: AbortSignal,
  ): Promise<Review | undefined> {
    if (this.#isAnswered(this.#asEarlier(asked))) return undefined;
    const review = await this.#approver.review(asked, reviewer, signal);
    if (review?.kind === "left")
      this.#events.onDecision?.({
        server,
        tool: namespacedName,
        decision: "ask",
        rule: review.by,
        reason: review.why,
      });
    return review;
  }

  #isAnswered(asked: ApprovalRequest): boolean {
    return this.#answered !== undefined && this.#answered.digest === questionDigest(asked);
  }

  /** The question with the plan that was shown before the run was suspended. */
  #asEarlier(asked: ApprovalRequest): ApprovalRequest {
    const earlier = this.#options.earlier?.asked;
    return earlier === undefined ? asked : { ...asked, plan: earlier };
  }

  /** The question with what the program will change from this call on. */
  async #planned(asked: ApprovalRequest): Promise<ApprovalRequest> {
    const again = this.#asEarlier(asked);
    // The answer for which the run was suspended is to the question with the plan that was shown.
    if (this.#isAnswered(again)) return again;
    if (this.#options.plan === undefined || this.#approver.asksNobody(asked.tool)) return asked;
    const plan = await this.#options.plan(asked, this.#planning.signal);
    return plan === undefined ? asked : { ...asked, plan };
  }

  async #answerTo(request: ApprovalRequest, server: string, signal: AbortSignal): Promise<ApprovalAnswer> {
    const answered = this.#answered;
    if (answered?.digest === questionDigest(request)) {
      this.#answered = undefined;
      return answered.answer;
    }
    const answer = await this.#approver.ask(request, signal);
    if (answer.decision !== "later") return answer;
    const { suspend } = this.#options;
    if (suspend === undefined || signal.aborted)
      return answer.why === undefined ? UNASKED : { ...UNASKED, why: answer.why };
    this.#suspending.abort();
    this.#tell(request, server, { decision: "suspended", by: answer.by });
    const instead = await suspend(request, answer.ticket);
    this.#suspending = new AbortController();
    return instead;
  }

  #tell(
    { tool, argumentsDigest }: ApprovalRequest,
    server: string,
    {
      decision,
      scope,
      by,
      how,
      proof,
    }: Pick<ApprovalAnswer, "by" | "proof"> & {
      decision: string;
      scope?: string;
      how?: string | undefined;
    },
  ): void {
    const credential = proof?.way === "passkey" ? proof.credential : undefined;
    this.#events.onApproval?.({
      server,
      tool,
      argumentsDigest,
      decision,
      scope,
      approver: by,
      how,
      credential,
    });
  }

  #note(request: ApprovalRequest, server: string, answer: ApprovalAnswer, isByReviewer = false): Approval {
    const { decision, by, how, isUnasked, why, except, atMost, proof, calls, kept } = answer;
    if (decision === "run") {
      const { tool, definitionDigest } = request;
      const pattern = except === undefined ? undefined : { like: request.arguments, except };
      // The call that was asked about is the first of the approved ones.
      const left = atMost === undefined ? undefined : Math.max(0, atMost - 1);
      this.#grants.add({ tool, definitionDigest, pattern, left, by, how, proof });
    }
    const isDenied = decision === "denied" || decision === "later";
    const { plan } = request;
    if (decision === "denied" && isUnasked !== true && !isByReviewer) this.#grants.reserve(request);
    const isOfPlan = plan !== undefined && calls !== undefined && decision !== "run" && decision !== "later";
    if (isOfPlan)
      for (const [index, call] of plan.calls.entries())
        if (call.asks && !calls.includes(index + 1)) this.#grants.reserve(call);
    if (isOfPlan)
      this.#plan = new PlanInForce({
        plan,
        approved: calls,
        kept,
        used: [1],
        ended: isDenied ? [[1, null]] : [],
        by,
        how,
        proof,
      });
    if (isDenied && (calls ?? []).length === 0) this.#tell(request, server, { decision: "denied", by, how });
    else
      this.#tell(request, server, {
        decision: "approved",
        scope: describeScope(answer, plan),
        by,
        how,
        proof,
      });
    if (isDenied) this.#state = "DENIED";
    else if (this.#state === "NOT_REQUIRED") this.#state = "APPROVED";
    return {
      decision: decision === "later" ? "denied" : APPROVALS[decision],
      by,
      isUnasked,
      why,
      ...(isOfPlan ? { planned: 1 } : {}),
    };
  }
}

/** A person's approval for the rest of a run: calls of one tool with one definition. */
interface Grant {
  tool: string;
  definitionDigest: string;
  /** Only calls like this one. By default any call of the tool. */
  pattern?: ArgumentPattern | undefined;
  /** How many calls are left. By default there is no bound. */
  left?: number | undefined;
  by: string;
  how?: string | undefined;
  /** As in `ApprovalAnswer`. */
  proof?: Proof | undefined;
}

/** A call by its digests. */
type DigestedCall = Pick<ApprovalRequest, "tool" | "definitionDigest" | "argumentsDigest">;

/** The grants of one run, or of the direct calls of one conversation, and what in it is for a person alone. */
export class Grants {
  /** The tools that somebody was asked about, with their definitions. */
  readonly asked = new Set<string>();
  readonly #grants: Grant[];
  readonly #reserved: Set<string>;

  constructor(grants: readonly Grant[] = [], reserved: readonly string[] = []) {
    this.#grants = grants.map((grant) => ({ ...grant }));
    this.#reserved = new Set(reserved);
  }

  /**
   * A person has denied a call, or keeps it for a question of its own: no reviewer answers about it from now on. Of a planned call whose
   * values were not all known, no other call of the tool with this definition is told apart.
   */
  reserve(call: DigestedCall & Partial<Pick<PlannedCall, "open" | "undecided">>): void {
    const { open = [], undecided = [] } = call;
    const isKnown = open.length === 0 && undecided.length === 0;
    this.#reserved.add(keyOf(call, isKnown ? call.argumentsDigest : ANY));
  }

  /** Whether a call is for a person alone. */
  isReserved(call: DigestedCall): boolean {
    return [call.argumentsDigest, ANY].some((args) => this.#reserved.has(keyOf(call, args)));
  }

  /** What is for a person alone, for a run that is suspended. */
  reserved(): string[] {
    return [...this.#reserved];
  }

  add(grant: Grant): void {
    this.#grants.push(grant);
  }

  /** Uses up one call of the first grant that covers this one; `undefined` if none does. */
  take(tool: string, definitionDigest: string, args: unknown): Grant | undefined {
    const found = this.#grants.find(
      (grant) =>
        grant.tool === tool &&
        grant.definitionDigest === definitionDigest &&
        grant.left !== 0 &&
        (grant.pattern === undefined || matchesArguments(grant.pattern, args)),
    );
    if (found?.left !== undefined) found.left--;
    return found;
  }

  /** A copy of all grants. */
  list(): Grant[] {
    return this.#grants.map((grant) => ({ ...grant }));
  }
}

/** In the place of the digest of arguments: any arguments. */
const ANY = "*";

function keyOf({ tool, definitionDigest }: DigestedCall, argumentsDigest: string): string {
  return `${tool} ${definitionDigest} ${argumentsDigest}`;
}
