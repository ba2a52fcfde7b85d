import { unmistakableLine } from "../../../base/text/unmistakable-line.ts";
import { describeAnswerElsewhere } from "../../../broker/approvals/approval-text.ts";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type Approver,
  LATER,
  UNASKED,
} from "../../../broker/approvals/approvals.ts";
import {
  type ElicitationAnswer,
  type ElicitationRequest,
  NOT_ASKED,
} from "../../../broker/elicitation/elicitation.ts";

/** The most answers by other ways that are told of one run. */
const MAX_ANSWERED_ELSEWHERE = 10;

interface Asked<Answer> {
  /** Aborted when the answer is no longer needed, because the call or the program has ended. */
  withdrawn: AbortSignal;
  answer(answer: Answer): void;
}

/** A question that waits for a person's answer: ptc's own about a call, or one of a server. */
export type Question =
  | ({ kind: "approval"; request: ApprovalRequest } & Asked<ApprovalAnswer>)
  | ({ kind: "elicitation"; elicitation: ElicitationRequest } & Asked<ElicitationAnswer>);

/**
 * The questions of one run, one at a time. The run sees an ordinary approver. A request of the client that waits for the run
 * takes the question from here and puts it to a person.
 */
export class Questions implements Approver {
  readonly #canAsk: () => boolean;
  readonly #canVisit: () => boolean;
  readonly #closed = new AbortController();
  readonly #answersElsewhere: string[] = [];
  #waiting: Question | undefined;
  #announce: () => void = () => {};

  /**
   * @param canAsk whether the client can ask a person. If not, questions are answered with `LATER` and `NOT_ASKED`.
   * @param canVisit whether it shows addresses of its own accord.
   */
  constructor(canAsk: () => boolean, canVisit: () => boolean = () => false) {
    this.#canAsk = canAsk;
    this.#canVisit = canVisit;
  }

  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    if (!this.#canAsk() && !signal.aborted) return Promise.resolve(LATER);
    return this.#put(signal, UNASKED, true, (asked) => ({ kind: "approval", request, ...asked }));
  }

  answeredElsewhere({ tool }: ApprovalRequest, answer: ApprovalAnswer | undefined): void {
    if (this.#answersElsewhere.length < MAX_ANSWERED_ELSEWHERE)
      this.#answersElsewhere.push(`${unmistakableLine(tool)}: ${describeAnswerElsewhere(answer)}`);
  }

  /** The questions that were answered by another way than here, each in a line. */
  get answersElsewhere(): readonly string[] {
    return this.#answersElsewhere;
  }

  elicit(elicitation: ElicitationRequest, signal: AbortSignal): Promise<ElicitationAnswer> {
    const can = this.#canAsk() || (elicitation.mode === "url" && this.#canVisit());
    return this.#put<ElicitationAnswer>(signal, NOT_ASKED, can, (asked) => ({
      kind: "elicitation",
      elicitation,
      ...asked,
    }));
  }

  canVisit(): boolean {
    return this.#canVisit();
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

  /** Whether a question of ptc's about a call is open. */
  get isAsking(): boolean {
    return this.#waiting?.kind === "approval";
  }

  /** Withdraws the open question. Later questions are not asked. */
  close(): void {
    this.#closed.abort();
  }

  #put<Answer>(
    signal: AbortSignal,
    unasked: Answer,
    can: boolean,
    build: (asked: Asked<Answer>) => Question,
  ): Promise<Answer> {
    const withdrawn = AbortSignal.any([signal, this.#closed.signal]);
    if (!can || withdrawn.aborted) return Promise.resolve(unasked);
    return new Promise((resolve) => {
      const answer = (given: Answer) => {
        if (this.#waiting === question) this.#waiting = undefined;
        resolve(given);
      };
      const question = build({ withdrawn, answer });
      withdrawn.addEventListener("abort", () => answer(unasked), { once: true });
      this.#waiting = question;
      this.#announce();
    });
  }
}
