import type { PendingApproval } from "../../../host/approvals/pending-approvals.ts";

/** A question as JSON has it. */
export function describePending({
  ticket,
  request,
  askedAt,
  expiresAt,
  isAnswered,
  isLive,
  source,
  fileName,
}: PendingApproval) {
  return {
    ticket,
    run_id: request.runId,
    source,
    file_name: fileName,
    asked_at: new Date(askedAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    answered: isAnswered,
    /** Whether the run still has its sandbox, and goes on by itself with the answer. */
    live: isLive,
    tool: request.tool,
    definition_digest: request.definitionDigest,
    arguments_digest: request.argumentsDigest,
    arguments: request.arguments ?? null,
    /** Why a rule has it asked about. */
    reason: request.reason ?? null,
    /** The server's own words about the tool. Nobody has checked them. */
    server_claims: request.claims ?? null,
  };
}
