import { unmistakableLine } from "../../../base/text/unmistakable-line.ts";
import { visibleLine } from "../../../base/text/visible-text.ts";
import { renderClaims } from "../../../broker/approvals/approval-claims.ts";
import { renderApprovalArguments, WHOLE } from "../../../broker/approvals/approval-text.ts";
import type { PendingApproval } from "../../../host/approvals/pending-approvals.ts";

/** A question for the terminal: ptc's words, then, quoted line by line, the call and what its server says of the tool. */
export function renderPending({
  ticket,
  request,
  askedAt,
  expiresAt,
  isAnswered,
  fileName,
  isLive,
}: PendingApproval): string {
  const { tool, runId, reason, claims } = request;
  const claimed = renderClaims(claims);
  const waits = isLive ? "its run waits for an answer just now" : "waits for an answer";
  const state = isAnswered ? "answered; the run has not gone on yet" : waits;
  return [
    `Ticket ${ticket}: ${state}`,
    `Run ${runId} of ${visibleLine(fileName)}, asked ${new Date(askedAt).toISOString()}${isLive ? "" : `, expires ${new Date(expiresAt).toISOString()}`}`,
    "The program wants to call",
    ...quote(unmistakableLine(tool)),
    "with",
    ...quote(renderApprovalArguments(request.arguments, WHOLE)),
    ...(reason === undefined ? [] : [`It is asked about because ${unmistakableLine(reason)}`]),
    ...(claimed === undefined ? [] : [claimed.heading, ...claimed.said.flatMap(quote)]),
    "",
  ].join("\n");
}

function quote(text: string): string[] {
  return text.split("\n").map((line) => `│ ${line}`);
}
