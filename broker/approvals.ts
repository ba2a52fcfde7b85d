import { digestOf } from "../protocol/canonical-json.ts";
import type { ApprovalState } from "../protocol/envelope.ts";
import type { KnownTool } from "./tool-table.ts";

/** What a person is asked. Bound to this run, this tool as it was defined, and these arguments. */
export interface ApprovalRequest {
  runId: string;
  tool: string;
  definitionDigest: string;
  arguments: unknown;
  argumentsDigest: string;
}

export interface ApprovalAnswer {
  /** `once` approves this very call, `run` every further call of the tool in this run. */
  decision: "once" | "run" | "denied";
  /** Who or what answered, for the audit. */
  by: string;
}

/** Puts a request to a person. No way to ask is an approver that denies. */
export interface Approver {
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer>;
}

/** What came of asking. */
export interface Approval {
  decision: "approved-once" | "approved-for-run" | "denied";
  by: string;
}

const APPROVALS = { once: "approved-once", run: "approved-for-run", denied: "denied" } as const;

/** The approvals of one run: asks one question at a time and remembers what was granted. */
export class RunApprovals {
  readonly #runId: string;
  readonly #approver: Approver;
  /** Who granted what for the run, by tool and definition. */
  readonly #granted = new Map<string, string>();
  #state: ApprovalState = "NOT_REQUIRED";
  #turn: Promise<unknown> = Promise.resolve();

  constructor(runId: string, approver: Approver) {
    this.#runId = runId;
    this.#approver = approver;
  }

  /** `DENIED` once anything was denied, else `APPROVED` once anything was asked. */
  get state(): ApprovalState {
    return this.#state;
  }

  async approve(tool: KnownTool, args: unknown, signal: AbortSignal): Promise<Approval> {
    const answer = this.#turn.then(() => this.#ask(tool, args, signal));
    this.#turn = answer.catch(() => {});
    return answer;
  }

  async #ask(tool: KnownTool, args: unknown, signal: AbortSignal): Promise<Approval> {
    const key = `${tool.namespacedName} ${tool.definitionDigest}`;
    const granter = this.#granted.get(key);
    if (granter !== undefined) return { decision: "approved-for-run", by: granter };
    const { decision, by } = await this.#approver.ask(
      {
        runId: this.#runId,
        tool: tool.namespacedName,
        definitionDigest: tool.definitionDigest,
        arguments: args,
        argumentsDigest: digestOf(args),
      },
      signal,
    );
    if (decision === "run") this.#granted.set(key, by);
    if (decision === "denied") this.#state = "DENIED";
    else if (this.#state === "NOT_REQUIRED") this.#state = "APPROVED";
    return { decision: APPROVALS[decision], by };
  }
}
