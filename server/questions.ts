import type { ApprovalAnswer, ApprovalRequest, Approver } from "../broker/approvals.ts";
import { NOBODY } from "../broker/dispatcher.ts";

/** A question that waits for a person's answer. */
export interface Question {
  request: ApprovalRequest;
  answer(answer: ApprovalAnswer): void;
}

const DENIED: ApprovalAnswer = { decision: "denied", by: NOBODY };

/**
 * The questions of one run, handed over to whoever speaks with the client: an approver on one side, and on the other a
 * queue that is looked at between the client's requests.
 */
export class Questions implements Approver {
  readonly #canAsk: () => boolean;
  #waiting: Question | undefined;
  #announce: () => void = () => {};

  /** @param canAsk whether the client has a way to ask a person. Without one the answer is no. */
  constructor(canAsk: () => boolean) {
    this.#canAsk = canAsk;
  }

  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    if (!this.#canAsk() || signal.aborted) return Promise.resolve(DENIED);
    return new Promise((resolve) => {
      const answer = (given: ApprovalAnswer) => {
        this.#waiting = undefined;
        resolve(given);
      };
      signal.addEventListener("abort", () => answer(DENIED), { once: true });
      this.#waiting = { request, answer };
      this.#announce();
    });
  }

  /** The question that waits, now or as soon as there is one. */
  next(): Promise<Question> {
    return new Promise((resolve) => {
      const take = () => {
        if (this.#waiting !== undefined) resolve(this.#waiting);
      };
      this.#announce = take;
      take();
    });
  }
}
