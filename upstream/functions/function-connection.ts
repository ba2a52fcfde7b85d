import { messageOf, outsideBoundaries } from "../../base/faults.ts";
import { inTime, orAborted } from "../../base/waiting.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import type { OnCallProgress, UpstreamCall, UpstreamConnection, UpstreamListing } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";

/** The server of the functions of the program that ptc is a library of, and its module in code. */
export const FUNCTION_SERVER = "functions";

/** A function of the program that ptc is a library of, which is called as a tool. */
export interface HostFunction {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
  readonly annotations?: object | undefined;
  /** The time of one call; by default that of all tools. */
  readonly timeoutMs?: number | undefined;
  /** Calls it. What it throws is the failure of the tool, and its message is what the program reads. */
  call(args: unknown, context: FunctionContext): unknown;
}

/** What a function is called with beside its arguments. */
export interface FunctionContext {
  /** On whose behalf it is called. */
  readonly principal: string;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Tells how far it has come. */
  readonly onProgress: OnCallProgress;
}

/** The tools of functions, as servers list theirs (MCP 2025-11-25, "Tool"). */
export function listFunctions(functions: readonly HostFunction[], version: string): UpstreamListing {
  return {
    implementation: { name: "ptc functions", version },
    protocolVersion: "2025-11-25",
    tools: functions.map(({ call: _, timeoutMs: __, ...definition }) =>
      // Members without a value are none, as they would be over a wire.
      JSON.parse(JSON.stringify(definition)),
    ),
  };
}

/**
 * Functions of this process, as a server that lists and answers. What goes in and comes out is data: a function shares no object
 * with a run. One that does not answer in time is not waited for, and learns of that by its signal.
 */
export class FunctionConnection implements UpstreamConnection {
  readonly #functions: ReadonlyMap<string, HostFunction>;
  readonly #options: { principal: string; version: string };
  readonly #closed = new AbortController();

  /** @param options `principal` is on whose behalf functions are called, `version` what the server says it is. */
  constructor(functions: readonly HostFunction[], options: { principal: string; version: string }) {
    this.#functions = new Map(functions.map((each) => [each.name, each]));
    this.#options = options;
  }

  async list(): Promise<UpstreamListing> {
    return listFunctions([...this.#functions.values()], this.#options.version);
  }

  async callTool({ tool, arguments: args, signal, timeoutMs, spentMs = 0, onProgress }: UpstreamCall) {
    const called = this.#functions.get(tool);
    if (called === undefined) return failed(`there is no function '${tool}'`);
    const limitMs = Math.min(called.timeoutMs ?? timeoutMs, timeoutMs);
    const late = new AbortController();
    const over = AbortSignal.any([signal, this.#closed.signal, late.signal]);
    const context: FunctionContext = {
      principal: this.#options.principal,
      signal: over,
      onProgress: (report) => over.aborted || onProgress?.(report),
    };
    // A fault that comes later is the function's own, and ends no run.
    const working = outsideBoundaries(async () => called.call(args, context));
    working.catch(() => {});
    const cancelled = () =>
      new UpstreamError("cancelled", `function '${tool}' was not waited for: the call is cancelled`);
    let value: unknown;
    try {
      value = await inTime(orAborted(working, over, cancelled), limitMs - spentMs, () => {
        const error = new UpstreamError(
          "call_timeout",
          `function '${tool}' gave no answer within ${limitMs / 1_000} s`,
        );
        late.abort(error);
        return error;
      });
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      return failed(messageOf(error) || `function '${tool}' failed without a message`);
    }
    return answerOf(tool, value);
  }

  onToolsChanged(): void {
    // Its functions are those that it was made with.
  }

  onLost(): void {
    // There is no connection that could be lost.
  }

  async close(): Promise<void> {
    this.#closed.abort();
  }
}

function answerOf(tool: string, value: unknown): unknown {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    return failed(`function '${tool}' returned a value that JSON cannot carry: ${messageOf(error)}`);
  }
  if (json === undefined && value !== undefined)
    return failed(`function '${tool}' returned a ${typeof value}, which JSON cannot carry`);
  const bytes = Buffer.byteLength(json ?? "");
  if (bytes > MAX_REPLY_FRAME_BYTES)
    return failed(`function '${tool}' returned ${bytes} bytes, more than ${MAX_REPLY_FRAME_BYTES}`);
  return { content: [], structuredContent: json === undefined ? null : JSON.parse(json) };
}

/** The result of a tool that has failed. */
function failed(text: string): unknown {
  return { isError: true, content: [{ type: "text", text }] };
}
