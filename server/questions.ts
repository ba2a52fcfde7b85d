import type { ApprovalAnswer, ApprovalRequest, Approver } from "../broker/approvals.ts";

/** A question that waits for a person's answer. */
export interface Question {
  request: ApprovalRequest;
  /** Aborted when no answer is wanted any more, because the call or its whole program is over. */
  withdrawn: AbortSignal;
  answer(answer: ApprovalAnswer): void;
}

const DENIED: ApprovalAnswer = { decision: "denied", by: "nobody" };

/**
 * The questions of one run, handed over to whoever speaks with the client: an approver on one side, and on the other a
 * queue that is looked at between the client's requests.
 */
export class Questions implements Approver {
  readonly #canAsk: () => boolean;
  readonly #closed = new AbortController();
  #waiting: Question | undefined;
  #announce: () => void = () => {};

  /** @param canAsk whether the client has a way to ask a person. Without one the answer is no. */
  constructor(canAsk: () => boolean) {
    this.#canAsk = canAsk;
  }

  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const withdrawn = AbortSignal.any([signal, this.#closed.signal]);
    if (!this.#canAsk() || withdrawn.aborted) return Promise.resolve(DENIED);
    return new Promise((resolve) => {
      const answer = (given: ApprovalAnswer) => {
        if (this.#waiting === question) this.#waiting = undefined;
        resolve(given);
      };
      const question: Question = { request, withdrawn, answer };
      withdrawn.addEventListener("abort", () => answer(DENIED), { once: true });
      this.#waiting = question;
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

  /** Withdraws what waits, and answers no to all that comes. */
  close(): void {
    this.#closed.abort();
  }
}
