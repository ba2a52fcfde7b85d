import { messageOf, outsideBoundaries } from "../../base/faults.ts";
import { readJson, withTextNumbers, writeJson } from "../../base/json.ts";
import { findPrototypeMember } from "../../base/prototype-member.ts";
import { oneLine } from "../../base/visible-text.ts";
import { inTime, orAborted } from "../../base/waiting.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import type { OnCallProgress, UpstreamCall, UpstreamConnection, UpstreamListing } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";

/** The name of the server for functions of the host program that uses ptc as a library, and of its module in code. */
export const FUNCTION_SERVER = "functions";

/** A function of the host program that is called as a tool. */
export interface HostFunction {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
  readonly annotations?: object | undefined;
  /** The time limit of one call; by default that of all tools. */
  readonly timeoutMs?: number | undefined;
  /** Calls it. If it throws, the tool has failed, and the program reads the error's message. */
  call(args: unknown, context: FunctionContext): unknown;
}

/** Passed to a function in addition to its arguments. */
export interface FunctionContext {
  /** The principal on whose behalf it is called. */
  readonly principal: string;
  /** Aborts when the answer is no longer awaited. */
  readonly signal: AbortSignal;
  /** Reports progress. */
  readonly onProgress: OnCallProgress;
}

/** The tools of functions, as servers list theirs (MCP 2025-11-25, "Tool"). */
export function listFunctions(functions: readonly HostFunction[], version: string): UpstreamListing {
  return {
    implementation: { name: "ptc functions", version },
    protocolVersion: "2025-11-25",
    tools: functions.map(({ call: _, timeoutMs: __, ...definition }) =>
      // Removes members without a value, as sending them would.
      JSON.parse(JSON.stringify(definition)),
    ),
  };
}

/**
 * Presents functions of this process as a server. Arguments and results are copied as data, so a function shares no objects with a
 * run. If a function does not answer in time, its result is no longer awaited, and its signal aborts.
 */
export class FunctionConnection implements UpstreamConnection {
  readonly #functions: ReadonlyMap<string, HostFunction>;
  readonly #options: { principal: string; version: string };
  readonly #closed = new AbortController();

  /** @param options the principal on whose behalf functions are called, and the version that the server reports. */
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
    const at = findPrototypeMember(args);
    if (at !== undefined)
      return failed(
        `the arguments have a member named __proto__, at ${oneLine(at)}: no function is given one`,
      );
    const limitMs = Math.min(called.timeoutMs ?? timeoutMs, timeoutMs);
    const late = new AbortController();
    const over = AbortSignal.any([signal, this.#closed.signal, late.signal]);
    const context: FunctionContext = {
      principal: this.#options.principal,
      signal: over,
      onProgress: (report) => over.aborted || onProgress?.(report),
    };
    // A later fault is the function's own and does not end a run.
    const working = outsideBoundaries(async () => called.call(withTextNumbers(args), context));
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
    // Its functions never change.
  }

  onLost(): void {
    // There is no connection to lose.
  }

  async close(): Promise<void> {
    this.#closed.abort();
  }
}

function answerOf(tool: string, value: unknown): unknown {
  let json: string | undefined;
  try {
    json = writeJson(value);
  } catch (error) {
    return failed(`function '${tool}' returned a value that JSON cannot carry: ${oneLine(messageOf(error))}`);
  }
  if (json === undefined && value !== undefined)
    return failed(`function '${tool}' returned a ${typeof value}, which JSON cannot carry`);
  const bytes = Buffer.byteLength(json ?? "");
  if (bytes > MAX_REPLY_FRAME_BYTES)
    return failed(`function '${tool}' returned ${bytes} bytes, more than ${MAX_REPLY_FRAME_BYTES}`);
  return { content: [], structuredContent: json === undefined ? null : readJson(json) };
}

/** The result of a failed tool. */
function failed(text: string): unknown {
  return { isError: true, content: [{ type: "text", text }] };
}
