/**
 * What was decided about a call: let through without a question or by an approval, or stopped by one of the checks in front of
 * the server. Of a call that was let through, the server may have failed.
 */
export const CALL_DECISIONS = [
  "allowed",
  "approved-once",
  "approved-for-run",
  "denied",
  "unavailable",
  /** A rule or the data flow forbids it, or whether it may be could not be decided. */
  "forbidden",
  "drifted",
  "invalid",
  /** Its line could not be written to the audit log, without which no call with an effect goes out (`audit: strict`). */
  "unaudited",
  /** Its server could not be started or reached. */
  "unreachable",
  /** Its program ended before it was answered. */
  "unanswered",
] as const;
export type CallDecision = (typeof CALL_DECISIONS)[number];

/** What policy decided about a call. */
export interface PolicyDecided {
  /** The configured name of the server. */
  server: string;
  /** The namespaced name. */
  tool: string;
  decision: string;
  /** What decided: an entry of a list, or the name of a policy. */
  rule?: string | undefined;
  reason?: string | undefined;
}

/** How a question about a call was answered. */
export interface ApprovalAnswered {
  server: string;
  tool: string;
  argumentsDigest: string;
  decision: string;
  /** What was approved: this call, or which later ones too. */
  scope?: string | undefined;
  /** Who or what answered. */
  approver: string;
  /** Through what the answer came: a terminal, a client, a command. */
  how?: string | undefined;
}
