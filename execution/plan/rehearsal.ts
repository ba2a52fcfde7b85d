import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/faults.ts";
import { writeJson } from "../../base/json.ts";
import { orAborted } from "../../base/waiting.ts";
import { type ApprovalRequest, RunApprovals } from "../../broker/approvals/approvals.ts";
import type { Plan } from "../../broker/approvals/plan.ts";
import type { CallDispatcher, CallOutcome, RehearsedCall } from "../../broker/dispatcher.ts";
import { withExactNumbers } from "../../broker/exact-numbers.ts";
import { changesSomething } from "../../broker/policy/data-flow.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { Prepared } from "../../languages/prepare-program.ts";
import type { Program } from "../../languages/program.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { MAX_CLAIM_FAILURE_BYTES } from "../../protocol/limits.ts";
import type { ProgramEnvironment } from "../../protocol/messages.ts";
import { PROGRAMS_MODULE } from "../../protocol/tool-names.ts";
import type { SandboxSource, SandboxUse } from "../../sandbox/sandbox.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import type { CallObserver } from "../call-log.ts";
import type { Surroundings } from "../interceptors.ts";
import type { Outcome } from "../outcome.ts";
import { maxResultBytes, RunnerOutput } from "../output/runner-output.ts";
import { type OpenRehearsal, unrehearsed } from "../planning.ts";
import type { RunScope } from "../run.ts";
import { runInside } from "../run-inside.ts";
import { ResumedCalls } from "../suspension/resumed-calls.ts";
import type { SuspendedRun } from "../suspension/suspended-run.ts";
import type { Moment } from "../suspension/suspension.ts";
import { TimeLimit } from "../time-limit.ts";
import { makePlan, type NotedCall, type OtherCall } from "./make-plan.ts";
import { StandIns } from "./stand-ins.ts";

/**
 * Finds out what a program will change, before anything is changed. When the program reaches a call that a person has to approve, it
 * runs again in two sandboxes of their own, up to that call with the answers that it got, and from there on in rehearsal: calls that only
 * read are made, and a call that may change something gets a stand-in. The two rehearsals have different stand-ins, so that what differs
 * between them depends on answers that do not exist yet. Nothing that a rehearsal prints, emits or returns is kept.
 *
 * A program can tell that it is rehearsed, and behave otherwise. A plan promises nothing about the program: it is what a person has seen,
 * and the calls of the real run are held against it one by one (`PlanInForce`).
 */

/** How long a rehearsal may take, and how many calls it may make. */
const MAX_REHEARSAL_MS = 10_000;
const MAX_CALLS = 500;
/** How long a stand-in waits, so that calls that a program makes at once are all there before the first has its answer. */
const STAND_IN_MS = 10;

/** The parts with which a program is rehearsed. */
export interface RehearsalParts {
  readonly scope: Pick<RunScope, "limits" | "clock" | "redactor">;
  readonly program: Program;
  readonly prepared: Extract<Prepared, { ok: true }>;
  readonly environment: ProgramEnvironment;
  /** When the run began, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly sandboxes: SandboxSource;
  readonly use?: SandboxUse | undefined;
  readonly open: OpenRehearsal;
  /** Receives the calls that were made. */
  readonly observer?: CallObserver | undefined;
  /** Ends with the run. */
  readonly signal: AbortSignal;
}

/** A call of the first rehearsal, in the order in which the program made them. */
interface Entry {
  readonly seq: number;
  readonly tool: string;
  readonly arguments: unknown;
  /** How many noted calls had ended before. */
  readonly after: number;
  /** What it was, if its answer is a stand-in. */
  standIn?: { readonly tool: Tool; readonly noted?: NotedCall };
  outcome?: CallOutcome;
  readonly ended: PromiseWithResolvers<void>;
}

/** The plan of a program that has reached a call which a person has to approve. Never rejects for what a program or an engine does. */
export async function rehearse(parts: RehearsalParts, moment: Moment, asked: ApprovalRequest): Promise<Plan> {
  const stop = new AbortController();
  const ends = AbortSignal.any([parts.signal, stop.signal, AbortSignal.timeout(MAX_REHEARSAL_MS)]);
  const first = new FirstRehearsal(parts, moment, () => stop.abort());
  const second = new SecondRehearsal(first, moment);
  try {
    const rehearsed = first.run(ends).finally(() => first.end());
    const both = await Promise.allSettled([rehearsed, second.run(parts, ends)]);
    const failed = both.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  } catch (error) {
    if (ends.aborted) return unrehearsed(asked, "the rehearsal took too long");
    if (!(error instanceof SandboxError)) throw error;
    return unrehearsed(asked, `it could not be rehearsed (${messageOf(error)})`);
  } finally {
    stop.abort();
  }
  const noted = first.entries.flatMap(({ standIn }) => standIn?.noted ?? []);
  const own = noted.find(
    ({ tool, arguments: args }) => tool === asked.tool && digestOf(args ?? null) === asked.argumentsDigest,
  );
  if (own === undefined) return unrehearsed(asked, "the program did not come to this call again");
  return makePlan({
    calls: [own, ...noted.filter((call) => call !== own)],
    marks: first.standIns.marks,
    other: { calls: second.calls, answers: second.answers },
    more: first.more ?? second.more,
  });
}

/** Whether a call of the tool is not made in a rehearsal. */
function isNoted({ tool, asks }: RehearsedCall): boolean {
  return asks || tool.module === PROGRAMS_MODULE || changesSomething(tool);
}

class FirstRehearsal {
  readonly entries: Entry[] = [];
  readonly standIns = new StandIns(false);
  /** Why the program did not get to its end. */
  more: string | undefined;
  readonly #parts: RehearsalParts;
  readonly #moment: Moment;
  readonly #stop: () => void;
  readonly #ofTool = new Map<string, Entry[]>();
  #waiting: (() => void)[] = [];
  #isOver = false;
  #ended = 0;

  constructor(parts: RehearsalParts, moment: Moment, stop: () => void) {
    this.#parts = parts;
    this.#moment = moment;
    this.#stop = stop;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { dispatcher, surroundings } = this.#parts.open(this.#moment, (call, ends) =>
      this.#answer(call, ends),
    );
    const outcome = await runAgain(this.#parts, this.#moment, signal, {
      surroundings,
      observers: this.#parts.observer === undefined ? [] : [this.#observer(this.#parts.observer)],
      dispatcher: {
        dispatch: async (call, run) => {
          const entry = this.#begin(call.tool, call.arguments, run.seq ?? this.entries.length + 1);
          if (this.entries.length > MAX_CALLS) {
            this.more = `it makes more than ${MAX_CALLS} calls`;
            this.#stop();
            return never(run.signal);
          }
          entry.outcome = await dispatcher.dispatch(call, run);
          entry.ended.resolve();
          return entry.outcome;
        },
      },
    });
    if (outcome.verdict.ok) return;
    const { type } = outcome.verdict.error;
    this.more ??=
      type === "Cancelled" || type === "Timeout"
        ? "the rehearsal took too long"
        : `the rehearsal ended with ${type}, which the real run may not`;
  }

  /** No further call comes. */
  end(): void {
    this.#isOver = true;
    for (const entry of this.entries) entry.ended.resolve();
    this.#wake();
  }

  /** The call of a tool with this index, once the program has made it; `undefined` if it never does. */
  async at(tool: string, index: number): Promise<Entry | undefined> {
    for (;;) {
      const entry = this.#ofTool.get(tool)?.[index];
      if (entry !== undefined || this.#isOver) return entry;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  #begin(tool: string, args: unknown, seq: number): Entry {
    const ended = Promise.withResolvers<void>();
    const entry: Entry = { seq, tool, arguments: args, after: this.#ended, ended };
    this.entries.push(entry);
    this.#ofTool.set(tool, [...(this.#ofTool.get(tool) ?? []), entry]);
    this.#wake();
    return entry;
  }

  async #answer(call: RehearsedCall, signal: AbortSignal) {
    const { seq, tool, arguments: args } = call;
    const isChange = isNoted(call);
    if (!isChange && !this.standIns.isIn(args)) return undefined;
    const entry = this.entries.find((each) => each.seq === seq);
    if (entry === undefined) return undefined;
    const { namespacedName, server, definitionDigest } = tool;
    const { asks, rule, reason } = call;
    const noted = {
      ...{ seq, tool: namespacedName, server, definitionDigest, arguments: args, after: entry.after },
      ...{ asks, rule, reason },
    };
    entry.standIn = isChange ? { tool, noted } : { tool };
    const answer = this.standIns.answer(tool, seq, earlierAnswer(this.#moment, namespacedName));
    await delay(STAND_IN_MS, undefined, { signal }).catch(() => {});
    if (isChange) this.#ended++;
    return answer;
  }

  /** Observes the calls that reached a server. */
  #observer(observer: CallObserver): CallObserver {
    return {
      onCall: (call) => {
        const entry = this.entries.find(({ seq }) => seq === call.seq);
        return entry === undefined || entry.standIn !== undefined ? undefined : observer.onCall?.(call);
      },
    };
  }
}

/** Runs with other stand-ins beside the first rehearsal, whose other answers it gets. It calls no server. */
class SecondRehearsal {
  /** Its calls that got a stand-in, by the number of the same call in the first rehearsal. */
  readonly calls = new Map<number, OtherCall>();
  readonly answers = new Map<number, unknown>();
  /** Why it did not come to the same end as the first one. */
  more: string | undefined;
  readonly #first: FirstRehearsal;
  readonly #moment: Moment;
  readonly #standIns = new StandIns(true);

  constructor(first: FirstRehearsal, moment: Moment) {
    this.#first = first;
    this.#moment = moment;
  }

  async run(parts: RehearsalParts, signal: AbortSignal): Promise<void> {
    const parted = new AbortController();
    const indexes = new Map<string, number>();
    const part = (ends: AbortSignal) => {
      this.more = "what the program does depends on what the calls before it answer";
      parted.abort();
      return never(ends);
    };
    const outcome = await runAgain(parts, this.#moment, AbortSignal.any([signal, parted.signal]), {
      surroundings: {},
      observers: [],
      dispatcher: {
        dispatch: async ({ tool, arguments: args }, run): Promise<CallOutcome> => {
          const index = indexes.get(tool) ?? 0;
          indexes.set(tool, index + 1);
          const entry = await this.#first.at(tool, index);
          if (entry === undefined) return part(run.signal);
          await orAborted(entry.ended.promise, run.signal, () => new Error("over"));
          if (entry.standIn !== undefined) {
            const exact = withExactNumbers(entry.standIn.tool.inputSchema, args);
            this.calls.set(entry.seq, { arguments: exact });
            const answer = this.#standIns.answer(
              entry.standIn.tool,
              entry.seq,
              earlierAnswer(this.#moment, tool),
            );
            if (answer.ok) this.answers.set(entry.seq, answer.data);
            await delay(STAND_IN_MS, undefined, { signal: run.signal }).catch(() => {});
            return { ...answer, decision: "allowed" };
          }
          if (entry.outcome === undefined || writeJson(args) !== writeJson(entry.arguments))
            return part(run.signal);
          return entry.outcome;
        },
      },
    });
    if (!outcome.verdict.ok) this.more ??= "what the program does depends on what the calls before it answer";
  }
}

/** Runs the program again from a moment of its run, in another sandbox. Rejects when no sandbox can be acquired. */
async function runAgain(
  parts: RehearsalParts,
  moment: Moment,
  signal: AbortSignal,
  {
    dispatcher,
    surroundings,
    observers,
  }: { dispatcher: CallDispatcher; surroundings: Surroundings; observers: readonly CallObserver[] },
): Promise<Outcome> {
  const { scope, program, prepared, environment, sandboxes, use, startedAt } = parts;
  const { limits, clock, redactor } = scope;
  const parted = new AbortController();
  const ends = AbortSignal.any([signal, parted.signal]);
  const run = { calls: moment.calls } as SuspendedRun;
  const calls = new ResumedCalls({ run, goLive: async () => undefined }, () => parted.abort());
  const mostBytes = maxResultBytes(limits) + MAX_CLAIM_FAILURE_BYTES;
  const output = new RunnerOutput(limits, mostBytes, () => {}, redactor);
  const {
    started_ms,
    clock: readings,
    events,
  } = moment.trace ?? { started_ms: startedAt, clock: "", events: "" };
  const sandbox = await sandboxes.acquire(
    { onStdout: (chunk) => output.onStdout(chunk), onStderr: (chunk) => output.onStderr(chunk) },
    ends,
    use,
  );
  try {
    return await runInside(sandbox, {
      scope: { dispatcher, surroundings, limits, clock, program },
      run: {
        ...{ approvals: new RunApprovals("", NOBODY), recording: undefined, suspension: undefined },
        ...{ observers, signal: ends, faulted: signal, elapsedMs: () => 0 },
      },
      ...{ prepared, output, calls, timeLimit: new TimeLimit(MAX_REHEARSAL_MS, clock) },
      environment: { ...environment, replay: { started_ms, clock: readings, events, resumes: true } },
    });
  } finally {
    await sandbox.dispose();
  }
}

const NOBODY = { ask: async () => ({ decision: "denied" as const, by: "rehearsal" }) };

/** What the tool answered last in the run. */
function earlierAnswer({ calls }: Moment, tool: string): unknown {
  const outcome = calls.findLast((call) => call.tool === tool && call.outcome?.ok === true)?.outcome;
  return outcome?.ok === true ? outcome.data : undefined;
}

function never(signal: AbortSignal): Promise<never> {
  return orAborted(new Promise<never>(() => {}), signal, () => new Error("over"));
}
