import { untilAborted } from "../base/waiting.ts";
import type { ApprovalRequest } from "../broker/approvals/approvals.ts";
import { type Plan, planOf } from "../broker/approvals/plan.ts";
import type { CallDispatcher, Rehearsal } from "../broker/dispatcher.ts";
import type { RunFlow } from "../broker/flow/run-flow.ts";
import type { CallObserver } from "./call-log.ts";
import type { RunSurroundings } from "./interceptors.ts";
import type { Outcome } from "./outcome.ts";
import type { Moment, Stoppable } from "./suspension/suspension.ts";
import type { TimeLimit } from "./time-limit.ts";

/** How long a plan waits for other calls of the program. */
const MAX_STOP_MS = 10_000;
/** How many plans are made for one run. After that, its calls are asked about one by one. */
const MAX_PLANS = 20;

/** Opens what answers the calls of a rehearsal that goes on from a moment of the run. */
export type OpenRehearsal = (
  moment: Moment,
  rehearsal: Rehearsal,
) => { dispatcher: CallDispatcher; surroundings: RunSurroundings; flow?: RunFlow | undefined };

/** What answers the calls of a rehearsal. */
export interface Rehearsing {
  readonly dispatcher: CallDispatcher;
  readonly surroundings: RunSurroundings;
  readonly observers: readonly CallObserver[];
}

/** The sandbox of a run, whose program may go on there in rehearsal while the run begins again in another one. */
export interface OwnPlace {
  /** Whether the program can go on in rehearsal from a moment of its run. It does so once. */
  canRehearse(moment: Moment): boolean;
  /** Settles when the run is where it was before its rehearsal; rejects if it does not come there. */
  readonly ready: Promise<void>;
  /** Goes on in rehearsal. Resolves with how that ends. */
  rehearse(rehearsing: Rehearsing, signal: AbortSignal): Promise<Outcome>;
  /** The rehearsal from a moment is over, if there was one. The run begins again. */
  beginAgain(moment: Moment): void;
}

/**
 * Rehearses the program of a run from one of its moments.
 *
 * @param own the run's own sandbox, if the program can go on there.
 */
export type Rehearse = (moment: Moment, asked: ApprovalRequest, own: OwnPlace | undefined) => Promise<Plan>;

/** Makes the plans of one run, when its program reaches calls that a person has to approve. */
export class Planning {
  #running: Stoppable | undefined;
  #own: OwnPlace | undefined;
  #rehearse: Rehearse | undefined;
  #plans = 0;
  readonly #timeLimit: Pick<TimeLimit, "open" | "close"> | undefined;

  /** @param timeLimit the program's time limit, which is paused during a rehearsal. */
  constructor(timeLimit?: Pick<TimeLimit, "open" | "close">) {
    this.#timeLimit = timeLimit;
  }

  /** The program has begun. @param own its sandbox, if it may go on there in rehearsal. */
  begin(running: Stoppable, own?: OwnPlace): void {
    this.#running = running;
    this.#own = own;
  }

  /** Settles when the run is where it was before its rehearsal; rejects if it does not come there. */
  get ready(): Promise<void> {
    return this.#own?.ready ?? Promise.resolve();
  }

  /** @param rehearse rehearses the program, which is prepared. */
  rehearseWith(rehearse: Rehearse): void {
    this.#rehearse = rehearse;
  }

  /** What the program will change from a call on. The program starts no further call meanwhile. @param giveUp makes it end soon. */
  async plan(asked: ApprovalRequest, giveUp: AbortSignal): Promise<Plan | undefined> {
    const [running, rehearse] = [this.#running, this.#rehearse];
    if (running === undefined || rehearse === undefined || this.#plans >= MAX_PLANS) return undefined;
    this.#plans++;
    const patience = AbortSignal.any([giveUp, AbortSignal.timeout(MAX_STOP_MS)]);
    try {
      const stopped = await untilAborted(
        running.stop().then((moment) => ({ moment })),
        patience,
      );
      if (stopped === undefined) return unrehearsed(asked, "other calls of the program were under way");
      const { moment } = stopped;
      if (moment === undefined) return unrehearsed(asked, "the run has read too much for a rehearsal");
      // A paused program could not send its trace, so it is paused once it has stopped.
      this.#timeLimit?.open();
      const own = this.#own?.canRehearse(moment) === true ? this.#own : undefined;
      try {
        return await rehearse(moment, asked, own);
      } finally {
        own?.beginAgain(moment);
        this.#timeLimit?.close();
      }
    } finally {
      running.goOn();
    }
  }
}

/** The plan of the call in question alone. @param why phrased to follow "more may follow:". */
export function unrehearsed(asked: ApprovalRequest, why: string): Plan {
  const { tool, definitionDigest, arguments: args, argumentsDigest, claims } = asked;
  const call = { tool, server: claims?.server ?? "", definitionDigest, arguments: args, argumentsDigest };
  return planOf([{ ...call, open: [], undecided: [], asks: true, after: 0 }], why);
}
