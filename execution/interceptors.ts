import { returnedBytes } from "../archive/run-summary.ts";
import { estimateTokens } from "../base/quantities.ts";
import type { RequiredProof } from "../broker/approvals/approvals.ts";
import {
  provenOnly,
  type QuestionInterceptor,
  redactQuestions,
} from "../broker/approvals/question-interceptors.ts";
import {
  announceFirstCall,
  type CallAllowance,
  type CallInterceptor,
  type LoginAddress,
  limitExtracts,
  limitUse,
  offerLogins,
  passTraceOn,
  type StartLogin,
} from "../broker/call-interceptors.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { TraceContext } from "../protocol/trace-context.ts";
import type { Redactor } from "../secrets/redaction.ts";
import type { TracedRun } from "../telemetry/telemetry.ts";
import type { OnCallProgress } from "../upstream/upstream.ts";
import type { CallLog } from "./call-log.ts";
import type { RunReporter } from "./runs/report-run.ts";
import type { KeptCalls } from "./suspension/kept-calls.ts";
import type { ResumedCalls } from "./suspension/resumed-calls.ts";
import { pauseWhileAsked, type TimeLimit } from "./time-limit.ts";

/** What surrounds the calls and the questions of a live run. A replay has no surroundings, because its record answers its calls. */
export interface RunSurroundings {
  /** Publishes the events of the run. */
  readonly report?: RunReporter | undefined;
  /** Sends the run to a telemetry collector. */
  readonly traced?: TracedRun | undefined;
  /** The trace of the caller. */
  readonly trace?: TraceContext | undefined;
  /** Resolves when the first call may be made. */
  readonly beforeCalls?: (() => Promise<void>) | undefined;
  /** Asks others about calls and their results (`interceptors` in ptc.yaml). */
  readonly checks?: CallInterceptor | undefined;
  readonly startLogin?: StartLogin | undefined;
  /** Where somebody logs in whose client shows no addresses. */
  readonly loginAddress?: LoginAddress | undefined;
  /** How many calls to the model a run may make, and how many it made before it was suspended. */
  readonly extracts?: { readonly maxCalls: number; readonly made: number } | undefined;
  /** What its principal has left. */
  readonly allowance?: CallAllowance | undefined;
  /** Asks a reviewer before a person, where the policy lets it answer. */
  readonly reviewing?: QuestionInterceptor | undefined;
  /** Offers approvals to `ptc approvals`. */
  readonly shareQuestions?: QuestionInterceptor | undefined;
  /** How approvals have to be proven. By default they need no proof. */
  readonly requiredProof?: RequiredProof | undefined;
}

/**
 * What surrounds each call of a run, the outermost first. A call is numbered and noted before anything can refuse it, so that
 * observers and the record have every call. A resumed run answers what it kept before anything new counts as made: neither a
 * collector nor a limit sees a call twice. The trace covers all that a call waits for: the caller's consent, a login, the server.
 * Others are asked once about a call, whether it needs a login or not, and what they refuse takes nothing of a limit. A login surrounds
 * the limits, because a call that needed a login was not made.
 */
export function callInterceptors(
  { traced, trace, beforeCalls, checks, startLogin, loginAddress, extracts, allowance }: RunSurroundings = {},
  calls: {
    log: CallLog;
    kept?: KeptCalls | undefined;
    resumed?: ResumedCalls | undefined;
    onProgress?: OnCallProgress | undefined;
    redactor?: Pick<Redactor, "redactValue"> | undefined;
    /** Holds the answers to calls, for experiments. */
    experiments?: { readonly aroundCalls: CallInterceptor } | undefined;
  },
): (CallInterceptor | undefined)[] {
  const { log, kept, resumed, onProgress, redactor, experiments } = calls;
  return [
    log.aroundCalls,
    experiments?.aroundCalls,
    kept?.aroundCalls,
    resumed?.aroundCalls,
    onProgress && redactor && reportProgress(onProgress, redactor),
    traced?.aroundCalls ?? (trace && passTraceOn(trace)),
    beforeCalls && announceFirstCall(beforeCalls),
    checks,
    startLogin && offerLogins(startLogin, loginAddress),
    extracts && limitExtracts(extracts.maxCalls, extracts.made),
    allowance && limitUse(allowance),
  ];
}

/**
 * What surrounds each question of a run to a person, the outermost first. The program's time limit pauses during all of it. Secrets
 * are removed before anybody else sees a question. A reviewer is asked before a plan is made, and before anybody hears that a question
 * waits. The innermost interceptor decides whether the client's own answer counts, so that
 * no other interceptor mistakes an invalid answer for an approval. `ptc approvals` decides this for its own answers.
 */
export function questionInterceptors(
  { traced, reviewing, report, shareQuestions, requiredProof = "any" }: RunSurroundings = {},
  { timeLimit, redact }: { timeLimit: TimeLimit | undefined; redact: (args: unknown) => unknown },
): (QuestionInterceptor | undefined)[] {
  return [
    timeLimit && pauseWhileAsked(timeLimit),
    redactQuestions(redact),
    traced?.aroundQuestions,
    requiredProof === "any" ? reviewing : undefined,
    report?.aroundQuestions,
    shareQuestions,
    requiredProof === "any" ? undefined : provenOnly(requiredProof),
  ];
}

/** Passes on the progress that a server reports for a call, without secrets. */
function reportProgress(
  onProgress: OnCallProgress,
  redactor: Pick<Redactor, "redactValue">,
): CallInterceptor {
  const redacted: OnCallProgress = (report) =>
    onProgress(redactor.redactValue(report).value as typeof report);
  return (next) => (call, run) => next(call, { ...run, onProgress: redacted });
}

/** Reports to the event listeners and the collector that the run has ended or was suspended. */
export function tellEnd(
  { report, traced }: RunSurroundings = {},
  envelope: Envelope,
  consoleText: string,
): void {
  report?.end(envelope);
  const kept = envelope.result.metrics.tool_result_bytes - returnedBytes(consoleText, envelope);
  traced?.end(envelope, estimateTokens(Math.max(0, kept)));
}
