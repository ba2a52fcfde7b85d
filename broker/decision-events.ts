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

/** Is told what happens in one run beside its calls, for whoever keeps a log of it. Neither waits, nor throws. */
export interface RunEvents {
  onDecision?(decided: PolicyDecided): void;
  onApproval?(answered: ApprovalAnswered): void;
}
