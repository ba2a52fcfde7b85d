import { FrameError } from "../../../protocol/frames.ts";
import { MAX_TOOL_NAME_CHARS } from "../../../protocol/limits.ts";
import type { CallError, ReplyMessage } from "../../../protocol/messages.ts";
import { parseNamespacedName } from "../../../protocol/tool-names.ts";
import type { Channel } from "../channel.ts";
import { carriedByJson } from "../json-value.ts";
import { LateCallError } from "../late-call-error.ts";

const MAX_SHOWN_CHARS = 64;

interface ToolFunction {
  (args?: unknown): Promise<unknown>;
  /** Never rejects: resolves to `{ok: true, data, raw}` or `{ok: false, error, data?, raw?}`, `raw` being the MCP result. */
  result(args?: unknown): Promise<unknown>;
}

/** Makes the functions with which a program calls tools over one channel. */
export function bindTools(channel: Pick<Channel, "call">): {
  tool(name: string): ToolFunction;
  callTool(name: string, args?: unknown): Promise<unknown>;
} {
  async function request(name: unknown, args: unknown, raw: boolean): Promise<ReplyMessage> {
    const called = String(name);
    if (called.length > MAX_TOOL_NAME_CHARS)
      return { type: "reply", id: -1, ok: false, error: tooLongName(called) };
    try {
      return await channel.call(called, args === undefined ? {} : carriedByJson(args, "arguments"), raw);
    } catch (error) {
      return { type: "reply", id: -1, ok: false, error: unsendable(called, error) };
    }
  }

  async function callTool(name: string, args?: unknown): Promise<unknown> {
    const site = new ToolError();
    const reply = await request(name, args, false);
    if (reply.ok) return reply.data;
    throw fillToolError(site, reply.error, reply.data);
  }

  function tool(name: string): ToolFunction {
    return Object.assign((args?: unknown) => callTool(name, args), {
      async result(args?: unknown) {
        const site = new ToolError();
        const reply = await request(name, args, true);
        if (reply.ok) return { ok: true, data: reply.data, raw: reply.raw };
        const { data, raw } = reply;
        const error = fillToolError(site, reply.error, data);
        return {
          ok: false,
          error,
          ...(data === undefined ? {} : { data }),
          ...(raw === undefined ? {} : { raw }),
        };
      },
    });
  }

  return { tool, callTool };
}

/** The error for a name that is longer than any tool's. The host refuses calls with such a name. */
function tooLongName(name: string): CallError {
  const tool = `${name.slice(0, MAX_SHOWN_CHARS)}...`;
  const message = `'${tool}' is not available in execute_program`;
  return { type: "ToolError", server: "", tool, message, retryable: false };
}

function unsendable(name: string, error: unknown): CallError {
  const isKnown = [FrameError, TypeError, LateCallError].some((kind) => error instanceof kind);
  const reason = isKnown ? (error as Error).message : String(error);
  const why =
    error instanceof LateCallError ? reason : `its arguments cannot be sent: ${reason.split("\n")[0]}`;
  return {
    type: "ToolError",
    server: parseNamespacedName(name)?.module ?? "",
    tool: parseNamespacedName(name)?.tool ?? name,
    message: `'${name}' was not called: ${why}`,
    retryable: false,
  };
}

/** Thrown by a failed tool call. Scripts catch it as the global `ToolError`. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  server = "";
  tool = "";
  retryable = false;
  /** What the tool says of its failure as structured content, or its answer if that contradicts what the tool declares. */
  declare data?: unknown;
}

/** The wire type of each error, kept outside the object: `ApprovalDenied` ends a run differently from `ToolError`. */
const wireTypes = new WeakMap<ToolError, CallError["type"]>();

/** Fills in an error that was created where the script made its call, so that its stack names that line. */
export function fillToolError(error: ToolError, from: CallError, data?: unknown): ToolError {
  error.message = from.message;
  error.server = from.server;
  error.tool = from.tool;
  error.retryable = from.retryable;
  // Not enumerable, so that a printed error does not show the whole answer.
  if (data !== undefined) Object.defineProperty(error, "data", { value: data, configurable: true });
  wireTypes.set(error, from.type);
  return error;
}

export function wireTypeOf(error: ToolError): CallError["type"] {
  return wireTypes.get(error) ?? "ToolError";
}
