/**
 * Asks others about calls and their results (`interceptors` in ptc.yaml): a company's DLP, a virus scanner, a reviewer. Each can only
 * restrict: policy, schemas and approvals hold for what it allows, and for arguments that it puts in the place of others. What it answers
 * is noted in the audit log under `interceptors.NAME`. Without a usable answer in time a call is refused, or its result withheld,
 * unless the check fails open.
 *
 * The checks of managed settings stand between those of the project and the server: they are asked last about what is sent, and first
 * about what came. So no check of a project sends what they have not seen, or sees what they withhold.
 *
 * One of them may be the reviewer (`approvals.reviewer`), which is asked a question before a person is. Its "allow" approves one call,
 * where the policy says that it may, and whatever else it answers, or fails to, is no approval.
 *
 * A check that is slow or hostile holds up the calls that it is asked about, each for its time limit, and no others: each principal has
 * few places in it, and what it answers is bounded before it is read.
 */
import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import { messageOf } from "../../base/faults.ts";
import { isObject, jsonLine, parseForeignJson, writeJson } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { QuestionInterceptor } from "../../broker/approvals/question-interceptors.ts";
import type { CallInterceptor } from "../../broker/call-interceptors.ts";
import type { CallingRun, CallOutcome, RequestedCall } from "../../broker/dispatcher.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { ToolCatalog } from "../../catalog/tool-catalog.ts";
import type { InterceptorSettings } from "../../configuration/configuration.ts";
import { interceptorRule } from "../../configuration/interceptor-settings.ts";
import { digestInTurns } from "../../protocol/canonical-json.ts";
import { MAX_NESTING_DEPTH, MAX_VALUES } from "../../protocol/limits.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import { countMarks } from "../../secrets/text-redaction.ts";
import type { AskingSurroundings } from "./ask-check.ts";

/** The largest answer. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** The largest request. What is larger is not sent, and counts as unanswered. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;
const MAX_REASON_CHARS = 300;
/** How many requests to one check may be under way: of one principal, and of all together. */
const PLACES = { url: { each: 16, all: 256 }, command: { each: 4, all: 32 } };

const Reason = z.optional(z.string());
const Answer = z.discriminatedUnion("decision", [
  z.strictObject({ decision: z.literal("allow"), reason: Reason }),
  z.strictObject({ decision: z.literal("deny"), reason: Reason }),
  z.strictObject({ decision: z.literal("ask"), reason: Reason }),
  z.strictObject({
    decision: z.literal("replace"),
    reason: Reason,
    arguments: z.optional(z.unknown()),
    data: z.optional(z.unknown()),
  }),
]);
type Answer = z.infer<typeof Answer>;
/** An answer, or the answer that counts in the place of one that is missing. */
type Counted = { readonly answer: Answer; readonly failure?: string | undefined };

export interface ChecksOptions extends AskingSurroundings {
  readonly settings: () => readonly InterceptorSettings[];
  /** Takes secrets out of what is sent. */
  readonly redactor: Pick<Redactor, "redactValue" | "redactInTurns">;
}

/** The run whose calls are checked. */
interface CheckedRun {
  readonly runId: string;
  readonly context: RunContext;
  readonly tools: Pick<ToolCatalog, "get">;
  /** Whether its principal sees a tool. */
  readonly isVisible: (tool: Tool) => boolean;
  /** Whether its changes are not made. */
  readonly isRehearsal?: boolean | undefined;
}

export class Checks {
  readonly #options: ChecksOptions;
  readonly #places = new Map<string, Places>();
  readonly #closing = new AbortController();

  constructor(options: ChecksOptions) {
    this.#options = options;
  }

  /** Gives up what is asked now. */
  close(): void {
    this.#closing.abort();
  }

  /** What surrounds the calls of a run. The settings in force at the time of a call decide who is asked about it. */
  forRun(checked: CheckedRun): CallInterceptor {
    return (next) => async (call, run) => {
      const tool = checked.tools.get(call.tool);
      const asked = tool === undefined ? [] : this.#of(tool);
      if (tool === undefined || asked.length === 0) return next(call, run);
      // Nobody reads of a call, nor answers for one, that its principal may not know to be possible.
      if (!checked.isVisible(tool)) return next(call, { ...run, isHidden: true });
      const before = await this.#beforeCall(asked, { checked, tool, call, run });
      if ("outcome" in before) return before.outcome;
      const outcome = await next(before.call, { ...run, asks: before.asks ?? run.asks });
      return this.#afterCall(asked, { checked, tool, call: before.call, run }, outcome);
    };
  }

  #of({ namespacedName }: Tool): InterceptorSettings[] {
    return this.#options
      .settings()
      .filter(
        ({ tools }) => tools.length === 0 || tools.some((each) => matchesPattern(each, namespacedName)),
      );
  }

  async #beforeCall(
    checks: readonly InterceptorSettings[],
    about: About,
  ): Promise<{ call: RequestedCall; asks?: CallingRun["asks"] } | { outcome: CallOutcome }> {
    let { call } = about;
    let asks: CallingRun["asks"];
    for (const check of checks.filter(({ on }) => on.includes("call"))) {
      const { answer, failure } = await this.#ask(check, { ...about, call }, "call");
      const ground = groundOf(check, answer, failure);
      this.#note(about, answer, ground, await this.#digestOf(answer));
      if (answer.decision === "deny") return { outcome: refused(call, about.tool, ground) };
      if (answer.decision === "ask") asks ??= ground;
      if (answer.decision === "replace") call = { ...call, arguments: answer.arguments, rounded: undefined };
    }
    return { call, ...(asks === undefined ? {} : { asks }) };
  }

  async #afterCall(
    checks: readonly InterceptorSettings[],
    about: About,
    given: CallOutcome,
  ): Promise<CallOutcome> {
    let outcome = given;
    const inTurn = checks.toSorted(
      (one, other) => Number(other.isManaged === true) - Number(one.isManaged === true),
    );
    for (const check of inTurn.filter(({ on }) => on.includes("result"))) {
      if (!holdsAnswer(outcome)) return outcome;
      const { answer, failure } = await this.#ask(check, about, "result", {
        result: describeResult(outcome),
      });
      const ground = groundOf(check, answer, failure);
      this.#note(about, answer, ground);
      if (answer.decision === "deny") return withheld(about.tool, outcome, ground);
      if (answer.decision === "replace") outcome = replaced(about.tool, outcome, answer.data, ground);
    }
    return outcome;
  }

  /** What surrounds the questions of a run: the reviewer whom the policy lets answer. */
  reviewing(checked: CheckedRun): QuestionInterceptor {
    return (next) => ({
      review: async (asked, reviewer, signal) => {
        const tool = checked.tools.get(asked.tool);
        const check =
          tool && this.#of(tool).find((each) => ruleOf(each) === reviewer && each.on.includes("question"));
        if (check === undefined || tool === undefined) return next.review(asked, reviewer, signal);
        const { reason: because, origins } = asked;
        const call = { tool: asked.tool, arguments: asked.arguments };
        const about = { checked, tool, call, run: { signal } };
        const more = { ...(because && { reason: because }), ...(origins && { origins }) };
        const { answer, failure } = await this.#ask(check, about, "question", more);
        const { rule: by, reason = "" } = groundOf(check, answer, failure);
        const how = reason === "" ? "approvals.reviewer" : `approvals.reviewer: ${reason}`;
        if (failure === undefined && answer.decision === "allow")
          return { kind: "answered", answer: { decision: "once", by, how } };
        if (failure === undefined && answer.decision === "deny")
          return {
            kind: "answered",
            answer: { decision: "denied", by, how, why: `${by} refuses it: ${reason}` },
          };
        return { kind: "left", by, why: reason };
      },
    });
  }

  /**
   * Asks one check, and says which answer counts. Never rejects.
   *
   * @param more what it is told besides the call.
   */
  async #ask(
    check: InterceptorSettings,
    { checked, tool, call, run }: Asked,
    type: AskedAbout,
    more: object = {},
  ): Promise<Counted> {
    const late = AbortSignal.timeout(check.timeoutMs);
    const signal = AbortSignal.any([run.signal, late, this.#closing.signal]);
    try {
      const places = this.#placesOf(check);
      const leave = await places.take(checked.context.principal, signal);
      try {
        const body = writeJson({
          type,
          timestamp: new Date().toISOString(),
          data: this.#options.redactor.redactValue({ ...describe(checked, tool, call), ...more }).value,
        });
        if (Buffer.byteLength(body) > MAX_REQUEST_BYTES)
          throw new Error(`the request would have more than ${MAX_REQUEST_BYTES} bytes`);
        // Most projects have no checks.
        const { askCheck } = await import("./ask-check.ts");
        const request = { id: `msg_${randomUUID()}`, body, maxAnswerBytes: MAX_ANSWER_BYTES };
        const text = await askCheck(check, request, signal, this.#options);
        const answer = parseAnswer(text, type);
        if (type === "call" && answer.decision === "replace") refuseMarks(call, answer.arguments);
        return { answer };
      } finally {
        leave();
      }
    } catch (error) {
      const failure = oneLine(
        late.aborted
          ? `it gave no answer within ${check.timeoutMs / 1_000} s`
          : signal.aborted
            ? "the run was cancelled"
            : messageOf(error),
        MAX_REASON_CHARS,
      );
      // A cancelled call does not continue.
      const goesOn = check.failsOpen && !(signal.aborted && !late.aborted);
      return { answer: { decision: goesOn ? "allow" : "deny" }, failure };
    }
  }

  #placesOf(check: InterceptorSettings): Places {
    const key = ruleOf(check);
    const limits = check.command === undefined ? PLACES.url : PLACES.command;
    const places = this.#places.get(key) ?? new Places(limits);
    this.#places.set(key, places);
    return places;
  }

  /** The digest of the arguments that a check gives, without secrets, as in the lines of calls. */
  async #digestOf(answer: Answer): Promise<string | undefined> {
    if (answer.decision !== "replace") return undefined;
    return digestInTurns((await this.#options.redactor.redactInTurns(answer.arguments)).value);
  }

  /** Notes in the audit log what a check answered, unless it allowed what it was asked about. */
  #note({ tool, call, run }: About, { decision }: Answer, ground: Ground, argumentsDigest?: string): void {
    if (decision === "allow" && ground.reason === undefined) return;
    const { server } = tool;
    const sent = argumentsDigest === undefined ? {} : { argumentsDigest };
    run.events?.onDecision?.({ server, tool: call.tool, decision, ...ground, ...sent });
  }
}

/** What a check is asked about. */
type AskedAbout = InterceptorSettings["on"][number];

interface Asked {
  readonly checked: CheckedRun;
  readonly tool: Tool;
  readonly call: RequestedCall;
  readonly run: Pick<CallingRun, "signal">;
}

interface About extends Asked {
  readonly run: CallingRun;
}

interface Ground {
  readonly rule: string;
  readonly reason?: string;
}

/** The call that a check is asked about. */
function describe(
  { runId, context, isRehearsal }: CheckedRun,
  { server, namespacedName, annotations }: Tool,
  call: RequestedCall,
): object {
  const { principal, groups = [], source, client } = context;
  return {
    run_id: runId,
    ...(isRehearsal === true ? { rehearsal: true } : {}),
    principal,
    groups,
    source,
    ...(client === undefined ? {} : { client: client.name }),
    server,
    tool: namespacedName,
    ...(annotations === undefined ? {} : { annotations }),
    arguments: call.arguments ?? null,
  };
}

/** A result as the program gets it, and as its server gave it where the caller gets that too. */
function describeResult(outcome: CallOutcome): object {
  const raw = outcome.raw === undefined ? {} : { answer: outcome.raw };
  if (outcome.ok) return { ok: true, data: outcome.data, ...raw };
  const data = outcome.data === undefined ? {} : { data: outcome.data };
  return { ok: false, message: outcome.error.message, ...data, ...raw };
}

/** @throws Error for what is no answer about this */
function parseAnswer(text: string, type: AskedAbout): Answer {
  const limits = { maxBytes: MAX_ANSWER_BYTES, maxDepth: MAX_NESTING_DEPTH, maxValues: MAX_VALUES };
  let answered: ReturnType<typeof Answer.safeParse>;
  try {
    answered = Answer.safeParse(parseForeignJson(text, limits));
  } catch (error) {
    throw new Error(`its answer cannot be read: ${messageOf(error)}`);
  }
  if (!answered.success) throw new Error("its answer has no decision: allow, deny, ask or replace");
  const { data: answer } = answered;
  if (answer.decision === "ask" && type === "result") throw new Error("nobody can be asked about a result");
  if (answer.decision === "replace" && type === "question")
    throw new Error("its answer is `replace`, which a question does not allow");
  if (answer.decision === "replace" && type === "call" && !isObject(answer.arguments))
    throw new Error("its answer replaces the arguments and has no `arguments`");
  if (answer.decision === "replace" && type === "result" && answer.data === undefined)
    throw new Error("its answer replaces the result and has no `data`");
  return answer;
}

/**
 * A check sees marks in the place of secrets. What it gives back is sent as it is, so a mark would go out in the place of the secret.
 *
 * @throws Error for arguments with a mark that those of the call do not have, or not as often.
 */
function refuseMarks(call: RequestedCall, given: unknown): void {
  const own = countMarks(writeJson(call.arguments ?? null));
  for (const [mark, count] of countMarks(writeJson(given)))
    if (count > (own.get(mark) ?? 0))
      throw new Error(`its answer has ${mark} in the place of a value that it was not shown`);
}

function ruleOf({ name, isManaged }: InterceptorSettings): string {
  return interceptorRule(name, isManaged === true);
}

function groundOf(check: InterceptorSettings, answer: Answer, failure: string | undefined): Ground {
  const rule = ruleOf(check);
  if (failure !== undefined) return { rule, reason: `it was asked in vain: ${failure}` };
  const { decision, reason } = answer;
  if (reason !== undefined) return { rule, reason: oneLine(reason, MAX_REASON_CHARS) };
  return decision === "deny" || decision === "ask" ? { rule, reason: "it gives no reason" } : { rule };
}

function refused(call: RequestedCall, { server, name }: Tool, { rule, reason = "" }: Ground): CallOutcome {
  const message = `'${call.tool}' was not called: ${rule} refuses it: ${reason}`;
  const error = { type: "ToolError" as const, server, tool: name, message, retryable: false };
  return { ok: false, error, decision: "forbidden", rule, reason, bytes: 0 };
}

/** Whether an outcome has anything of its server. */
function holdsAnswer({ decision }: CallOutcome): boolean {
  return decision === "allowed" || decision === "approved-once" || decision === "approved-for-run";
}

/** What is known of a call besides its answer. */
function groundsOf({ decision, approver, bytes, flow, waitedMs, connectMs, earlier }: CallOutcome) {
  return {
    decision,
    bytes,
    ...(approver === undefined ? {} : { approver }),
    ...(flow === undefined ? {} : { flow }),
    ...(waitedMs === undefined ? {} : { waitedMs }),
    ...(connectMs === undefined ? {} : { connectMs }),
    ...(earlier === undefined ? {} : { earlier }),
  };
}

function withheld(
  { server, name, namespacedName }: Tool,
  outcome: CallOutcome,
  { rule, reason = "" }: Ground,
): CallOutcome {
  const message = `the call was made: '${namespacedName}' answered, and ${rule} withholds the answer: ${reason}`;
  const error = { type: "ToolError" as const, server, tool: name, message, retryable: false };
  return { ...groundsOf(outcome), ok: false, error, rule, reason };
}

/** The outcome with other data. What the caller gets of the server's own answer is made of it too. */
function replaced(tool: Tool, outcome: CallOutcome, data: unknown, { rule, reason }: Ground): CallOutcome {
  const ground = { rule, ...(reason === undefined ? {} : { reason }) };
  const text = typeof data === "string" ? data : jsonLine(data);
  const isFailure = !outcome.ok;
  const raw = {
    content: [{ type: "text", text }],
    ...(isObject(data) ? { structuredContent: data } : {}),
    ...(isFailure ? { isError: true } : {}),
  };
  const answer = outcome.raw === undefined ? { raw: undefined } : { raw };
  if (isFailure) {
    const error = {
      type: "ToolError" as const,
      server: tool.server,
      tool: tool.name,
      message: text,
      retryable: false,
    };
    return { ...groundsOf(outcome), ok: false, error, ...answer, ...ground };
  }
  return { ...groundsOf(outcome), ok: true, data, ...answer, ...ground };
}

/** The places of one check: few for each principal, so that nobody's calls take those of all. */
class Places {
  readonly #limits: { each: number; all: number };
  readonly #taken = new Map<string, number>();
  #all = 0;
  #waiting: { principal: string; enter: () => void }[] = [];

  constructor(limits: { each: number; all: number }) {
    this.#limits = limits;
  }

  /** Resolves with the function that returns the place. Rejects if the signal is aborted first. */
  async take(principal: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (!this.#hasRoom(principal)) await this.#wait(principal, signal);
    else this.#enter(principal);
    return () => this.#leave(principal);
  }

  #wait(principal: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = { principal, enter: resolve };
      this.#waiting.push(waiting);
      signal.addEventListener(
        "abort",
        () => {
          const index = this.#waiting.indexOf(waiting);
          if (index < 0) return;
          this.#waiting.splice(index, 1);
          reject(signal.reason);
        },
        { once: true },
      );
    });
  }

  #hasRoom(principal: string): boolean {
    return this.#all < this.#limits.all && (this.#taken.get(principal) ?? 0) < this.#limits.each;
  }

  #enter(principal: string): void {
    this.#all++;
    this.#taken.set(principal, (this.#taken.get(principal) ?? 0) + 1);
  }

  #leave(principal: string): void {
    const left = (this.#taken.get(principal) ?? 1) - 1;
    this.#all--;
    if (left === 0) this.#taken.delete(principal);
    else this.#taken.set(principal, left);
    const index = this.#waiting.findIndex((each) => this.#hasRoom(each.principal));
    const [next] = index < 0 ? [] : this.#waiting.splice(index, 1);
    if (next === undefined) return;
    this.#enter(next.principal);
    next.enter();
  }
}
