import { setImmediate } from "node:timers/promises";
import type { Clock } from "../base/clock.ts";
import { oneLine } from "../base/visible-text.ts";
import type { CallInterceptor } from "../broker/call-interceptors.ts";
import type { CallOutcome } from "../broker/dispatcher.ts";
import { sketchOf, type ToolAnswer } from "../languages/tool-answers.ts";
import { parseNamespacedName } from "../protocol/tool-names.ts";
import type { UnansweredCall } from "./pending-calls.ts";

/** One call of a program that has ended. */
export interface ObservedCall {
  /** The number of the call within its run, from 1, in the order in which calls began. */
  seq: number;
  /** `mcp__<server_module>__<tool>`, as the program wrote it. */
  tool: string;
  arguments: unknown;
  /** Whether the program asked for the raw MCP result too. */
  raw: boolean;
  /** Milliseconds since the program was sent to the sandbox. */
  startedMs: number;
  durationMs: number;
  outcome: CallOutcome;
}

export interface CallObserver {
  /** A call has begun; `seq` is its number within the run. */
  onCallStarted?: ((call: { seq: number; tool: string }) => void) | undefined;
  /**
   * A call has ended. Calls come in the order of their ends; those that were unanswered when the program ended come last.
   * While observers are many calls behind, the program waits for its answers.
   */
  onCall?: ((call: ObservedCall) => void | Promise<void>) | undefined;
}

/** The most tools whose answers are kept for advice. */
const MAX_ANSWERS = 8;

type OpenCall = Omit<ObservedCall, "durationMs" | "outcome">;

const MAX_WARNINGS = 20;
const MAX_WARNINGS_OF_TOOL = 3;
const MAX_WARNING_CHARS = 600;

/** Collects the warnings about the answers of one run. Their number is bounded, however many calls the run makes. */
class CallWarnings {
  /** By tool: the first warning of each kind, and how many answers caused it. */
  readonly #byTool = new Map<string, Map<string, { text: string; count: number }>>();
  #kinds = 0;
  #others = 0;

  note({ tool, outcome }: Pick<ObservedCall, "tool" | "outcome">): void {
    if (!outcome.ok || outcome.warning === undefined) return;
    const ofTool = this.#byTool.get(tool) ?? new Map<string, { text: string; count: number }>();
    this.#byTool.set(tool, ofTool);
    // Warnings of one kind differ only in an index of a list and in the value found there.
    const kind = outcome.warning.replace(/\[\d+\]/g, "[]").replace(/, not .*$/s, "");
    const known = ofTool.get(kind);
    if (known !== undefined) known.count++;
    else if (this.#kinds >= MAX_WARNINGS || ofTool.size >= MAX_WARNINGS_OF_TOOL) this.#others++;
    else {
      this.#kinds++;
      ofTool.set(kind, { text: oneLine(outcome.warning, MAX_WARNING_CHARS), count: 1 });
    }
  }

  /** One line for each kind. */
  get lines(): string[] {
    const kinds = [...this.#byTool.values()].flatMap((ofTool) => [...ofTool.values()]);
    const lines = kinds.map(({ text, count }) => (count === 1 ? text : `${text} (and so ${count - 1} more)`));
    if (this.#others > 0) lines.push(`${this.#others} more answers contradict their outputSchema`);
    return lines;
  }
}

/** The most ended calls that wait for observers. Above this, the program waits too, because results take memory. */
const MAX_BEHIND = 16;
/** How long observers receive calls before the event loop gets a turn. */
const SLICE_MS = 2;

/** Observes the calls of one run. */
export class CallLog {
  readonly #observers: readonly CallObserver[];
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #startedAt: number;
  readonly #open = new Map<number, OpenCall>();
  #count = 0;
  /** Ended calls that observers have not finished with. */
  #behind = 0;
  /** Ended calls that observers have not received. */
  readonly #untold: ObservedCall[] = [];
  #telling: Promise<void> | undefined;
  #denied = false;
  readonly #warnings = new CallWarnings();
  readonly #answers = new Map<string, unknown>();

  /** Times are counted from now. */
  constructor(observers: readonly CallObserver[], clock: Pick<Clock, "monotonicMs">) {
    this.#observers = observers;
    this.#clock = clock;
    this.#startedAt = clock.monotonicMs();
  }

  /** Whether an approval was denied to any call. */
  get denied(): boolean {
    return this.#denied;
  }

  /** The warnings about the answers so far, one line each. */
  get warnings(): string[] {
    return this.#warnings.lines;
  }

  /** Sketches of the last answers of the first tools that answered. */
  get answers(): ToolAnswer[] {
    return [...this.#answers].map(([tool, value]) => ({ tool, value }));
  }

  /** Numbers each call that has no number, and notes it. An outcome that comes after the program has ended and the call was aborted is no answer. */
  readonly aroundCalls: CallInterceptor = (next) => async (requested, run) => {
    const { tool, arguments: args, raw = false } = requested;
    const seq = run.seq ?? ++this.#count;
    const call: OpenCall = { seq, tool, arguments: args, raw, startedMs: this.elapsedMs };
    this.#open.set(seq, call);
    for (const observer of this.#observers) observer.onCallStarted?.({ seq, tool });
    const outcome = await next(requested, { ...run, seq });
    if (outcome.decision === "denied") this.#denied = true;
    if (outcome.ok && !raw && (this.#answers.has(tool) || this.#answers.size < MAX_ANSWERS))
      this.#answers.set(tool, sketchOf(outcome.data));
    if (!run.signal.aborted && this.#open.delete(seq)) this.#note(call, outcome);
    if (this.#behind > MAX_BEHIND) await this.#telling;
    return outcome;
  };

  /** The calls without an answer so far, the oldest first. */
  get pending(): UnansweredCall[] {
    const now = this.elapsedMs;
    return [...this.#open.values()].map(({ tool, startedMs }) => ({ tool, pendingMs: now - startedMs }));
  }

  /** Milliseconds since the program was sent. */
  get elapsedMs(): number {
    return this.#clock.monotonicMs() - this.#startedAt;
  }

  /** Resolves when observers are done with the calls that have ended. Open calls are not noted, because they will be made again. */
  async abandon(): Promise<void> {
    this.#open.clear();
    await this.#telling;
  }

  /** Notes every open call as unanswered. Resolves when observers are done. */
  async end(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const call of open) this.#note(call, unanswered(call.tool));
    await this.#telling;
  }

  /** Queues a call for the observers. They receive it after the answer has been sent, so that they do not delay the program. */
  #note(call: OpenCall, outcome: CallOutcome): void {
    const durationMs = this.elapsedMs - call.startedMs;
    const record: ObservedCall = { ...call, durationMs, ...outcome.earlier, outcome };
    this.#warnings.note(record);
    this.#behind++;
    this.#untold.push(record);
    this.#telling ??= this.#tell();
  }

  /** Tells observers of calls in the order of their ends. Between slices, the event loop answers other calls. */
  async #tell(): Promise<void> {
    await setImmediate();
    let sliceEndsAt = performance.now() + SLICE_MS;
    for (let call = this.#untold.shift(); call !== undefined; call = this.#untold.shift()) {
      for (const observer of this.#observers) {
        try {
          await observer.onCall?.(call);
        } catch {
          // A failing observer must not keep this call or a later one from the others.
        }
      }
      this.#behind--;
      if (performance.now() < sliceEndsAt) continue;
      await setImmediate();
      sliceEndsAt = performance.now() + SLICE_MS;
    }
    this.#telling = undefined;
  }
}

function unanswered(name: string): CallOutcome {
  const { module: server = "", tool = name } = parseNamespacedName(name) ?? {};
  const message = `'${name}' was not answered before the program ended`;
  const error = { type: "ToolError", server, tool, message, retryable: false } as const;
  return { ok: false, error, decision: "unanswered", bytes: 0 };
}
