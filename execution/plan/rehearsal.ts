import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/faults.ts";
import { writeJson } from "../../base/json.ts";
import { orAborted } from "../../base/waiting.ts";
import { type ApprovalRequest, RunApprovals } from "../../broker/approvals/approvals.ts";
import type { Assumption, Plan } from "../../broker/approvals/plan.ts";
import type { CallOutcome, RehearsedCall } from "../../broker/dispatcher.ts";
import { withExactNumbers } from "../../broker/exact-numbers.ts";
import { changesSomething } from "../../broker/policy/data-flow.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { Prepared } from "../../languages/prepare-program.ts";
import type { Program } from "../../languages/program.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { buildFailure } from "../../protocol/failure.ts";
import { MAX_CLAIM_FAILURE_BYTES } from "../../protocol/limits.ts";
import type { ProgramEnvironment } from "../../protocol/messages.ts";
import { PROGRAMS_MODULE } from "../../protocol/tool-names.ts";
import type { SandboxSource, SandboxUse } from "../../sandbox/sandbox.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import type { CallObserver } from "../call-log.ts";
import type { Outcome, Verdict } from "../outcome.ts";
import type { DryRun } from "../output/planned-program.ts";
import { maxResultBytes, RunnerOutput } from "../output/runner-output.ts";
import { type OpenRehearsal, type OwnPlace, type Rehearsing, unrehearsed } from "../planning.ts";
import type { RunScope } from "../run.ts";
import { runInside } from "../run-inside.ts";
import { ResumedCalls } from "../suspension/resumed-calls.ts";
import type { SuspendedRun } from "../suspension/suspended-run.ts";
import type { Moment } from "../suspension/suspension.ts";
import { TimeLimit } from "../time-limit.ts";
import { isEmptyAnswer, type LateRead } from "./late-reads.ts";
import { isCutShort, makePlan, type NotedCall, type OtherCall, withAssumptions } from "./make-plan.ts";
import { Renaming } from "./renaming.ts";
import { StandIns } from "./stand-ins.ts";

/**
 * Finds out what a program will change, before anything is changed. When the program reaches a call that a person has to approve, it
 * goes on in rehearsal: calls that only read are made, and a call that may change something gets a stand-in. It does so in its own
 * sandbox (`OwnSandbox`), and else in another one, where it runs again up to that call with the answers that it got. A second rehearsal
 * in another sandbox has different stand-ins, so that what differs depends on answers that do not exist yet. There is none if nothing
 * could differ: if the program makes no further call, and its stand-in has no choice and no list. A program that does something else in
 * the second one is rehearsed once more, with other names and numbers but the same choices: what it does then is in the plan on condition
 * that real answers choose so too. A program that catches errors is also rehearsed with changes that fail at first, to find out which it
 * makes again. Nothing that a rehearsal prints, emits or returns is kept.
 *
 * A program can tell that it is rehearsed, and behave otherwise. A plan promises nothing about the program: it is what a person has seen,
 * and the calls of the real run are held against it one by one (`PlanInForce`).
 */

/** How long a rehearsal may take, if its run may take twice as long, and how many calls it may make. */
const MAX_REHEARSAL_MS = 10_000;
const MAX_CALLS = 500;
/** How many late reads that brought nothing get a stand-in. */
const MAX_FILLED = 20;
/** How long a stand-in waits, so that calls that a program makes at once are all there before the first has its answer. */
const STAND_IN_MS = 10;

/** The state of a program that has not begun. */
const BEGINNING: Moment = { calls: [], trace: undefined, insideMs: 0 };

/** The parts with which a program is rehearsed. */
export interface RehearsalParts {
  /** How long the rehearsal may take; by default half the time of the run, and `MAX_REHEARSAL_MS` at most. */
  readonly maxMs?: number | undefined;
  /** Receives the removal of each sandbox, so that no question waits for it. The promise never rejects. */
  readonly leave: (removal: Promise<void>) => void;
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
  /** What it was, if it was not made because it may change something. */
  standIn?: { readonly tool: Tool; readonly noted: NotedCall };
  /** What it was, if it is a read that comes after a change. */
  late?: Pick<LateRead, "tool" | "arguments" | "after">;
  /** Whether an answer was invented for a late read, and whether it was not made. */
  isInvented?: boolean;
  isUnsent?: boolean;
  outcome?: CallOutcome;
  /** What the second rehearsal gets of a late read. */
  renamed?: CallOutcome;
  readonly ended: PromiseWithResolvers<void>;
}

/** What rehearsals came to, before it is known what depends on the choices in stand-ins. */
interface Rehearsals {
  readonly parts: RehearsalParts;
  readonly moment: Moment;
  readonly first: FirstRehearsal;
  readonly second: SecondRehearsal;
  /** Ends all rehearsals. */
  readonly late: AbortSignal;
}

/** The plan of a program that has reached a call which a person has to approve. Never rejects for what a program or an engine does. */
export async function rehearse(
  parts: RehearsalParts,
  moment: Moment,
  asked: ApprovalRequest,
  place?: OwnPlace,
): Promise<Plan> {
  let both: Both;
  try {
    both = await rehearseAsFarAsItGoes(parts, moment, { own: place, asks: true });
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    return unrehearsed(asked, `it could not be rehearsed (${messageOf(error)})`);
  }
  if (both === "late") return unrehearsed(asked, TOO_LONG);
  const { noted } = both.first;
  const own = noted.find(
    ({ tool, arguments: args }) => tool === asked.tool && digestOf(args ?? null) === asked.argumentsDigest,
  );
  if (own === undefined) return unrehearsed(asked, "the program did not come to this call again");
  return await planFrom(both, [own, ...noted.filter((call) => call !== own)], own);
}

/** Rehearses a program from its beginning, for nobody's question. Rejects with a `SandboxError` when no sandbox can be acquired. */
export async function rehearseWhole(parts: RehearsalParts): Promise<DryRun> {
  const both = await rehearseAsFarAsItGoes(parts, BEGINNING, { asks: false });
  if (both === "late") {
    const type = parts.signal.aborted ? "Cancelled" : "Timeout";
    return { kind: "failed", error: buildFailure(type, TOO_LONG) };
  }
  const { noted, verdict, more } = both.first;
  if (noted.length > 0) return { kind: "changes", plan: await planFrom(both, noted) };
  if (verdict?.ok === true) return { kind: "unchanged" };
  if (verdict?.error.type === "Cancelled" && !parts.signal.aborted)
    return { kind: "failed", error: buildFailure("Timeout", more ?? TOO_LONG) };
  return { kind: "failed", error: verdict?.error ?? buildFailure("InternalError", more ?? TOO_LONG) };
}

const TOO_LONG = "the rehearsal took too long";

type Both = Rehearsals | "late";

/**
 * Runs both rehearsals, once more if the program failed after a late read that brought nothing: that may be what it waits for, such as
 * a message that a change sends. Then such reads get stand-ins. Rejects with a `SandboxError` when no sandbox can be acquired.
 */
async function rehearseAsFarAsItGoes(
  parts: RehearsalParts,
  moment: Moment,
  from: RehearsedFrom,
): Promise<Both> {
  const late = AbortSignal.timeout(longestMs(parts));
  const both = await rehearseTwice(parts, moment, late, from);
  if (both === "late" || both.first.verdict?.ok !== false || !both.first.isMissing) return both;
  const again = await rehearseTwice(parts, moment, late, { asks: from.asks, fills: true });
  return again === "late" || again.first.noted.length < both.first.noted.length ? both : again;
}

/** From what a program is rehearsed. */
interface RehearsedFrom {
  /** The sandbox of the run, if the program can go on there. */
  readonly own?: OwnPlace | undefined;
  /** Whether it is rehearsed from a call that is asked about, whose arguments are known. */
  readonly asks: boolean;
  /** Whether late reads that bring nothing get stand-ins. */
  readonly fills?: boolean | undefined;
}

/**
 * Runs both rehearsals; the second one only if there is anything that it could find out. Rejects with a `SandboxError` when no sandbox
 * can be acquired.
 */
async function rehearseTwice(
  parts: RehearsalParts,
  moment: Moment,
  late: AbortSignal,
  { own, asks, fills = false }: RehearsedFrom,
): Promise<Both> {
  const stop = new AbortController();
  const ends = AbortSignal.any([parts.signal, stop.signal, late]);
  const first = new FirstRehearsal(parts, moment, () => stop.abort(), fills);
  const second = new SecondRehearsal(first, moment);
  try {
    const rehearsed = first.run(ends, own).finally(() => first.end());
    const isNeeded = asks ? first.needsAnother : Promise.resolve(true);
    const other = isNeeded.then((is) => (is ? second.run(parts, ends) : undefined));
    const both = await Promise.allSettled([rehearsed, other]);
    const failed = both.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return { parts, moment, first, second, late };
  } catch (error) {
    if (ends.aborted) return "late";
    throw error;
  } finally {
    stop.abort();
  }
}

/** @param asked the call that is asked about, whose arguments are known. */
async function planFrom(
  rehearsals: Rehearsals,
  calls: readonly NotedCall[],
  asked?: NotedCall,
): Promise<Plan> {
  const { first, second } = rehearsals;
  const again = CATCHES.test(rehearsals.parts.program.code)
    ? await further(rehearsals, new FailingRehearsal(first, rehearsals.moment))
    : undefined;
  const planWith = (other: SecondRehearsal) =>
    makePlan({
      calls,
      asked: asked?.seq,
      madeAgain: again?.madeAgain,
      marks: first.standIns.marks,
      reads: first.lateReads,
      other: { calls: other.calls, answers: other.answers },
      more: first.more ?? other.more,
    });
  const plan = planWith(second);
  const { choices } = first.standIns;
  if (choices.length === 0 || !isCutShort(plan)) return plan;
  const alike = await further(rehearsals, new SecondRehearsal(first, rehearsals.moment, true));
  if (alike === undefined) return plan;
  const assumptions = choices.flatMap(({ call: seq, path, is }): Assumption[] => {
    const call = calls.findIndex((each) => each.seq === seq) + 1;
    return call === 0 ? [] : [{ call, path, is }];
  });
  return withAssumptions(plan, planWith(alike), assumptions);
}

/** What a program says that goes on after an error. */
const CATCHES = /\b(?:catch|except|allSettled|gather)\b/;

/** Runs one more rehearsal beside the first one, which has ended. `undefined` if there is no time, or no sandbox. */
async function further<Another extends SecondRehearsal | FailingRehearsal>(
  { parts, late }: Rehearsals,
  rehearsal: Another,
): Promise<Another | undefined> {
  const ends = AbortSignal.any([parts.signal, late]);
  try {
    await rehearsal.run(parts, ends);
    return ends.aborted ? undefined : rehearsal;
  } catch (error) {
    if (ends.aborted || error instanceof SandboxError) return undefined;
    throw error;
  }
}

/** Whether a call of the tool is not made in a rehearsal. */
function isNoted({ tool, asks }: RehearsedCall): boolean {
  return asks || tool.module === PROGRAMS_MODULE || changesSomething(tool);
}

class FirstRehearsal {
  readonly entries: Entry[] = [];
  readonly standIns = new StandIns(false);
  /** Whether a late read brought nothing. */
  isMissing = false;
  readonly #lateStandIns = new StandIns(false, true);
  readonly #renaming = new Renaming();
  readonly #filled = new Set<string>();
  readonly #fills: boolean;
  /** Why the program did not get to its end. */
  more: string | undefined;
  /** How the program ended, if it did. */
  verdict: Verdict | undefined;
  readonly #parts: RehearsalParts;
  readonly #moment: Moment;
  readonly #stop: () => void;
  readonly #ofTool = new Map<string, Entry[]>();
  readonly #another = Promise.withResolvers<boolean>();
  readonly #allThere = Promise.withResolvers<void>();
  /** How many calls the program waits for where it goes on in rehearsal. */
  #atOnce = 0;
  #waiting: (() => void)[] = [];
  #isOver = false;
  #ended = 0;

  constructor(parts: RehearsalParts, moment: Moment, stop: () => void, fills: boolean) {
    this.#parts = parts;
    this.#moment = moment;
    this.#stop = stop;
    this.#fills = fills;
    this.#renaming.know(parts.program.code);
    this.#renaming.know(parts.program.data);
    for (const { outcome } of moment.calls) if (outcome?.ok === true) this.#renaming.know(outcome.data);
  }

  /**
   * Whether a second rehearsal could find out anything: whether a value of a further call depends on a stand-in, or whether the program
   * does something else where a choice or a list in a stand-in is another one. Settles as soon as that is known.
   */
  get needsAnother(): Promise<boolean> {
    return this.#another.promise;
  }

  async run(signal: AbortSignal, own?: OwnPlace): Promise<void> {
    const { dispatcher, surroundings } = this.#parts.open(this.#moment, (call, ends) =>
      this.#answer(call, ends),
    );
    const rehearsing: Rehearsing = {
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
          entry.outcome = this.#noteRead(entry, await dispatcher.dispatch(call, run));
          entry.ended.resolve();
          return entry.outcome;
        },
      },
    };
    if (own !== undefined)
      this.#atOnce = this.#moment.calls.filter(({ outcome }) => outcome === undefined).length;
    const outcome = await (own?.rehearse(rehearsing, signal) ??
      runAgain(this.#parts, this.#moment, signal, rehearsing));
    this.verdict = outcome.verdict;
    if (outcome.verdict.ok) return;
    const { type } = outcome.verdict.error;
    this.more ??=
      type === "Cancelled" || type === "Timeout"
        ? TOO_LONG
        : `the rehearsal ended with ${type}, which the real run may not`;
  }

  /** The calls that were not made because they may change something. */
  get noted(): NotedCall[] {
    return this.entries.flatMap(({ standIn }) => standIn?.noted ?? []);
  }

  /** The reads that came after a change, and what they brought. */
  get lateReads(): LateRead[] {
    return this.entries.flatMap(({ seq, late, outcome, renamed, isInvented = false }) =>
      late !== undefined && outcome?.ok === true && renamed?.ok === true
        ? { ...late, seq, isInvented, answer: outcome.data, other: renamed.data }
        : [],
    );
  }

  /** No further call comes. */
  end(): void {
    this.#isOver = true;
    this.#another.resolve(false);
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
    this.#renaming.know(args);
    this.entries.push(entry);
    this.#ofTool.set(tool, [...(this.#ofTool.get(tool) ?? []), entry]);
    if (this.entries.length > 1) this.#another.resolve(true);
    if (this.entries.length === this.#atOnce) this.#allThere.resolve();
    this.#wake();
    return entry;
  }

  async #answer(call: RehearsedCall, signal: AbortSignal) {
    const { seq, tool, arguments: args } = call;
    const entry = this.entries.find((each) => each.seq === seq);
    if (entry === undefined) return undefined;
    if (!isNoted(call)) return this.#read(entry, call, signal);
    const { namespacedName, server, definitionDigest } = tool;
    const { asks, rule, reason } = call;
    const noted = {
      ...{ seq, tool: namespacedName, server, definitionDigest, arguments: args, after: entry.after },
      ...{ asks, rule, reason },
    };
    entry.standIn = { tool, noted };
    const answer = this.standIns.answer(tool, seq, earlierAnswer(this.#moment, namespacedName));
    if (this.standIns.varies) this.#another.resolve(true);
    const waited = delay(STAND_IN_MS, undefined, { signal }).catch(() => {});
    // All that the program has made at once has come before its trace.
    await (this.entries.indexOf(entry) < this.#atOnce
      ? Promise.race([this.#allThere.promise, waited])
      : waited);
    this.#ended++;
    return answer;
  }

  /** A call that only reads is made, unless something invented is in its arguments. */
  async #read(entry: Entry, { tool, arguments: args }: RehearsedCall, signal: AbortSignal) {
    const isInvented = this.standIns.isIn(args) || this.#lateStandIns.isIn(args);
    if (this.#ended > 0 || isInvented) entry.late = { tool, arguments: args, after: this.#ended };
    if (!isInvented) return undefined;
    entry.isInvented = entry.isUnsent = true;
    await delay(STAND_IN_MS, undefined, { signal }).catch(() => {});
    return this.#invent(entry, tool);
  }

  #invent({ seq }: Entry, tool: Tool) {
    return this.#lateStandIns.answer(tool, seq, earlierAnswer(this.#moment, tool.namespacedName));
  }

  /** Notes what a read brought, and gives what the program gets. */
  #noteRead(entry: Entry, outcome: CallOutcome): CallOutcome {
    if (!outcome.ok || entry.standIn !== undefined) return outcome;
    if (entry.late === undefined) {
      this.#renaming.know(outcome.data);
      return outcome;
    }
    const given = this.#fill(entry, entry.late.tool, outcome);
    const { isInvented = false } = entry;
    entry.renamed = {
      ...given,
      data: this.#renaming.rename(given.data, isInvented),
      raw: this.#renaming.rename(given.raw, isInvented),
    };
    return given;
  }

  /** A stand-in for a late read that brought nothing, once for each read. */
  #fill<Given extends CallOutcome & { ok: true }>(
    entry: Entry,
    tool: Tool,
    outcome: Given,
  ): CallOutcome & { ok: true } {
    if (entry.isInvented === true || !isEmptyAnswer(outcome.data)) return outcome;
    this.isMissing = true;
    const key = keyOf(entry);
    const hasType = tool.outputSchema !== undefined || tool.learned !== undefined;
    if (!this.#fills || !hasType || this.#filled.has(key) || this.#filled.size >= MAX_FILLED) return outcome;
    this.#filled.add(key);
    const answer = this.#invent(entry, tool);
    if (!answer.ok || isEmptyAnswer(answer.data)) return outcome;
    entry.isInvented = true;
    return { ...outcome, ...answer };
  }

  /** Observes the calls that reached a server. */
  #observer(observer: CallObserver): CallObserver {
    return {
      onCall: (call) => {
        const entry = this.entries.find(({ seq }) => seq === call.seq);
        const isMade = entry !== undefined && entry.standIn === undefined && entry.isUnsent !== true;
        return isMade ? observer.onCall?.(call) : undefined;
      },
    };
  }
}

/** Runs with other stand-ins beside the first rehearsal, whose other answers it gets. It calls no server. */
class SecondRehearsal {
  /** Its calls that got a stand-in, and its late reads, by the number of the same call in the first rehearsal. */
  readonly calls = new Map<number, OtherCall>();
  readonly answers = new Map<number, unknown>();
  /** Why it did not come to the same end as the first one. */
  more: string | undefined;
  readonly #first: FirstRehearsal;
  readonly #moment: Moment;
  readonly #standIns: StandIns;

  /** @param isAlike whether its stand-ins have the same choices as those of the first rehearsal, and differ in names and numbers alone. */
  constructor(first: FirstRehearsal, moment: Moment, isAlike = false) {
    this.#first = first;
    this.#moment = moment;
    this.#standIns = new StandIns(!isAlike);
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
          if (entry.late !== undefined && entry.renamed !== undefined) {
            const exact = withExactNumbers(entry.late.tool.inputSchema, args);
            this.calls.set(entry.seq, { arguments: exact });
            return entry.renamed;
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

/**
 * Runs after the first rehearsal, whose answers it gets. Each change fails once, and then gets its answer. What the program makes again
 * is a call that it makes once if it succeeds. It calls no server.
 */
class FailingRehearsal {
  /** The calls that are made again, by their numbers in the first rehearsal. */
  readonly madeAgain = new Set<number>();
  readonly #first: FirstRehearsal;
  readonly #moment: Moment;

  constructor(first: FirstRehearsal, moment: Moment) {
    this.#first = first;
    this.#moment = moment;
  }

  async run(parts: RehearsalParts, signal: AbortSignal): Promise<void> {
    const changes = Map.groupBy(
      this.#first.entries.filter(({ standIn }) => standIn !== undefined),
      keyOf,
    );
    const indexes = new Map<string, number>();
    const parted = new AbortController();
    await runAgain(parts, this.#moment, AbortSignal.any([signal, parted.signal]), {
      surroundings: {},
      observers: [],
      dispatcher: {
        dispatch: async (call, run): Promise<CallOutcome> => {
          const own = changes.get(keyOf(call));
          const key = own === undefined ? call.tool : keyOf(call);
          const index = indexes.get(key) ?? 0;
          indexes.set(key, index + 1);
          const [change] = own ?? [];
          let at = index;
          if (own?.length === 1 && change?.standIn?.noted.asks === true) {
            if (index === 0) return failed(change.standIn.tool);
            if (index === 1) this.madeAgain.add(change.seq);
            at = index - 1;
          }
          const entry = (own ?? this.#readsOf(call.tool))[at];
          if (entry?.outcome !== undefined && keyOf(entry) === keyOf(call)) return entry.outcome;
          parted.abort();
          return never(run.signal);
        },
      },
    });
  }

  #readsOf(tool: string): Entry[] {
    return this.#first.entries.filter((entry) => entry.tool === tool && entry.standIn === undefined);
  }
}

/** A failure that a rehearsal makes up. */
function failed({ module, name }: Pick<Tool, "module" | "name">): CallOutcome {
  const about = { server: module, tool: name, message: "the call failed", retryable: true };
  return { ok: false, error: { type: "ToolError", ...about }, bytes: 0, decision: "allowed" };
}

function keyOf({ tool, arguments: args }: { readonly tool: string; readonly arguments: unknown }): string {
  return `${tool} ${digestOf(args ?? null)}`;
}

/** Runs the program again from a moment of its run, in another sandbox. Rejects when no sandbox can be acquired. */
async function runAgain(
  parts: RehearsalParts,
  moment: Moment,
  signal: AbortSignal,
  { dispatcher, surroundings, observers }: Rehearsing,
): Promise<Outcome> {
  const { scope, program, prepared, environment, sandboxes, use, startedAt } = parts;
  const { limits, clock, redactor } = scope;
  const parted = new AbortController();
  const ends = AbortSignal.any([signal, parted.signal]);
  const run = { calls: moment.calls } as SuspendedRun;
  const calls =
    moment.calls.length === 0
      ? undefined
      : new ResumedCalls({ run, goLive: async () => undefined }, () => parted.abort());
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
      ...{ prepared, output, calls, timeLimit: new TimeLimit(longestMs(parts), clock) },
      environment: { ...environment, replay: { started_ms, clock: readings, events, resumes: true } },
    });
  } finally {
    parts.leave(sandbox.dispose());
  }
}

function longestMs({ maxMs, scope }: RehearsalParts): number {
  // The time of a program that cannot be paused goes on meanwhile, and the question has to come before it ends.
  return maxMs ?? Math.min(MAX_REHEARSAL_MS, scope.limits.timeoutMs / 2);
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
