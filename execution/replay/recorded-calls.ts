import { writeJson } from "../../base/json.ts";
import { whenAborted } from "../../base/waiting.ts";
import type { CallDispatcher, CallOutcome, RequestedCall } from "../../broker/dispatcher.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { ApprovalState } from "../../protocol/envelope.ts";
import type { CallError } from "../../protocol/messages.ts";
import { parseNamespacedName } from "../../protocol/tool-names.ts";

/** A call of an archived run. Its values are read when they are needed. */
export interface RecordedCall {
  seq: number;
  tool: string;
  /** Digest of the canonical JSON of its arguments. */
  argumentsDigest: string;
  decision: CallOutcome["decision"];
  bytes: number;
  arguments(): Promise<unknown>;
  outcome(): Promise<
    | { ok: true; data: unknown; raw?: unknown; warning?: string | undefined }
    | { ok: false; error: CallError; data?: unknown; raw?: unknown }
  >;
}

const MAX_SHOWN_CHARS = 300;
const APPROVED: ReadonlySet<RecordedCall["decision"]> = new Set(["approved-once", "approved-for-run"]);

/**
 * Answers calls from a record, without any server. Calls match by tool and arguments. Equal calls are answered in the order in
 * which they were recorded.
 */
export class RecordedCalls implements CallDispatcher {
  readonly #waiting = new Map<string, RecordedCall[]>();
  readonly #redact: (value: unknown) => unknown;
  readonly #onUnknown: (message: string) => void;
  #approvalState: ApprovalState = "NOT_REQUIRED";

  /**
   * @param redact redacts arguments as they were redacted for the archive.
   * @param onUnknown receives every call that was not recorded. Such a call is not answered.
   */
  constructor(
    calls: readonly RecordedCall[],
    redact: (value: unknown) => unknown,
    onUnknown: (message: string) => void,
  ) {
    this.#redact = redact;
    this.#onUnknown = onUnknown;
    for (const call of calls) {
      const key = keyOf(call.tool, call.argumentsDigest);
      this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), call]);
    }
  }

  async dispatch(call: RequestedCall, { signal }: { signal: AbortSignal }): Promise<CallOutcome> {
    const args = this.#redact(call.arguments);
    const tool = String(this.#redact(call.tool));
    const recorded = this.#waiting.get(keyOf(tool, digestOf(args)))?.shift();
    if (recorded === undefined) {
      const refused = await this.#refuse(tool, args);
      await whenAborted(signal);
      return refused;
    }
    const { decision, bytes } = recorded;
    // The recorded program ended before this call was answered, so it is not answered now either.
    if (decision === "unanswered") await whenAborted(signal);
    if (decision === "denied") this.#approvalState = "DENIED";
    else if (APPROVED.has(decision) && this.#approvalState === "NOT_REQUIRED")
      this.#approvalState = "APPROVED";
    const outcome = await recorded.outcome();
    return outcome.ok ? { ...outcome, raw: outcome.raw, decision, bytes } : { ...outcome, decision, bytes };
  }

  /** The recorded calls that the program has not made, in the order of the record. */
  get missing(): RecordedCall[] {
    return [...this.#waiting.values()].flat().sort((a, b) => a.seq - b.seq);
  }

  /** The approval state of the calls that were answered. */
  get approvalState(): ApprovalState {
    return this.#approvalState;
  }

  async #refuse(tool: string, args: unknown): Promise<CallOutcome> {
    const got = describeCall(tool, args);
    const next = this.missing.find((call) => call.tool === tool) ?? this.missing[0];
    const expected =
      next === undefined
        ? "no further call"
        : `call ${next.seq}: ${describeCall(next.tool, await next.arguments())}`;
    const message = `the program made a call that is not in the record: expected ${expected}; got ${got}`;
    this.#onUnknown(message);
    const { module: server = "", tool: name = tool } = parseNamespacedName(tool) ?? {};
    const error = { type: "ToolError", server, tool: name, message, retryable: false } as const;
    return { ok: false, error, decision: "unavailable", bytes: 0 };
  }
}

function keyOf(tool: string, argumentsDigest: string): string {
  return `${argumentsDigest} ${tool}`;
}

export function describeCall(tool: string, args: unknown): string {
  const text = writeJson(args) ?? "";
  return `${tool}(${text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}...`})`;
}
