import { isObject, writeJson } from "../../base/json.ts";
import { orAborted } from "../../base/waiting.ts";
import { RunApprovals } from "../../broker/approvals/approvals.ts";
import type { CallInterceptor } from "../../broker/call-interceptors.ts";
import type { CallDispatcher, CallOutcome, RequestedCall } from "../../broker/dispatcher.ts";
import { leavesOf, memberPath } from "../../broker/flow/folded-text.ts";
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
import { bitsOfTypes, learn, namedMembers, newShape, OtherData, type Shape, textsIn } from "./other-data.ts";
import { type ProgramWords, wordsOf } from "./program-words.ts";

/**
 * Finds out by experiment whether a value of a call depends on what its program has read. The program runs again up to that call, in
 * a separate sandbox. Its calls get their recorded answers, except that in the place of answers with a label in question there is other
 * data (`other-data.ts`), of which nothing but the types comes from the answer. No server is called, and nothing is kept.
 *
 * A value is independent if it is the same in each run that reaches the call, of which there have to be several: whatever the other
 * data is, and so whatever a stranger may have written, the program comes to this value or does not make the call. A value that changes
 * depends on the data. So does a value that the experiment cannot decide, because the program did not reach the call again, or time or
 * tries ran out.
 */

/** How often a program runs again at most for a call, and how many of these runs have to reach the call. */
const MAX_TRIES = 8;
const MIN_REACHED = 2;
/** The same for a value of fewer letters and digits, which chance may bring about. */
const MIN_REACHED_IF_SHORT = 3;
const SHORT_CHARS = 3;
/** What the types of an answer may say of a value is compared with what the value says. */
const BITS_PER_LETTER = 5;
const BITS_PER_DIGIT = 3.3;
/** From this run on members are missing and added by chance, too. One of the runs that reach the call has to be of this kind. */
const FIRST_WILD = 2;
const MAX_EXPERIMENTS = 8;
const MAX_RUN_MS = 10_000;
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const MAX_LEAVES = 5_000;
/** Stands for whether the call is made at all, among the paths of its values. */
const CALL_MADE = "()";
/** How many runs have to reach a call whose being made is in question: each of them may come about by chance. */
const MIN_REACHED_IF_MADE = 8;
const MAX_KNOWN = 2_000;
/** A run that makes more calls than these, and than the recorded one, goes nowhere. */
const MIN_CALLS = 100;

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
  readonly arguments: string;
  outcome?: CallOutcome;
}

/** The experiments of one run. */
export class Experiments {
  readonly #parts: ExperimentParts;
  readonly #startedMs: number;
  /** The calls of the run, by their numbers from 1. */
  readonly #calls = new Map<number, HeldCall>();
  #bytes = 0;
  #made = 0;

  /** @param wallMs when the program was started, in milliseconds since 1970. */
  constructor(parts: ExperimentParts, wallMs: number) {
    this.#parts = parts;
    this.#startedMs = parts.environment.replay?.started_ms ?? wallMs;
  }

  /** Holds the answers to calls. */
  readonly aroundCalls: CallInterceptor = (next) => async (call, run) => {
    const held: HeldCall = { tool: call.tool, arguments: writeJson(call.arguments) ?? "" };
    if (run.seq !== undefined) this.#calls.set(run.seq, held);
    const outcome = await next(call, run);
    this.#bytes += outcome.bytes;
    if (this.#bytes <= MAX_HELD_BYTES) held.outcome = outcome;
    return outcome;
  };

  /** Tells for each value of a call whether it is the same whatever the data with these labels is. */
  readonly try: Experiment = async (call, paths, labels) => {
    const none = new Map<string, boolean>();
    if (this.#bytes > MAX_HELD_BYTES || this.#made >= MAX_EXPERIMENTS) return none;
    this.#made++;
    const wanted = valuesAt(call.arguments, paths);
    const trial = new Trial(call, this.#calls, this.#parts, { labels, wanted });
    const changed = new Set<string>();
    let reached = 0;
    let isWildReached = false;
    const hasShort = [...wanted.values()].some(isShort);
    const isOfMaking = paths.includes(CALL_MADE);
    const least = isOfMaking ? MIN_REACHED_IF_MADE : hasShort ? MIN_REACHED_IF_SHORT : MIN_REACHED;
    for (let tried = 0; tried < MAX_TRIES && !paths.every((path) => changed.has(path)); ) {
      const missing = Math.max(least - reached, isWildReached ? 0 : 1);
      if (missing === 0) break;
      const seeds = Array.from({ length: Math.min(missing, MAX_TRIES - tried) }, () => ++tried);
      const again = await Promise.all(
        seeds.map((seed) => this.#argumentsAgain(trial.answers(seed, seed >= FIRST_WILD))),
      );
      for (const [index, args] of again.entries()) {
        if (args === undefined) {
          changed.add(CALL_MADE);
          continue;
        }
        reached++;
        isWildReached ||= (seeds[index] ?? 0) >= FIRST_WILD;
        const values = valuesAt(args.value, paths);
        for (const path of paths) if (values.get(path) !== wanted.get(path)) changed.add(path);
      }
    }
    const isDecided = reached >= least && isWildReached;
    return new Map(paths.map((path) => [path, isDecided && !changed.has(path)]));
  };

  /** The arguments of the same call in another run of the program; `undefined` when that run does not reach the call. */
  #argumentsAgain(answers: TrialAnswers): Promise<{ value: unknown } | undefined> {
    return new Promise((resolve) => {
      const stop = new AbortController();
      const end = (found: { value: unknown } | undefined) => {
        resolve(found);
        stop.abort();
      };
      // The caller gets the arguments before the sandbox has ended.
      this.#runAgain(answers(end), stop.signal)
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
          approvals: new RunApprovals("", NOBODY),
          recording: undefined,
          suspension: undefined,
          observers: [],
          signal: ends,
          faulted: signal,
          elapsedMs: () => 0,
        },
        prepared,
        output,
        timeLimit: new TimeLimit(MAX_RUN_MS, clock),
        environment: { ...environment, replay },
      });
    } finally {
      await sandbox.dispose();
    }
  }
}

const NOBODY = { ask: async () => ({ decision: "denied" as const, by: "experiment" }) };

/** Makes a dispatcher, which hands over the arguments of the call in question, or `undefined` if the run goes nowhere. */
type TrialAnswers = (end: (found: { value: unknown } | undefined) => void) => CallDispatcher;

/** How a tool has answered with data that has a label in question. */
interface LearnedTool {
  readonly data: Shape;
  readonly raw: Shape;
  readonly outcomes: CallOutcome[];
}

/** What the runs of one experiment share. */
class Trial {
  readonly #target: Pick<FlowingCall, "tool" | "seq">;
  readonly #calls: ReadonlyMap<number, HeldCall>;
  readonly #parts: ExperimentParts;
  readonly #labels: readonly string[];
  readonly #words: ProgramWords;
  readonly #known: readonly string[];
  readonly #learned = new Map<string, LearnedTool>();
  readonly #mixed: readonly Shape[] | undefined;
  readonly #isOfMaking: boolean;
  readonly #seqsOf = new Map<string, number[]>();

  constructor(
    target: Pick<FlowingCall, "tool" | "seq">,
    calls: ReadonlyMap<number, HeldCall>,
    parts: ExperimentParts,
    { labels, wanted }: { labels: readonly string[]; wanted: ReadonlyMap<string, string> },
  ) {
    this.#target = target;
    this.#calls = calls;
    this.#parts = parts;
    this.#labels = labels;
    this.#isOfMaking = wanted.has(CALL_MADE);
    const asked = [...wanted.values()]
      .flatMap((value) => value.split("\n"))
      .map((value) => value.replaceAll(/^"|"$/g, ""));
    this.#words = wordsOf(parts.program.code, asked);
    const sorted = [...calls].sort(([a], [b]) => a - b);
    for (const [seq, { tool }] of sorted) this.#seqsOf.set(tool, [...(this.#seqsOf.get(tool) ?? []), seq]);
    const isPart = (text: string) =>
      asked.some(
        (value) =>
          value.toLowerCase().includes(text.toLowerCase()) ||
          text.toLowerCase().includes(value.toLowerCase()),
      );
    this.#known = sorted
      .flatMap(([seq, { outcome }]) =>
        outcome === undefined || this.#isInQuestion(seq) || this.#mayBeInQuestion(seq)
          ? []
          : textsIn(dataOf(outcome), MAX_KNOWN),
      )
      .filter((text) => !isPart(text))
      .slice(0, MAX_KNOWN);
    for (const [seq, { tool, outcome }] of sorted) {
      if (outcome === undefined || !(this.#isInQuestion(seq) || this.#mayBeInQuestion(seq))) continue;
      const learned = this.#learned.get(tool) ?? { data: newShape(), raw: newShape(), outcomes: [] };
      this.#learned.set(tool, learned);
      learned.outcomes.push(outcome);
      if ("data" in outcome) learn(learned.data, outcome.data, this.#words, this.#known);
      if ("raw" in outcome) learn(learned.raw, outcome.raw, this.#words, this.#known);
    }
    this.#mixed = this.#mayBeOfTypes(
      [...wanted].flatMap(([path, value]) => (path === CALL_MADE ? [] : [value])),
    );
  }

  /** The shapes to mix, if the types of what was read may say all that one of these values says. */
  #mayBeOfTypes(values: readonly string[]): readonly Shape[] | undefined {
    const named = [...this.#learned.values()].flatMap(({ data }) => namedMembers(data));
    const present = new Set(named.map(({ name }) => name));
    const absent = [...this.#words.asked].filter((name) => !present.has(name)).length;
    const shapes = named.map(({ shape }) => shape);
    const bits = bitsOfTypes(shapes, absent);
    return values.some((value) => !isShort(value) && bits >= bitsOf(value)) ? shapes : undefined;
  }

  #isInQuestion(seq: number): boolean {
    return this.#parts.flow.labelsOfCall(seq).certain.some((label) => this.#labels.includes(label));
  }

  /** Whether an answer is another's only if what its tool was sent is. */
  #mayBeInQuestion(seq: number): boolean {
    return this.#parts.flow.labelsOfCall(seq).possible.some((label) => this.#labels.includes(label));
  }

  /** The answers of one run. Calls match by their arguments, or by their position among the calls of the same tool. */
  answers(seed: number, isWild: boolean): TrialAnswers {
    const seqs = this.#seqsOf.get(this.#target.tool) ?? [];
    const targetIndex = seqs.indexOf(this.#target.seq);
    const other = new OtherData({
      seed,
      isWild,
      words: this.#words,
      known: this.#known,
      mixed: isWild ? this.#mixed : undefined,
      isOfAbsence: isWild && this.#isOfMaking,
      minItems: Math.max(targetIndex + 1, 2),
    });
    const indexes = new Map<string, number>();
    const maxCalls = MIN_CALLS + 2 * this.#calls.size;
    let made = 0;
    const never = (signal: AbortSignal) =>
      orAborted(new Promise<never>(() => {}), signal, () => new Error("over"));
    return (end) => ({
      dispatch: async ({ tool, arguments: args }: RequestedCall, { signal }) => {
        const index = indexes.get(tool) ?? 0;
        indexes.set(tool, index + 1);
        const isTarget = tool === this.#target.tool && index === targetIndex;
        const outcome = isTarget ? undefined : this.#answerTo(tool, index, writeJson(args) ?? "", other);
        if (outcome !== undefined && ++made <= maxCalls) return outcome;
        end(isTarget ? { value: args } : undefined);
        return never(signal);
      },
    });
  }

  #answerTo(tool: string, index: number, args: string, other: OtherData): CallOutcome | undefined {
    const seqs = (this.#seqsOf.get(tool) ?? []).filter((seq) => this.#calls.get(seq)?.outcome !== undefined);
    const isSame = (each: number | undefined) =>
      each !== undefined && this.#calls.get(each)?.arguments === args;
    const inPlace = seqs[Math.min(index, seqs.length - 1)];
    const same = isSame(inPlace) ? inPlace : seqs.find((each) => isSame(each) && !this.#isInQuestion(each));
    const seq = same ?? inPlace;
    const outcome = seq === undefined ? undefined : this.#calls.get(seq)?.outcome;
    if (seq === undefined || outcome === undefined) return undefined;
    const learned = this.#learned.get(tool);
    const isOther = this.#isInQuestion(seq) || (this.#mayBeInQuestion(seq) && same === undefined);
    if (!isOther || learned === undefined) return outcome;
    const parts = this.#parts.flow.partsOfCall(seq);
    return parts === undefined || !outcome.ok
      ? this.#isOfMaking && other.oneOf([true, false])
        ? otherwise(outcome, learned, other)
        : otherOutcome(learned, other)
      : { ...outcome, data: this.#otherParts(outcome.data, parts, other), raw: other.of(learned.raw) };
  }

  /**
   * An answer with other data in the parts that have a label in question. The parts without one stay. A list or object that has the label
   * itself, and nothing in it that stays, is other data as a whole; in a list with the label there are more or fewer items.
   */
  #otherParts(
    value: unknown,
    labelsOf: (path: string) => readonly string[],
    other: OtherData,
    path = "",
  ): unknown {
    const isOther = (at: string) => labelsOf(at).some((label) => this.#labels.includes(label));
    // What is no list and no object has no parts: the path of a whole answer is that of what no field names.
    const isOwn = isOther(path === "" && typeof value === "object" ? "[0]" : path);
    if (isOwn && leavesOf(value, MAX_LEAVES).leaves.every((leaf) => isOther(within(path, leaf.path)))) {
      const shape = newShape();
      learn(shape, value, this.#words, this.#known);
      return other.of(shape);
    }
    if (Array.isArray(value)) {
      const count = isOwn
        ? (other.oneOf([value.length, value.length + 1, 2 * value.length, Math.max(1, value.length - 1)]) ??
          0)
        : value.length;
      const items = Array.from(
        { length: value.length === 0 ? 0 : count },
        (_, index) => index % value.length,
      );
      return items.map((index) => this.#otherParts(value[index], labelsOf, other, `${path}[${index}]`));
    }
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        this.#otherParts(member, labelsOf, other, memberPath(path, name)),
      ]),
    );
  }
}

/** The path of a part of what is at another path. */
function within(path: string, part: string): string {
  if (path === "" || part === "" || part.startsWith("[")) return `${path}${part}`;
  return `${path}.${part}`;
}

function dataOf(outcome: CallOutcome): unknown {
  return "data" in outcome ? outcome.data : undefined;
}

function otherOutcome({ data, raw, outcomes }: LearnedTool, other: OtherData): CallOutcome {
  const outcome = other.oneOf(outcomes);
  if (outcome.ok) return { ...outcome, data: other.of(data), raw: other.of(raw) };
  const { error } = outcome;
  return {
    ...outcome,
    error: { ...error, message: other.message() },
    ...("data" in outcome ? { data: other.of(data) } : {}),
    ...("raw" in outcome ? { raw: other.of(raw) } : {}),
  };
}

/** What a call comes to that has always failed: something. A call that has succeeded comes to other data. */
function otherwise(outcome: CallOutcome, learned: LearnedTool, other: OtherData): CallOutcome {
  if (learned.outcomes.some(({ ok }) => ok)) return otherOutcome(learned, other);
  const { decision, bytes } = outcome;
  return { ok: true, data: other.something(), raw: { content: [] }, decision, bytes };
}

/** Whether chance may bring a value about. */
function isShort(value: string): boolean {
  return value.replaceAll(/[^\p{L}\p{N}]/gu, "").length < SHORT_CHARS;
}

/** How much a value says, in bits. */
function bitsOf(value: string): number {
  const digits = value.match(/\d/g)?.length ?? 0;
  const others = value.match(/[^\d\s"]/gu)?.length ?? 0;
  return digits * BITS_PER_DIGIT + others * BITS_PER_LETTER;
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
