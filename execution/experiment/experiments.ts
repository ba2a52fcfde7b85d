import { writeJson } from "../../base/json.ts";
import { orAborted } from "../../base/waiting.ts";
import { RunApprovals } from "../../broker/approvals/approvals.ts";
import type { CallInterceptor } from "../../broker/call-interceptors.ts";
import type { CallDispatcher, CallOutcome, RequestedCall } from "../../broker/dispatcher.ts";
import { leavesOf } from "../../broker/flow/folded-text.ts";
import type { Experiment, FlowingCall, RunFlow } from "../../broker/flow/run-flow.ts";
import type { Prepared } from "../../languages/prepare-program.ts";
import type { Program } from "../../languages/program.ts";
import { MAX_CLAIM_FAILURE_BYTES } from "../../protocol/limits.ts";
import type { ProgramEnvironment } from "../../protocol/messages.ts";
import type { SandboxSource, SandboxUse } from "../../sandbox/sandbox.ts";
import { maxResultBytes, RunnerOutput } from "../output/runner-output.ts";
import type { RunScope } from "../run.ts";
import { runInside } from "../run-inside.ts";
import { TimeLimit } from "../time-limit.ts";
import { type Variation, vary, wordsOf } from "./vary.ts";
import { varyParts } from "./vary-parts.ts";

/**
 * Finds out by experiment whether a value of a call depends on what its program has read. The program runs again up to that call, in
 * a separate sandbox. Its calls get their recorded answers, except that answers with labels carry other values. No server is called,
 * and nothing is kept. A value that stays the same each time does not depend on the labelled answers. A value that changes does. So
 * does a value that the experiment cannot decide, because the program did not reach the call again, or time or tries ran out.
 */

/** A program runs again once with the answers of each seed. */
const SEEDS = [1, 2] as const;
const MAX_EXPERIMENTS = 8;
const MAX_RUN_MS = 10_000;
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const MAX_LEAVES = 5_000;

/** The parts with which a program runs again. */
export interface ExperimentParts {
  readonly scope: Pick<RunScope, "limits" | "clock" | "redactor">;
  readonly program: Program;
  readonly prepared: Extract<Prepared, { ok: true }>;
  readonly environment: ProgramEnvironment;
  readonly sandboxes: SandboxSource;
  readonly use?: SandboxUse | undefined;
  readonly flow: RunFlow;
  /** Ends with the run. */
  readonly signal: AbortSignal;
}

interface HeldCall {
  readonly tool: string;
  outcome?: CallOutcome;
}

/** The experiments of one run. */
export class Experiments {
  readonly #parts: ExperimentParts;
  readonly #startedMs: number;
  readonly #words: ReadonlySet<string>;
  /** The calls of the run, by their numbers from 1. */
  readonly #calls = new Map<number, HeldCall>();
  #bytes = 0;
  #made = 0;

  /** @param wallMs when the program was started, in milliseconds since 1970. */
  constructor(parts: ExperimentParts, wallMs: number) {
    this.#parts = parts;
    this.#startedMs = parts.environment.replay?.started_ms ?? wallMs;
    this.#words = wordsOf(parts.program.code);
  }

  /** Holds the answers to calls. */
  readonly aroundCalls: CallInterceptor = (next) => async (call, run) => {
    const held: HeldCall = { tool: call.tool };
    if (run.seq !== undefined) this.#calls.set(run.seq, held);
    const outcome = await next(call, run);
    this.#bytes += outcome.bytes;
    if (this.#bytes <= MAX_HELD_BYTES) held.outcome = outcome;
    return outcome;
  };

  /** Tells for each value of a call whether it stays the same when the values that the program read change. */
  readonly try: Experiment = async (call, paths) => {
    const none = new Map<string, boolean>();
    if (this.#bytes > MAX_HELD_BYTES || this.#made >= MAX_EXPERIMENTS) return none;
    this.#made++;
    const wanted = valuesAt(call.arguments, paths);
    const again = await Promise.all(
      SEEDS.map((seed) => this.#argumentsAgain(call, this.#variationFor(wanted, seed))),
    );
    const found = again.map((args) => args && valuesAt(args.value, paths));
    return new Map(
      paths.map((path) => [path, found.every((values) => values?.get(path) === wanted.get(path))]),
    );
  };

  /** Words of the values that are asked about are never kept. */
  #variationFor(wanted: ReadonlyMap<string, string>, seed: number): Variation {
    // Whether a call is made may depend on each word and truth value that the program looks for.
    if (wanted.has("()")) return { seed, kept: new Set(), turnsTruth: seed % 2 === 0 };
    const asked = [...wanted.values()].join(" ").toLowerCase();
    const kept = new Set([...this.#words].filter((word) => !asked.includes(word)));
    return { seed, kept, turnsTruth: /\b(?:true|false)\b/.test(asked) };
  }

  /** The arguments of the same call in another run of the program; `undefined` when that run does not reach the call. */
  #argumentsAgain(target: FlowingCall, variation: Variation): Promise<{ value: unknown } | undefined> {
    return new Promise((resolve) => {
      const stop = new AbortController();
      const onReached = (value: unknown) => {
        resolve({ value });
        stop.abort();
      };
      // The caller gets the arguments before the sandbox has ended.
      this.#runAgain(this.#answersFor(target, variation, onReached), stop.signal)
        .catch(() => {})
        .finally(() => resolve(undefined));
    });
  }

  /** Runs the program again until it ends or the signal aborts. Rejects when no sandbox can be acquired. */
  async #runAgain(dispatcher: CallDispatcher, stop: AbortSignal): Promise<void> {
    const { scope, program, prepared, environment, sandboxes, use, signal } = this.#parts;
    const { limits, clock, redactor } = scope;
    const ends = AbortSignal.any([signal, stop, AbortSignal.timeout(MAX_RUN_MS)]);
    const output = new RunnerOutput(
      limits,
      maxResultBytes(limits) + MAX_CLAIM_FAILURE_BYTES,
      () => {},
      redactor,
    );
    const replay = { started_ms: this.#startedMs, clock: "", events: "" };
    const sandbox = await sandboxes.acquire(
      { onStdout: (chunk) => output.onStdout(chunk), onStderr: (chunk) => output.onStderr(chunk) },
      ends,
      use,
    );
    try {
      await runInside(sandbox, {
        scope: { dispatcher, limits, clock, program },
        run: {
          ...{ approvals: new RunApprovals("", NOBODY), recording: undefined, suspension: undefined },
          ...{ observers: [], signal: ends, faulted: signal, elapsedMs: () => 0 },
        },
        ...{ prepared, output, timeLimit: new TimeLimit(MAX_RUN_MS, clock) },
        environment: { ...environment, replay },
      });
    } finally {
      await sandbox.dispose();
    }
  }

  /** Answers calls with their recorded answers. Calls match by their position among the calls of the same tool. */
  #answersFor(
    target: Pick<FlowingCall, "tool" | "seq">,
    variation: Variation,
    onReached: (args: unknown) => void,
  ): CallDispatcher {
    const seqsOf = new Map<string, number[]>();
    for (const [seq, { tool }] of [...this.#calls].sort(([a], [b]) => a - b))
      seqsOf.set(tool, [...(seqsOf.get(tool) ?? []), seq]);
    const never = (signal: AbortSignal) =>
      orAborted(new Promise<never>(() => {}), signal, () => new Error("over"));
    return {
      dispatch: async ({ tool, arguments: args }: RequestedCall, { signal }) => {
        const seq = seqsOf.get(tool)?.shift();
        if (seq === target.seq) {
          onReached(args);
          return never(signal);
        }
        const outcome = seq === undefined ? undefined : this.#calls.get(seq)?.outcome;
        if (seq === undefined || outcome === undefined) return never(signal);
        const { flow } = this.#parts;
        if (flow.labelsOfCall(seq).length === 0) return outcome;
        return varyOutcome(outcome, variation, flow.labelledPartsOfCall(seq));
      },
    };
  }
}

const NOBODY = { ask: async () => ({ decision: "denied" as const, by: "experiment" }) };

function varyOutcome(
  outcome: CallOutcome,
  variation: Variation,
  isLabelled: (path: string) => boolean = () => true,
): CallOutcome {
  if (outcome.ok)
    return {
      ...outcome,
      data: varyParts(outcome.data, variation, isLabelled),
      raw: vary(outcome.raw, variation),
    };
  const { error } = outcome;
  return {
    ...outcome,
    error: { ...error, message: String(vary(error.message, variation)) },
    ...("data" in outcome ? { data: vary(outcome.data, variation) } : {}),
    ...("raw" in outcome ? { raw: vary(outcome.raw, variation) } : {}),
  };
}

/** The values at each path, as text for comparison. */
function valuesAt(args: unknown, paths: readonly string[]): Map<string, string> {
  const values = new Map<string, string>(paths.map((path) => [path, ""]));
  for (const { path, value } of leavesOf(args, MAX_LEAVES).leaves) {
    const known = values.get(path);
    if (known !== undefined) values.set(path, `${known}${writeJson(value)}\n`);
  }
  return values;
}
