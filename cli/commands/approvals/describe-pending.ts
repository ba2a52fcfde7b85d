import type { PendingApproval } from "../../../host/approvals/pending-approvals.ts";

/** A question as JSON has it. */
export function describePending({
  ticket,
  request,
  askedAt,
  expiresAt,
  isAnswered,
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
    tool: request.tool,
    definition_digest: request.definitionDigest,
    arguments_digest: request.argumentsDigest,
    arguments: request.arguments ?? null,
    /** The server's own words about the tool. Nobody has checked them. */
    server_claims: request.claims ?? null,
  };
}
