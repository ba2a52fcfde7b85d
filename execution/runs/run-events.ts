import type { CallDecision } from "../../protocol/call-decision.ts";
import type { FailureType } from "../../protocol/failure.ts";
import type { RunContext } from "../../protocol/run-context.ts";

/** The run that an event belongs to. */
interface OfRun {
  readonly runId: string;
  readonly context: RunContext;
}

/** An event of a run. It holds no secrets, no arguments and no results, and tool names of limited length. */
export type RunEvent = OfRun &
  (
    | { readonly kind: "started" }
    /** A call has begun; `seq` is its number within the run. */
    | { readonly kind: "call-started"; readonly seq: number; readonly tool: string }
    /** A call has ended. These events come in the order of the ends, shortly after each; the next call may have begun. */
    | {
        readonly kind: "call-ended";
        readonly seq: number;
        readonly tool: string;
        readonly durationMs: number;
        readonly decision: CallDecision;
        /** The type of the call's failure; absent when it succeeded. */
        readonly failure?: FailureType;
      }
    /** The approver is asked about a call of this tool. */
    | { readonly kind: "question-asked"; readonly tool: string }
    | {
        readonly kind: "question-answered";
        readonly tool: string;
        /** `later`: the run is suspended until there is an answer. `withdrawn`: the question was closed without one. */
        readonly decision: "once" | "run" | "denied" | "later" | "withdrawn";
      }
    /** A server asks the person something in the middle of a call. */
    | { readonly kind: "elicitation-asked"; readonly server: string }
    | {
        readonly kind: "elicitation-answered";
        readonly server: string;
        /** `unasked`: nobody can be asked. `withdrawn`: the question was closed without an answer. */
        readonly action: "accept" | "decline" | "cancel" | "unasked" | "withdrawn";
      }
    /** The run has ended and its envelope is complete. No event of this run follows. */
    | {
        readonly kind: "ended";
        readonly outcome: "ok" | FailureType;
        readonly durationMs: number;
        readonly toolCalls: number;
      }
  );

/**
 * What people see of a run while it goes on, besides its events. It is for those who may read the run: it has no secrets, and it has
 * the text of the program and what the program prints.
 */
export type RunView = OfRun &
  (
    | {
        readonly kind: "began";
        /** Milliseconds since 1970. */
        readonly at: number;
        /** Its text is absent where a call is made without a program. */
        readonly program: {
          readonly fileName: string;
          readonly language: string;
          readonly code?: string | undefined;
        };
      }
    /** Console text, as far as the limits of the run keep it. */
    | { readonly kind: "printed"; readonly stream: "out" | "err"; readonly text: string }
  );

/** Replaces the events that a listener was too slow for. */
export interface MissedEvents {
  readonly kind: "missed";
  readonly count: number;
}

/** Receives events. It may be slow or fail: neither the run nor another listener is affected. */
export type RunListener = (event: RunEvent | MissedEvents) => void | Promise<void>;

/** Receives what people see of runs, as a `RunListener` receives events. */
export type RunWatcher = (event: RunEvent | RunView | MissedEvents) => void | Promise<void>;
