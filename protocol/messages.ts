import * as z from "zod/mini";

/**
 * The messages on the socket. The sandbox says hello, waits for its one program, makes calls, and says done; the host
 * sends the program and answers calls. What comes from the sandbox is a claim until `parseSandboxMessage` has read it.
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
  tool: z.string().check(z.maxLength(512)),
  arguments: z.unknown(),
  /** Send the MCP result along with the normalised data. */
  raw: z.optional(z.boolean()),
});
export type Call = z.infer<typeof Call>;

/** Written to stdout: the runner's line, of this many bytes with its line feed. Nothing of the program is left to run. */
const Done = z.strictObject({ type: z.literal("done"), bytes: z.int().check(z.gte(1)) });

export const SandboxMessage = z.discriminatedUnion("type", [Hello, Call, Done]);
export type SandboxMessage = z.infer<typeof SandboxMessage>;

/** The one program a sandbox runs. */
export interface ProgramMessage {
  type: "program";
  /** One ES module, with an inline source map. */
  bundle: string;
  data: unknown;
  /** Cap on console text, and on the data that the runner may print. */
  max_output_bytes: number;
  max_stderr_bytes: number;
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
  | { type: "reply"; id: number; ok: true; data: unknown; raw?: unknown }
  | { type: "reply"; id: number; ok: false; error: CallError; raw?: unknown };

export type HostMessage = ProgramMessage | ReplyMessage;
