import * as z from "zod/mini";
import { EmittedBlock } from "./emitted.ts";
import type { TextPlace } from "./frames.ts";
import { MAX_TOOL_NAME_CHARS, MAX_TRACE_SERIES_CHARS } from "./limits.ts";
import { MAX_ROUNDED_PLACES } from "./rounded-places.ts";

/**
 * The messages on the socket. The sandbox says hello, waits for its program, makes calls, emits blocks, sends the trace for a
 * replay, and says done. The host sends the program and answers calls. A session repeats all of this for each program. Messages
 * from the sandbox are unverified claims until they are parsed.
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
  /** Asks for the MCP result in addition to the normalised data. */
  raw: z.optional(z.boolean()),
  /** JSON pointers to whole numbers beyond 2^53 in the arguments that a runner's language holds rounded. */
  rounded: z.optional(z.array(z.string()).check(z.maxLength(MAX_ROUNDED_PLACES))),
});
export type Call = z.infer<typeof Call>;

/**
 * The program has ended and left nothing to run. `bytes` is the length of the line that the runner wrote to stdout, including the
 * line feed. `console_bytes` is the length of its console records on stderr.
 */
const Done = z.strictObject({
  type: z.literal("done"),
  bytes: z.int().check(z.gte(1)),
  console_bytes: z.int().check(z.gte(0)),
});

const Series = z.string().check(z.maxLength(MAX_TRACE_SERIES_CHARS), z.regex(/^[A-Za-z0-9+/=]*$/));

/**
 * Everything that happened to a program and does not follow from its text, so that a replay can repeat it. Like all output of a
 * sandbox it is a claim: the host stores it unread, and only ever sends it back into a sandbox.
 */
export const Trace = z.strictObject({
  /** The program's clock when it started, in milliseconds since 1970. */
  started_ms: z.int().check(z.gte(0)),
  /** Every reading of the clock, as a series (series.ts) of hundredths of a millisecond since the start. */
  clock: Series,
  /** The events delivered to the program, in order, as a series: 2 * id for an answered call, 2 * id + 1 for a fired timer. */
  events: Series,
  /** False when a series exceeded its limit and holds only the beginning. */
  complete: z.boolean(),
});
export type Trace = z.infer<typeof Trace>;

/** The trace so far. The last one received is the trace of the run. */
const TraceMessage = z.strictObject({ type: z.literal("trace"), trace: Trace });

/** A block for the client, in addition to the output of the program. */
const Emit = z.strictObject({ type: z.literal("emit"), block: EmittedBlock });

export const SandboxMessage = z.discriminatedUnion("type", [Hello, Call, TraceMessage, Emit, Done]);
export type SandboxMessage = z.infer<typeof SandboxMessage>;

/** The program that a sandbox runs. In a session it is the next program. */
export interface ProgramMessage {
  type: "program";
  /** One ES module, with an inline source map. */
  bundle: string;
  data: unknown;
  /** Gives the program whole numbers beyond 2^53 as BigInts. By default a language that rounds them has them as text. */
  exact?: true;
  /** Files that the runner puts into `files/` of the workspace before the program begins. */
  files?: readonly { name: string; base64: string }[];
  /** Cap on console text, and on the data that the runner may print. */
  max_output_bytes: number;
  /** Caps on the data of a program that sets a result, when they are larger than usual. */
  max_result?: { bytes: number; values: number };
  max_stderr_bytes: number;
  /** Asks for a trace. By default the runner sends none, and the program still has its own randomness. */
  environment?: ProgramEnvironment;
  /** Keeps the runner for further programs, each requested with `next`. By default the runner ends. */
  session?: true;
  /**
   * How long a runner that does not stay waits for the end of its sandbox before it exits, in milliseconds. It does not wait when
   * the program has left threads, because they would run meanwhile. By default it exits at once.
   */
  linger_ms?: number;
}

/** The inputs of a program besides its data and the answers to its calls. */
export interface ProgramEnvironment {
  /** 32 bytes in hex from which all randomness of the program is derived. Fresh and secret in a live run. */
  seed: string;
  /** IANA name. Defaults to the time zone of the container. */
  time_zone?: string;
  /**
   * The trace to replay. The clock starts at `started_ms` and gives the same readings. Calls are answered and timers fire in the
   * same order. When a series ends (an empty one ends at once), the program continues live. Its clock then continues from the last
   * reading, or from the present when the run `resumes`.
   */
  replay?: Pick<Trace, "started_ms" | "clock" | "events"> & { resumes?: true };
}

/** Why a call failed, as the program sees it: the fields of `ToolError`. */
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
      /** The places in `data` of the texts that follow as separate frames, in this order. */
      texts?: readonly TextPlace[];
    }
  /** `data`: the tool's answer when it contradicts the tool's declared output. */
  | { type: "reply"; id: number; ok: false; error: CallError; data?: unknown; raw?: unknown };

/** Asks for a trace of everything delivered so far. A runner that does not know this message ignores it. */
export interface TraceRequest {
  type: "trace";
}

/**
 * Asks the runner of a session for a hello. A program follows. From that hello on, the payload of each frame from the runner begins
 * with a mark of {@link SESSION_MARK_BYTES}, which distinguishes it from anything that an earlier program left behind.
 */
export interface NextRequest {
  type: "next";
  /** In hex. The first key, sent before any program, is the key of the session. The runner keeps it secret. */
  key?: string;
  /** In hex. Different in each request. */
  nonce: string;
}

/**
 * Tells a runner that it may be one of several copies, restored from an older snapshot of its memory. The runner takes fresh
 * randomness from the kernel, so that no two copies draw the same values, and then says hello. No program has come before.
 */
export interface WakeRequest {
  type: "wake";
}

/** Bytes of the mark before each message in a session: HMAC-SHA-256 of the nonce with the key of the session. */
export const SESSION_MARK_BYTES = 32;

export type HostMessage = ProgramMessage | ReplyMessage | TraceRequest | NextRequest | WakeRequest;
