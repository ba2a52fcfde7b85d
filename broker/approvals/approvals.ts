import type { Tool } from "../../catalog/tool.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { ApprovalState } from "../../protocol/envelope.ts";
import type { RunEvents } from "../decision-events.ts";
import {
  type AskedElicitation,
  type Inquiry,
  type InquiryAnswer,
  NOT_ASKED,
} from "../elicitation/inquiry.ts";

/** A question for a person. The answer holds for this run, this definition of the tool, and these arguments. */
export interface ApprovalRequest {
  runId: string;
  tool: string;
  definitionDigest: string;
  arguments: unknown;
  argumentsDigest: string;
  /** Whether the person has been asked about this tool in this run before. */
  isAgain?: boolean;
}

export interface ApprovalAnswer {
  /** `once` approves this call, `run` also every further call of the tool in this run. */
  decision: "once" | "run" | "denied";
  /** Who or what answered, for the audit log. */
  by: string;
  /** Whether it was denied because nobody could be asked. */
  isUnasked?: boolean;
}

/** The answer when nobody can be asked. */
export const UNASKED: ApprovalAnswer = { decision: "denied", by: "nobody", isUnasked: true };

/** Puts a request to a person. An approver that has no way to ask answers `UNASKED`. */
export interface Approver {
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer>;
  /** Puts a question of a server to a person. Without it nobody can be asked. */
  inquire?(inquiry: Inquiry, signal: AbortSignal): Promise<InquiryAnswer>;
  /** Whether the person's client shows addresses and opens them. Without it, it does not. */
  canVisit?(): boolean;
}

/** The decision on a call that needs an approval. */
export interface Approval {
  decision: "approved-once" | "approved-for-run" | "denied";
  /** Who or what answered this time, or approved the tool for the run earlier. */
  by: string;
  /** Whether it was denied because nobody could be asked. */
  isUnasked?: boolean | undefined;
}

const APPROVALS = { once: "approved-once", run: "approved-for-run", denied: "denied" } as const;

/** The approvals of one run, and the questions of servers in it: asks one question at a time and remembers what was granted. */
export class RunApprovals {
  readonly #runId: string;
  readonly #approver: Approver;
  readonly #events: RunEvents;
  /** Who approved a tool for the run, by tool and definition. */
  readonly #granted = new Map<string, string>();
  readonly #asked = new Set<string>();
  #state: ApprovalState = "NOT_REQUIRED";
  #turn: Promise<unknown> = Promise.resolve();

  /** @param events is told of each answer. */
  constructor(runId: string, approver: Approver, events: RunEvents = {}) {
    this.#runId = runId;
    this.#approver = approver;
    this.#events = events;
  }

  /** `DENIED` after any denial, else `APPROVED` after any approval. */
  get state(): ApprovalState {
    return this.#state;
  }

  /** Whether the person can be sent to an address. */
  get canVisit(): boolean {
    return this.#approver.inquire !== undefined && this.#approver.canVisit?.() === true;
  }

  /** Asks about one call, unless its tool was approved for the run. Waits for earlier questions first. */
  async approve(tool: Tool, args: unknown, signal: AbortSignal): Promise<Approval> {
    const answer = this.#turn.then(() => this.#ask(tool, args, signal));
    this.#turn = answer.catch(() => {});
    return answer;
  }

  /** Puts a question of a server to a person. Waits for earlier questions first. */
  async inquire(asked: AskedElicitation, signal: AbortSignal): Promise<InquiryAnswer> {
    const answer = this.#turn.then(async () => {
      if (signal.aborted || this.#approver.inquire === undefined) return NOT_ASKED;
      return this.#approver.inquire({ ...asked, runId: this.#runId }, signal);
    });
    this.#turn = answer.catch(() => {});
    return answer;
  }

  async #ask(tool: Tool, args: unknown, signal: AbortSignal): Promise<Approval> {
    const key = `${tool.namespacedName} ${tool.definitionDigest}`;
    const granter = this.#granted.get(key);
    if (granter !== undefined) return { decision: "approved-for-run", by: granter };
    const argumentsDigest = digestOf(args);
    const { decision, by, isUnasked } = await this.#approver.ask(
      {
        runId: this.#runId,
        tool: tool.namespacedName,
        definitionDigest: tool.definitionDigest,
        arguments: args,
        argumentsDigest,
        isAgain: this.#asked.has(key),
      },
      signal,
    );
    this.#asked.add(key);
    this.#events.onApproval?.({
      server: tool.server,
      tool: tool.namespacedName,
      argumentsDigest,
      decision: decision === "denied" ? "denied" : "approved",
      scope: decision === "denied" ? undefined : decision,
      approver: by,
    });
    if (decision === "run") this.#granted.set(key, by);
    if (decision === "denied") this.#state = "DENIED";
    else if (this.#state === "NOT_REQUIRED") this.#state = "APPROVED";
    return { decision: APPROVALS[decision], by, isUnasked };
  }
}
