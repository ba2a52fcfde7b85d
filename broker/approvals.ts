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

/** `once` approves this very call, `run` every further call of the tool in this run. */
export type ApprovalAnswer = "once" | "run" | "denied";

/** Puts a request to a person. No way to ask is an approver that denies. */
export interface Approver {
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer>;
}

/** The approvals of one run: asks one question at a time and remembers what was granted. */
export class RunApprovals {
  readonly #runId: string;
  readonly #approver: Approver;
  readonly #granted = new Set<string>();
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

  async approve(tool: KnownTool, args: unknown, signal: AbortSignal): Promise<boolean> {
    const answer = this.#turn.then(() => this.#ask(tool, args, signal));
    this.#turn = answer.catch(() => {});
    return answer;
  }

  async #ask(tool: KnownTool, args: unknown, signal: AbortSignal): Promise<boolean> {
    const key = `${tool.namespacedName} ${tool.definitionDigest}`;
    if (this.#granted.has(key)) return true;
    const answer = await this.#approver.ask(
      {
        runId: this.#runId,
        tool: tool.namespacedName,
        definitionDigest: tool.definitionDigest,
        arguments: args,
        argumentsDigest: digestOf(args),
      },
      signal,
    );
    if (answer === "run") this.#granted.add(key);
    if (answer === "denied") this.#state = "DENIED";
    else if (this.#state === "NOT_REQUIRED") this.#state = "APPROVED";
    return answer !== "denied";
  }
}
