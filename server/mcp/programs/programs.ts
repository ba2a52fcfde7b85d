import type { Clock } from "../../../base/clock.ts";
import { messageOf } from "../../../base/error-message.ts";
import { RecentlyUsed } from "../../../base/recently-used.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { visibleLine, visibleLines } from "../../../base/text/visible-text.ts";
import { LATER } from "../../../broker/approvals/approvals.ts";
import { type ToolCatalog, unknownServer, unknownTool } from "../../../catalog/tool-catalog.ts";
import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-program.ts";
import type { ProgramRunner } from "../../../execution/program-runner.ts";
import { pickPrinter } from "../../../languages/languages.ts";
import { languageNamed, languageOfInterpreter } from "../../../languages/program-files.ts";
import type { HandedIn } from "../../../languages/settle-program.ts";
import { buildFailure } from "../../../protocol/failure.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { parseNamespacedName } from "../../../protocol/tools/tool-name.ts";
import type { TraceContext } from "../../../protocol/trace-context.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { parseApprovalAnswer } from "../questions/approval-question.ts";
import type { ClientClaim } from "../questions/asked-client.ts";
import { parseElicitationAnswer } from "../questions/elicitation-question.ts";
import type { Question } from "../questions/questions.ts";
import type { ShownLanguages } from "../tools/chosen-language.ts";
import { errorReply, type ProgramReply, type ToolReply } from "../tools/reply.ts";
import { type ExecuteProgramArguments, ticketIn } from "../tools/tool-arguments.ts";
import { OVER, takeAnswered } from "./kept-programs.ts";
import { type EndedRun, LiveRun, type LiveRunOptions, type RunEnd } from "./live-run.ts";
import { buildProgramReply, buildRefusalReply } from "./program-reply.ts";
import { type ProgressSink, reportPosition } from "./run-progress.ts";
import { SuspendedRuns } from "./suspended-runs.ts";

/** A request that waits for a program: the one that starts it, or one that brings the answer to a question. */
export interface ProgramRequest {
  signal: AbortSignal;
  progress: ProgressSink | undefined;
  /** Whether the client can put a question to a person. */
  canAsk: boolean;
  /** Whether it shows addresses of its own accord. */
  canVisit?: boolean;
  /** What the client says of itself. */
  client?: ClientClaim | undefined;
  /** The trace that it belongs to. */
  trace?: TraceContext | undefined;
  /**
   * Asks a person while the request waits, and resolves with what the client answered. Rejects when the client cannot. Without
   * it, a question is returned as the result of the request, and the client's next request brings the answer.
   */
  ask?: ((question: Question, signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** The answer to a request. */
export type ProgramAnswer =
  | { kind: "reply"; reply: ProgramReply }
  /** The run waits for a person. The client returns the answer together with the ticket. */
  | { kind: "question"; question: Question; ticket: string };

export interface ProgramsOptions {
  runner: ProgramRunner;
  /** The tools that are known now, for hints. */
  known: () => Promise<ToolCatalog>;
  /** Print tools in the languages that programs may be in just now. */
  printers: () => ShownLanguages;
  /** The context of the client's session, which all of its programs share. */
  context: RunContext;
  clock: Pick<Clock, "monotonicMs">;
  /** The limits as they are just now. */
  limits: () => ProgramLimits;
  /** Whether approvals count that are given at the client. Without it, they do. */
  approvesAtClient?: (() => boolean) | undefined;
  /** Is told of programs that wait for their turn. */
  telemetry?: Pick<Telemetry, "queued"> | undefined;
}

interface ProgramLimits {
  /** Programs that may run at the same time. */
  readonly maxParallelPrograms: number;
  /** Single calls that may be made at the same time. */
  readonly maxParallelCalls: number;
  /** Programs that may wait until one of those has ended. */
  readonly maxQueuedPrograms: number;
  /** How many bytes of text of a call are shown. */
  readonly maxOutputBytes: number;
  /** How many bytes of what a program gave out are shown. */
  readonly maxReplyBytes: number;
  /** How long a program waits for its turn when its request names no time limit. */
  readonly timeoutMs: number;
}

/** The most forms that are remembered for their answers. */
const MAX_OFFERED = 1_000;

/**
 * The programs of one client. A limited number run at the same time, not counting those that wait for a person. More wait
 * for their turn in the order in which they came.
 */
export class Programs {
  readonly #options: ProgramsOptions;
  /** The programs that were started, each with its place. */
  readonly #runs = new Map<LiveRun, ProgramPlace>();
  readonly #places: ProgramPlaces;
  /** Those of single calls. */
  readonly #callPlaces: ProgramPlaces;
  readonly #suspended: SuspendedRuns;
  readonly #closing = new AbortController();
  /** What its runs are followed for, those of single calls too. */
  readonly notices = new ClientNotices();
  /** The tickets of forms that offered to approve further calls. An answer to any other form approves one. */
  readonly #offered = new RecentlyUsed<string, true>({ maxEntries: MAX_OFFERED });

  constructor(options: ProgramsOptions) {
    this.#options = options;
    this.#places = new ProgramPlaces(options.limits);
    this.#callPlaces = new ProgramPlaces(() => {
      const { maxParallelCalls, maxQueuedPrograms } = options.limits();
      return { maxParallelPrograms: maxParallelCalls, maxQueuedPrograms };
    });
    this.#suspended = new SuspendedRuns(
      () => options.limits().maxParallelPrograms,
      options.runner.suspended !== undefined,
    );
  }

  /**
   * Runs a program until it ends or has a question that the client's next request must answer. The program's time limit
   * counts from its start, and the same time is the longest that it waits for its turn.
   */
  async start(args: ExecuteProgramArguments, request: ProgramRequest): Promise<ProgramAnswer> {
    const ticket = ticketIn(args);
    if (ticket !== undefined) return this.resume(ticket, undefined, request);
    const { code, data = {}, language: named, timeout_seconds, typecheck, session } = args;
    const timeoutMs = timeout_seconds === undefined ? undefined : Math.ceil(timeout_seconds * 1_000);
    const language = named === undefined ? languageOfInterpreter(code) : languageNamed(named);
    const program: HandedIn = { code, data, ...(language === undefined ? {} : { language }) };
    return this.run(program, { timeoutMs, typecheck, session }, request);
  }

  /** Like `start`, for a program whose text is not the client's. */
  async run(
    program: HandedIn,
    settings: Pick<Parameters<ProgramRunner["run"]>[1], "timeoutMs" | "typecheck" | "session">,
    request: ProgramRequest,
  ): Promise<ProgramAnswer> {
    const { runner, context } = this.#options;
    const place = await this.#takePlace(request, settings.timeoutMs);
    if ("kind" in place) return place;
    return this.#goLive(place, request, async (options) =>
      this.#end(await runner.run(program, { ...options, context: contextOf(context, request), ...settings })),
    );
  }

  /** Makes a single call, which needs no sandbox: such calls have places of their own. */
  async call(
    start: (options: LiveRunOptions) => Promise<RunEnd>,
    request: ProgramRequest,
  ): Promise<ProgramAnswer> {
    const place = await this.#takePlace(request, undefined, this.#callPlaces);
    return "kind" in place ? place : this.#goLive(place, request, start);
  }

  /** A place for one more program, or the answer that there is none. */
  async #takePlace(
    request: ProgramRequest,
    givenMs: number | undefined,
    places = this.#places,
  ): Promise<ProgramPlace | Extract<ProgramAnswer, { kind: "reply" }>> {
    const patienceMs = givenMs ?? this.#options.limits().timeoutMs;
    const admitted = this.#options.telemetry?.queued();
    const place = await places.take({
      patienceMs,
      signal: AbortSignal.any([request.signal, this.#closing.signal]),
      onPosition: reportPosition(request.progress),
    });
    admitted?.();
    if (typeof place === "string")
      return { kind: "reply", reply: refusePlace(place, patienceMs, places.limits) };
    if (this.#closing.signal.aborted) {
      // The connection ended after the place was given.
      place.free();
      return { kind: "reply", reply: refusePlace("cancelled", patienceMs, places.limits) };
    }
    return place;
  }

  async #goLive(
    place: ProgramPlace,
    request: ProgramRequest,
    start: (options: LiveRunOptions) => Promise<RunEnd>,
  ): Promise<ProgramAnswer> {
    const run = new LiveRun(
      start,
      this.#options.clock,
      () => request.canAsk,
      () => request.canVisit === true,
      request.trace,
    );
    this.#runs.set(run, place);
    void run.ended().then(() => {
      this.#runs.delete(run);
      place.free();
    });
    return this.#goOn(run, request);
  }

  /**
   * Goes on with a run that waits. A ticket can be used once.
   *
   * @param response a person's answer; without one, the person is asked again.
   */
  async resume(ticket: string, response: unknown, request: ProgramRequest): Promise<ProgramAnswer> {
    const suspended = await this.#suspended.take(ticket);
    if (suspended === undefined) return this.goOn(ticket, request, response);
    this.#runs.get(suspended.run)?.resume();
    if (response !== undefined) giveAnswer(suspended.question, response, request.client);
    return this.#goOn(suspended.run, request);
  }

  /**
   * Goes on with a run that was suspended, perhaps by another process, once its question is answered.
   *
   * @param response the client's answer, if it brings one.
   */
  async goOn(ticket: string, request: ProgramRequest, response?: unknown): Promise<ProgramAnswer> {
    const { runner, context } = this.#options;
    if (runner.suspended === undefined) return { kind: "reply", reply: errorReply(OVER) };
    const canAsk = request.canAsk && this.#options.approvesAtClient?.() !== false;
    const asking = { ...request, canAsk };
    const given = response === undefined ? { request: asking } : { request: asking, response };
    const offered = this.#offered.has(ticket);
    const taken = await takeAnswered(runner.suspended, context.principal, ticket, { ...given, offered });
    if (taken.kind === "question") return this.#handOut(taken.question, ticket);
    if (taken.kind === "reply") return taken;
    const place = await this.#takePlace(request, undefined);
    if (!("kind" in place))
      return this.#goLive(place, request, async (options) =>
        this.#end(await taken.goOn({ ...options, context: contextOf(context, request) })),
      );
    await taken.leave();
    return place;
  }

  /** Cancels every program, also one that is started later. Resolves when all runs have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#suspended.clear();
    const runs = [...this.#runs.keys()];
    for (const run of runs) if (!this.#suspended.isLeaving(run)) run.cancel();
    await Promise.all(runs.map((run) => run.ended()));
  }

  /**
   * Waits for the run's next answer. Cancelling the request cancels the run, unless the client's time was up while a person was
   * asked: then the run is suspended.
   */
  async #goOn(run: LiveRun, request: ProgramRequest): Promise<ProgramAnswer> {
    const cancel = () => {
      if (!(this.#isLate(request.signal) && run.isAsking)) run.cancel();
    };
    if (request.signal.aborted) cancel();
    request.signal.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#nextAnswer(run, request);
    } finally {
      request.signal.removeEventListener("abort", cancel);
    }
  }

  async #nextAnswer(run: LiveRun, request: ProgramRequest): Promise<ProgramAnswer> {
    for (;;) {
      const event = await run.next(request.progress);
      if (event.kind === "ended") return this.#reply(event, [], run.answeredElsewhere);
      const { question } = event;
      if (request.ask === undefined) {
        // When the request is cancelled or the client has disconnected, no later request can bring an answer.
        if (request.signal.aborted || this.#closing.signal.aborted) return this.#reply(await run.result());
        const place = this.#runs.get(run);
        place?.pause();
        return this.#handOut(
          question,
          this.#suspended.add(run, question, () => place?.resume()),
        );
      }
      const place = this.#runs.get(run);
      place?.pause();
      try {
        const noLonger = AbortSignal.any([request.signal, question.withdrawn]);
        const response = await request.ask(question, noLonger);
        place?.resume();
        giveAnswer(question, response, request.client);
      } catch (error) {
        place?.resume();
        if (question.withdrawn.aborted) continue;
        const mayWait = !request.signal.aborted || this.#isLate(request.signal);
        if (question.kind === "approval" && this.#options.runner.suspended && mayWait) {
          // Somebody may answer by another way, or later.
          question.answer(LATER);
          continue;
        }
        run.cancel();
        return this.#reply(await run.result(), [failedToAsk(question, error)]);
      }
    }
  }

  /** A question for the client, which brings the answer with its next request. */
  #handOut(question: Question, ticket: string): ProgramAnswer {
    this.#offered.delete(ticket);
    if (question.kind === "approval" && question.request.isAgain === true) this.#offered.set(ticket, true);
    return { kind: "question", question, ticket };
  }

  /** Whether a client has cancelled its request because its time was up, as SDKs say it, and the run can wait without it. */
  #isLate({ aborted, reason }: AbortSignal): boolean {
    const isSuspendable = this.#options.runner.suspended !== undefined && !this.#closing.signal.aborted;
    return aborted && isSuspendable && /\btime(?:d[ -]?|[ -]?)out\b/i.test(messageOf(reason));
  }

  async #reply(
    { end, calls }: EndedRun,
    hints: readonly string[] = [],
    notes: readonly string[] = [],
  ): Promise<ProgramAnswer> {
    const reply = await end.reply(calls, { hints, notes: [...notes, ...this.notices.take()] });
    return { kind: "reply", reply };
  }

  #end(executed: ExecutedProgram): RunEnd {
    return endOfProgram(executed, { ...this.#options, notices: this.notices });
  }
}

/** The context of a run that a request begins, or goes on with. */
export function contextOf(context: RunContext, { client }: Pick<ProgramRequest, "client">): RunContext {
  return client === undefined || client.name === "" ? context : { ...context, client };
}

/** What a client is told of a program, or a call, that got no place. */
function refusePlace(
  reason: NoPlace,
  patienceMs: number,
  { maxParallelPrograms: most, maxQueuedPrograms: mostQueued }: PlaceLimits,
): ToolReply {
  if (reason === "cancelled") return buildRefusalReply(buildFailure("Cancelled", "the run was cancelled"));
  const advice = "wait for one to end, or do more in one program";
  const message =
    reason === "full"
      ? `as many programs run (${most}) and wait (${mostQueued}) as may; ${advice}`
      : `as many programs run (${most}) as may, and its turn did not come in ${patienceMs / 1_000} s; ${advice}`;
  return buildRefusalReply(buildFailure("Busy", message));
}

const MAX_PROBLEM_CHARS = 300;

/** Gives a question what a client has answered. */
function giveAnswer(question: Question, response: unknown, client: ClientClaim | undefined): void {
  if (question.kind === "approval") question.answer(parseApprovalAnswer(response, question.request, client));
  else question.answer(parseElicitationAnswer(question.elicitation, response));
}

/** Why a program ended whose question could not be put to anybody. */
function failedToAsk(question: Question, error: unknown): string {
  const reason = oneLine(messageOf(error), MAX_PROBLEM_CHARS);
  const what =
    question.kind === "approval"
      ? `ask for an approval of ${oneLine(question.request.tool)}`
      : `put a question of server '${oneLine(question.elicitation.server)}' to its user`;
  return `The program was cancelled because the client could not ${what}: ${reason}`;
}

/** A running program's place. */
interface ProgramPlace {
  /** Lends the place to other programs while this one waits for a person. */
  pause(): void;
  /** Takes the place back, at once: then more programs than usual may run for a while. */
  resume(): void;
  /** Gives the place up for good. */
  free(): void;
}

/** Why a program got no place: the queue is full, its time is up, or nobody waits for it any more. */
type NoPlace = "full" | "late" | "cancelled";

interface PlaceLimits {
  /** Programs that may run at the same time. */
  readonly maxParallelPrograms: number;
  /** Programs that may wait for a place. */
  readonly maxQueuedPrograms: number;
}

interface Waiting {
  /** How long the program waits at most. */
  patienceMs: number;
  signal: AbortSignal;
  /** Is told how many programs are before this one: when it begins to wait, and whenever that changes. */
  onPosition: (before: number) => void;
}

interface Waiter {
  onPosition: (before: number) => void;
  admit: () => void;
}

/**
 * Places for running programs, and the queue in front of them, in the order of arrival. A program that waits for a person
 * holds a sandbox but no place. As many as there are places may do so; of more, each keeps its place.
 */
class ProgramPlaces {
  readonly #limits: () => PlaceLimits;
  readonly #held = new Set<ProgramPlace>();
  readonly #paused = new Set<ProgramPlace>();
  /** Longest waiting first. */
  readonly #queue: Waiter[] = [];

  /** @param limits the limits as they are just now. */
  constructor(limits: () => PlaceLimits) {
    this.#limits = limits;
  }

  get limits(): PlaceLimits {
    return this.#limits();
  }

  /** Resolves with a place, or with the reason why there is none. Never rejects. */
  async take({ patienceMs, signal, onPosition }: Waiting): Promise<ProgramPlace | NoPlace> {
    if (signal.aborted) return "cancelled";
    if (this.#queue.length === 0 && this.#hasRoom()) return this.#occupy();
    if (this.#queue.length >= this.#limits().maxQueuedPrograms) return "full";
    return new Promise((resolve) => {
      const settle = (outcome: ProgramPlace | NoPlace) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        resolve(outcome);
      };
      const waiter: Waiter = { onPosition, admit: () => settle(this.#occupy()) };
      const leave = (reason: NoPlace) => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1);
        settle(reason);
        this.#tellPositions();
      };
      const cancel = () => leave("cancelled");
      const timer = setTimeout(() => leave("late"), patienceMs);
      signal.addEventListener("abort", cancel, { once: true });
      this.#queue.push(waiter);
      onPosition(this.#queue.length - 1);
    });
  }

  #hasRoom(): boolean {
    const { maxParallelPrograms: maxRunning } = this.#limits();
    const lent = Math.min(this.#paused.size, maxRunning);
    return this.#held.size - lent < maxRunning;
  }

  #occupy(): ProgramPlace {
    const place: ProgramPlace = {
      pause: () => {
        if (!this.#held.has(place)) return;
        this.#paused.add(place);
        this.#admit();
      },
      resume: () => {
        this.#paused.delete(place);
      },
      free: () => {
        this.#paused.delete(place);
        this.#held.delete(place);
        this.#admit();
      },
    };
    this.#held.add(place);
    return place;
  }

  #admit(): void {
    let admitted = false;
    while (this.#hasRoom()) {
      const next = this.#queue.shift();
      if (next === undefined) break;
      next.admit();
      admitted = true;
    }
    if (admitted) this.#tellPositions();
  }

  #tellPositions(): void {
    for (const [before, waiter] of this.#queue.entries()) waiter.onPosition(before);
  }
}

/** What a client is told beside what its programs did: once each. */
export class ClientNotices {
  readonly #told = new Set<string>();
  readonly #unrecorded = new Set<string>();

  /** Notes why a run was not recorded, where that turns out: its own reply has gone out by then. */
  follow<T extends { recorded: Promise<string | undefined> }>(executed: T): T {
    void executed.recorded.then((problem) => {
      if (problem !== undefined) this.#unrecorded.add(problem);
    });
    return executed;
  }

  /** What is to be told with the next reply, whatever that answers. */
  take(): string[] {
    const problems = [...this.#unrecorded];
    this.#unrecorded.clear();
    return problems.map(
      (problem) => `A run of this session was not recorded; tell the user: ${visibleLine(problem)}`,
    );
  }

  /** Why the types of a program were not checked, the first time that it is for this reason. */
  unchecked({ unchecked }: ExecutedProgram): string[] {
    if (unchecked === undefined || this.#told.has(unchecked)) return [];
    this.#told.add(unchecked);
    return [`The program's types were not checked: ${visibleLine(unchecked)}`];
  }
}

interface Shown {
  notices: ClientNotices;
  /** The tools that are known now, for hints. */
  known: () => Promise<ToolCatalog>;
  /** Print tools in the languages that programs may be in just now. */
  printers: () => ShownLanguages;
  /** How much is shown just now. */
  limits: () => { readonly maxReplyBytes: number };
}

/** How a client is told of a program that was executed. */
export function endOfProgram(executed: ExecutedProgram, shown: Shown): RunEnd {
  const { known: tools, printers, limits, notices } = shown;
  notices.follow(executed);
  return {
    async reply(calls, { hints, notes }) {
      // Only what is said of a failure depends on the catalog.
      const known = executed.envelope.result.ok ? undefined : await tools();
      const printer = pickPrinter(printers(), executed.program.language);
      const more = known === undefined ? [] : await hintsFor(executed, calls, known, printer);
      return buildProgramReply(executed, calls, {
        isReadOnly: (tool) => known?.find(tool)?.annotations?.readOnlyHint === true,
        hints: [...hints, ...more],
        notes: [...notices.unchecked(executed), ...notes],
        maxReplyBytes: limits().maxReplyBytes,
      });
    },
  };
}

const MAX_SIGNATURES = 2;

const DRIFTED =
  "The tool's definition has just been read again: inspect_tool shows it; then run the program again.";

/** What runtimes say of a tool name that the program built at run time, so that it could not be checked before. */
const UNDEFINED_TOOL = /(mcp__\w+)'? is not defined/;

/** Names of tools in what was found wrong with a program before it ran. */
const TOOL_NAME = /\bmcp__\w+/g;

/**
 * Advice for a model that corrects a failed program, beyond the failure's message. If the program could not be bundled, the
 * reasons say why. If it ran, its failure's message is text of the program's own; it shows which failed call caused it.
 */
export async function hintsFor(
  { envelope: { result }, reasons, advice }: Pick<ExecutedProgram, "envelope" | "reasons" | "advice">,
  calls: readonly ObservedCall[],
  catalog: ToolCatalog,
  printer: ToolPrinter,
): Promise<string[]> {
  if (result.ok) return [];
  const { message } = result.error;
  const hints = new Set<string>();
  const wrong = new Set<string>();
  for (const { tool, outcome } of calls) {
    if (
      outcome.decision === "unavailable" &&
      catalog.find(tool) === undefined &&
      message.includes(tool) &&
      (advice.length === 0 || catalog.isBlocked(tool))
    )
      hints.add(sentence(unknownTool(tool, catalog)));
    if (outcome.decision === "invalid" && message.includes(tool)) wrong.add(tool);
    if (outcome.decision === "drifted") hints.add(DRIFTED);
  }
  for (const name of [...wrong].slice(0, MAX_SIGNATURES)) {
    const tool = catalog.find(name);
    if (tool !== undefined)
      hints.add(`Its signature: ${visibleLines(await printer.signature(tool, "compact"))}`);
  }
  const unknown = reasons.find(({ code }) => code === "unknown_server");
  if (unknown?.code === "unknown_server") hints.add(sentence(unknownServer(unknown.module, catalog)));
  // A program that was refused before it ran has called nothing that could tell why.
  for (const [named] of message.matchAll(TOOL_NAME))
    if (calls.length === 0 && catalog.whyBlocked(named) !== undefined)
      hints.add(sentence(unknownTool(named, catalog)));
  const name = UNDEFINED_TOOL.exec(message)?.[1] ?? "";
  if (parseNamespacedName(name) !== undefined) hints.add(sentence(unknownTool(name, catalog)));
  return [...hints];
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
