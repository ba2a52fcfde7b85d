import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type Approver,
  UNASKED,
} from "../../../broker/approvals.ts";

/** A question that waits for a person's answer. */
export interface Question {
  request: ApprovalRequest;
  /** Aborted when the answer is no longer needed, because the call or the program has ended. */
  withdrawn: AbortSignal;
  answer(answer: ApprovalAnswer): void;
}

/**
 * The questions of one run, one at a time. The run sees an ordinary approver. A request of the client that waits for the run
 * takes the question from here and puts it to a person.
 */
export class Questions implements Approver {
  readonly #canAsk: () => boolean;
  readonly #closed = new AbortController();
  #waiting: Question | undefined;
  #announce: () => void = () => {};

  /** @param canAsk whether the client can ask a person. If not, questions are answered with `UNASKED`. */
  constructor(canAsk: () => boolean) {
    this.#canAsk = canAsk;
  }

  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    const withdrawn = AbortSignal.any([signal, this.#closed.signal]);
    if (!this.#canAsk() || withdrawn.aborted) return Promise.resolve(UNASKED);
    return new Promise((resolve) => {
      const answer = (given: ApprovalAnswer) => {
        if (this.#waiting === question) this.#waiting = undefined;
        resolve(given);
      };
      const question: Question = { request, withdrawn, answer };
      withdrawn.addEventListener("abort", () => answer(UNASKED), { once: true });
      this.#waiting = question;
      this.#announce();
    });
  }

  /** Resolves with the open question, as soon as there is one. */
  next(): Promise<Question> {
    return new Promise((resolve) => {
      const take = () => {
        if (this.#waiting !== undefined) resolve(this.#waiting);
      };
      this.#announce = take;
      take();
    });
  }

  /** Withdraws the open question. Later questions are not asked. */
  close(): void {
    this.#closed.abort();
  }
}
