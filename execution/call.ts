import { randomUUID } from "node:crypto";
import { messageOf } from "../base/faults.ts";
import { isObject } from "../base/json.ts";
import { interceptCalls } from "../broker/call-interceptors.ts";
import type { CallOutcome } from "../broker/dispatcher.ts";
import { isFailure } from "../broker/normalize-result.ts";
import type { Program } from "../languages/program.ts";
import { buildFailure } from "../protocol/failure.ts";
import type { ProgramEnvironment } from "../protocol/messages.ts";
import { CallLog } from "./call-log.ts";
import { callInterceptors } from "./interceptors.ts";
import { describeSuspended } from "./judge.ts";
import { limitsOf, openScope } from "./live-run.ts";
import { fail, type Suspended, type Verdict } from "./outcome.ts";
import { readAnswer } from "./output/answer-blocks.ts";
import type { ExecutedCall, ExecutedRun } from "./output/executed-run.ts";
import { programOfCall } from "./program-of-call.ts";
import {
  type Carried,
  executeRun,
  type OpenRun,
  type RunBody,
  type RunScope,
  type SealedOutcome,
} from "./run.ts";
import type { RunHost, RunTools } from "./run-host.ts";
import type { CallRequest } from "./run-request.ts";
import { environmentOf } from "./suspension/continuation.ts";
import { stoppableCall } from "./suspension/suspension.ts";

/** Makes one call as a program makes it, and records it as the run of that program. Failures are in the envelope. */
export async function makeCall(
  request: CallRequest,
  host: RunHost,
  { tools: { all: tools } }: { tools: Pick<RunTools, "all"> },
): Promise<ExecutedCall> {
  const scope = await openScope(request, host, {
    runId: randomUUID(),
    program: { language: "typescript", fileName: "call.ts", data: request.call.arguments },
    tools,
    callable: { tools, servers: host.servers },
    limits: limitsOf(host.configuration()),
  });
  const { call, withAnswer, onProgress } = request;
  return executeCall({ ...scope, call, withAnswer, onProgress, modules: tools.configured });
}

/** The scope of a single call. */
interface CallScope extends RunScope, Pick<CallRequest, "call" | "withAnswer" | "onProgress"> {
  /** The names of all server modules. */
  readonly modules: readonly string[];
}

/** The place of the call in its program, as the runner would name it in a failure. */
const PLACE = "\n    at call.ts:1:27";

/**
 * Makes one call without a sandbox, as `executeRun` does with a program: through the broker's checks and a person's approval,
 * redacted, and recorded as the run of a program of one line.
 */
function executeCall(scope: CallScope): Promise<ExecutedCall> {
  return executeRun(scope, new CallBody(scope));
}

type OwnOfCall = Omit<ExecutedCall, keyof ExecutedRun>;

class CallBody implements RunBody<OwnOfCall> {
  readonly program: Program;
  readonly environment: ProgramEnvironment = environmentOf(undefined);
  readonly typecheck = "off";
  readonly modules: RunBody<OwnOfCall>["modules"];
  readonly #scope: CallScope;
  #outcome: CallOutcome | undefined;
  #hasEnded = false;

  constructor(scope: CallScope) {
    this.#scope = scope;
    this.program = programOfCall(scope.call);
    this.modules = { archived: () => new Map(), modules: () => scope.modules };
  }

  async carryOut(run: OpenRun): Promise<Carried> {
    const { clock, signal: cancelled } = this.#scope;
    const log = new CallLog(run.observers, clock);
    let suspended: Suspended | undefined;
    let fault: unknown;
    try {
      const first = await this.#call(run, log);
      if ("ticket" in first) suspended = first;
      else this.#outcome = first;
    } catch (error) {
      fault = error;
    }
    await (suspended === undefined ? log.end() : log.abandon());
    if (run.faulted.aborted) fault = run.faulted.reason;
    this.#hasEnded = fault === undefined && !cancelled.aborted;
    const metrics = {
      duration_ms: run.elapsedMs(),
      tool_calls: 1,
      tool_result_bytes: this.#outcome?.bytes ?? 0,
    };
    const { warnings } = log;
    if (fault !== undefined) {
      const message = `the host could not continue this call: ${messageOf(fault)}`;
      return { ...fail("InternalError", message), metrics, warnings, suspended };
    }
    if (suspended !== undefined)
      return { ...fail("ApprovalPending", describeSuspended(suspended)), metrics, warnings, suspended };
    return { verdict: verdictOf(cancelled.aborted ? undefined : this.#outcome), metrics, warnings };
  }

  /** Resolves with the outcome, or with the ticket of a call that is suspended. */
  #call(run: OpenRun, log: CallLog): Promise<CallOutcome | Suspended> {
    const { call, dispatcher, surroundings, onProgress, redactor, withAnswer: seesAll } = this.#scope;
    const { approvals, recording: events, signal, suspension } = run;
    suspension?.begin(stoppableCall(call));
    const interceptors = callInterceptors(surroundings, { log, onProgress, redactor });
    const answered = interceptCalls(dispatcher, interceptors).dispatch(call, {
      approvals,
      signal,
      events,
      seesAll,
    });
    return Promise.race([answered, ...(suspension ? [suspension.suspended] : [])]);
  }

  async answer({ verdict, envelope }: SealedOutcome): Promise<OwnOfCall> {
    const { redactor, withAnswer = false } = this.#scope;
    const outcome = this.#outcome;
    const isContradicted =
      outcome?.ok === false &&
      outcome.data !== undefined &&
      !(isObject(outcome.raw) && isFailure(outcome.raw));
    return {
      answered: isContradicted ? redactor.redactValue(outcome.data).value : undefined,
      answer:
        withAnswer && this.#hasEnded && outcome?.raw !== undefined
          ? readAnswer(outcome.raw, redactor)
          : undefined,
      verdict: envelope.result.ok ? verdict : { ok: false, error: envelope.result.error },
      decision: this.#hasEnded ? outcome?.decision : undefined,
    };
  }
}

/** The verdict on the program of one call with this outcome. */
function verdictOf(outcome: CallOutcome | undefined): Verdict {
  if (outcome === undefined) return fail("Cancelled", "the run was cancelled").verdict;
  if (outcome.ok) return { ok: true, data: outcome.data, from: "result" };
  const { type, message, retryable } = outcome.error;
  return { ok: false, error: buildFailure(type, message + PLACE, retryable) };
}

/** The message of a failed call without its place in the program that it stands for. */
export function messageOfCall({ message }: { message: string }): string {
  return message.endsWith(PLACE) ? message.slice(0, -PLACE.length) : message;
}
