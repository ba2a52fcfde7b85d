import * as z from "zod/mini";
import { EmittedBlock } from "./emitted.ts";
import type { TextPlace } from "./frames.ts";
import { MAX_TOOL_NAME_CHARS, MAX_TRACE_SERIES_CHARS } from "./limits.ts";

/**
 * The messages on the socket. The sandbox says hello, waits for its program, makes calls, emits blocks, sends what it
 * takes to replay it, and says done; the host sends the program and answers calls. In a session all of that begins anew with
 * each program. What comes from the sandbox is a claim until it has been parsed.
 */

const Hello = z.strictObject({
  type: z.literal("hello"),
  protocol: z.int(),
  language: z.string(),
  runtime: z.string(),
});
export type Hello = z.infer<typeof Hello>;

const Call = z.strictObject({
  type: z.literal("call"),
  id: z.int().check(z.gte(0)),
  /** Namespaced name, `mcp__<server_module>__<tool>`. */
  tool: z.string().check(z.maxLength(MAX_TOOL_NAME_CHARS)),
  arguments: z.unknown(),
  /** Send the MCP result along with the normalised data. */
  raw: z.optional(z.boolean()),
});
export type Call = z.infer<typeof Call>;

/**
 * The program has ended, and nothing of it is left to run. Says how many bytes the runner wrote: to stdout its one line with
 * the line feed, to stderr its console records.
 */
const Done = z.strictObject({
  type: z.literal("done"),
  bytes: z.int().check(z.gte(1)),
  console_bytes: z.int().check(z.gte(0)),
});

const Series = z.string().check(z.maxLength(MAX_TRACE_SERIES_CHARS), z.regex(/^[A-Za-z0-9+/=]*$/));

/**
 * What happened to a program that its own text does not decide, so that it can be made to happen again. A claim like all
 * that comes out of a sandbox: the host keeps it unread, and it only ever goes back into a sandbox.
 */
export const Trace = z.strictObject({
  /** The program's clock when it started, in milliseconds since 1970. */
  started_ms: z.int().check(z.gte(0)),
  /** Every reading of the clock, as a series (series.ts) of hundredths of a millisecond since the start. */
  clock: Series,
  /** What was delivered to the program, in order, as a series: 2 * id of a call answered, 2 * id + 1 of a timer fired. */
  events: Series,
  /** False when a series was longer than is kept: it then holds the beginning. */
  complete: z.boolean(),
});
export type Trace = z.infer<typeof Trace>;

/** The trace so far. The last one that comes is the trace of the run. */
const TraceMessage = z.strictObject({ type: z.literal("trace"), trace: Trace });

/** A block for the client beside the output of the program. */
const Emit = z.strictObject({ type: z.literal("emit"), block: EmittedBlock });

export const SandboxMessage = z.discriminatedUnion("type", [Hello, Call, TraceMessage, Emit, Done]);
export type SandboxMessage = z.infer<typeof SandboxMessage>;

/** The program that a sandbox runs; in a session, the next of its programs. */
export interface ProgramMessage {
  type: "program";
  /** One ES module, with an inline source map. */
  bundle: string;
  data: unknown;
  /** Files that the runner puts into `files/` of the workspace before the program begins. */
  files?: readonly { name: string; base64: string }[];
  /** Cap on console text, and on the data that the runner may print. */
  max_output_bytes: number;
  /** Caps on the data of a program that sets a result, where they are larger than usual. */
  max_result?: { bytes: number; values: number };
  max_stderr_bytes: number;
  /** Asks for a trace. Otherwise nothing is sent, though the program still runs with its own randomness. */
  environment?: ProgramEnvironment;
  /** Makes the runner stay for further programs, each requested with `next`. Otherwise the runner ends. */
  session?: true;
  /**
   * How long a runner that does not stay may wait before it ends itself, for its sandbox to be ended. It does not wait where the
   * program has left threads, which would run meanwhile. By default it ends at once.
   */
  linger_ms?: number;
}

/** What a program learns about the world besides its data and the answers to its calls. */
export interface ProgramEnvironment {
  /** 32 bytes in hex that all randomness of the program comes from; fresh and secret in a live run. */
  seed: string;
  /** IANA name; that of the container without one. */
  time_zone?: string;
  /**
   * Replays this: the clock starts there and gives the same readings, calls are answered and timers fire in the same
   * order. Where a series ends (an empty one at once) the program goes on live: its clock from the last reading, or, when
   * the run `resumes`, from the present.
   */
  replay?: Pick<Trace, "started_ms" | "clock" | "events"> & { resumes?: true };
}

/** Why a call failed, as the script sees it: the fields of `ToolError`. */
export interface CallError {
  type: "ToolError" | "ApprovalDenied";
  server: string;
  tool: string;
  message: string;
  retryable: boolean;
}

export type ReplyMessage =
  | {
      type: "reply";
      id: number;
      ok: true;
      data: unknown;
      raw?: unknown;
      /** Where in `data` the texts stand that follow as frames of their own, in this order. */
      texts?: readonly TextPlace[];
    }
  /** `data`: what the tool answered all the same, where that contradicts what it promises. */
  | { type: "reply"; id: number; ok: false; error: CallError; data?: unknown; raw?: unknown };

/** Asks for a trace of all that was delivered so far. A runner that does not know this message ignores it. */
export interface TraceRequest {
  type: "trace";
}

/**
 * Asks the runner of a session for a hello. A program follows. From that hello on, the payload of each of the runner's frames
 * begins with a mark of {@link SESSION_MARK_BYTES}, by which what an earlier program has left is told from it.
 */
export interface NextRequest {
  type: "next";
  /** In hex. The first one, which comes before any program, is the session's; the runner keeps it to itself. */
  key?: string;
  /** In hex, another one each time. */
  nonce: string;
}

/**
 * Tells a runner that it may be one of several copies, made from a snapshot of its memory a while ago. It takes fresh randomness
 * from the kernel, so that no two copies draw alike, and says hello when it has. No program has come before.
 */
export interface WakeRequest {
  type: "wake";
}

/** Bytes of what the runner of a session puts before each message: HMAC-SHA-256 of the nonce, under the key of the session. */
export const SESSION_MARK_BYTES = 32;

export type HostMessage = ProgramMessage | ReplyMessage | TraceRequest | NextRequest | WakeRequest;
