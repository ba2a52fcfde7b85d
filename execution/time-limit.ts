import type { Clock } from "../base/clock.ts";
import { untilAborted } from "../base/waiting.ts";
import type { QuestionInterceptor } from "../broker/approvals/question-interceptors.ts";

/** A program is paused once a question has been open for this long. Until then its time runs on. */
const SHORT_QUESTION_MS = 50;

/** A program. It can be paused if it has both methods. */
export interface Pausable {
  pause?(): void;
  resume?(): void;
}

/**
 * The time limit of a program. The time stops while the program is paused because a person, or the client's model, is asked something. It does not stop for
 * a program that cannot be paused.
 */
export class TimeLimit {
  /** Settles when the time is up; never if the limit is cleared first. */
  readonly reached: Promise<void>;

  readonly #clock: Pick<Clock, "monotonicMs">;
  #program: Pausable = {};
  readonly #limitMs: number;
  #remainingMs: number;
  #runningSince = 0;
  #spentMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #questions = 0;
  #pausing: NodeJS.Timeout | undefined;
  #paused = false;
  #expire = () => {};

  constructor(limitMs: number, clock: Pick<Clock, "monotonicMs">) {
    this.#limitMs = limitMs;
    this.#remainingMs = limitMs;
    this.#clock = clock;
    this.reached = new Promise((resolve) => {
      this.#expire = resolve;
    });
  }

  /** How long the program has run, pauses left out. */
  get spentMs(): number {
    return this.#spentMs + (this.#timer === undefined ? 0 : this.#clock.monotonicMs() - this.#runningSince);
  }

  /** Starts the limit. The program has begun. */
  start(program: Pausable): void {
    this.#program = program;
    this.#run();
    if (this.#questions > 0) this.#pauseSoon();
  }

  /** The program can be paused from now on, though it could not when the limit was started. */
  letPause(program: Pausable): void {
    if (this.#timer === undefined) return;
    this.#program = program;
    if (this.#questions > 0) this.#pauseSoon();
  }

  /** The program goes on beside its run, which begins again and has all of its time then. The time stops until `start`. */
  leave(): void {
    clearTimeout(this.#pausing);
    if (this.#paused) this.#program.resume?.();
    this.#paused = false;
    this.#program = {};
    this.#stop();
    this.#remainingMs = this.#limitMs;
  }

  /** A question is put to a person. Several may be open at once. */
  open(): void {
    if (this.#questions++ === 0 && this.#timer !== undefined) this.#pauseSoon();
  }

  /** A question was answered or withdrawn. */
  close(): void {
    if (--this.#questions > 0) return;
    clearTimeout(this.#pausing);
    if (!this.#paused) return;
    this.#paused = false;
    this.#program.resume?.();
    this.#run();
  }

  /** Ends the limit, even while a question is open. */
  clear(): void {
    this.#program = {};
    this.#paused = false;
    clearTimeout(this.#pausing);
    this.#stop();
  }

  #pauseSoon(): void {
    const { pause, resume } = this.#program;
    if (pause === undefined || resume === undefined) return;
    this.#pausing = setTimeout(() => {
      this.#paused = true;
      this.#program.pause?.();
      const ranMs = this.#clock.monotonicMs() - this.#runningSince;
      this.#stop();
      this.#remainingMs -= ranMs;
    }, SHORT_QUESTION_MS);
  }

  #stop(): void {
    if (this.#timer !== undefined) this.#spentMs += this.#clock.monotonicMs() - this.#runningSince;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #run(): void {
    this.#runningSince = this.#clock.monotonicMs();
    this.#timer = setTimeout(this.#expire, Math.max(0, this.#remainingMs));
  }
}

/** Stops the time of a program while a person, a reviewer or the client's model is asked, and while the person visits a URL that a server gave. */
export function pauseWhileAsked(timeLimit: TimeLimit): QuestionInterceptor {
  const pausing = async <T>(answer: () => Promise<T>): Promise<T> => {
    timeLimit.open();
    try {
      return await answer();
    } finally {
      timeLimit.close();
    }
  };
  return (next) => ({
    ask: (request, signal) => pausing(() => next.ask(request, signal)),
    review: (request, reviewer, signal) => pausing(() => next.review(request, reviewer, signal)),
    sample: (request, signal) => pausing(() => next.sample(request, signal)),
    elicit: (elicitation, signal) =>
      pausing(async () => {
        const answer = await next.elicit(elicitation, signal);
        const visited =
          elicitation.mode === "url" && answer.action === "accept" ? elicitation.visited : undefined;
        await untilAborted(Promise.resolve(visited?.catch(() => {})), signal);
        return answer;
      }),
  });
}
