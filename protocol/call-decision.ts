/**
 * The decision about a call: it passed without a question or after an approval, or a check in front of the server stopped it. A
 * call that passed may still have failed at the server.
 */
export const CALL_DECISIONS = [
  "allowed",
  "approved-once",
  "approved-for-run",
  "denied",
  "unavailable",
  /** A rule or the data flow forbids the call, or no decision was possible. */
  "forbidden",
  "drifted",
  "invalid",
  /** The audit log could not be written. With `audit: strict`, no call with an effect is sent without its audit line. */
  "unaudited",
  /** The server could not be started or reached. */
  "unreachable",
  /** The program ended before the call was answered. */
  "unanswered",
] as const;
export type CallDecision = (typeof CALL_DECISIONS)[number];

/** The policy's decision about a call. */
export interface PolicyDecided {
  /** The configured name of the server. */
  server: string;
  /** The namespaced name. */
  tool: string;
  decision: string;
  /** The entry of a list, or the name of the policy, that decided. */
  rule?: string | undefined;
  reason?: string | undefined;
  /** Of the arguments that a check puts in the place of those of the program. */
  argumentsDigest?: string | undefined;
}

/** How a question about a call was answered. */
export interface ApprovalAnswered {
  server: string;
  tool: string;
  argumentsDigest: string;
  decision: string;
  /** Whether the approval covers only this call, or which later calls too. */
  scope?: string | undefined;
  /** The person or program that answered. */
  approver: string;
  /** The way the answer came: a terminal, a client, a command. */
  how?: string | undefined;
  /** The id of the passkey with which it was approved. */
  credential?: string | undefined;
}
