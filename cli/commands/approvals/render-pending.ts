import { visibleLine, visibleLines } from "../../../base/text/visible-text.ts";
import { renderApprovalArguments, WHOLE } from "../../../broker/approvals/approval-text.ts";
import type { PendingApproval } from "../../../host/approvals/pending-approvals.ts";

const MAX_CLAIM_CHARS = 2_000;

/** A question for the terminal: ptc's words, then, quoted line by line, the call and what its server says of the tool. */
export function renderPending({
  ticket,
  request,
  askedAt,
  expiresAt,
  isAnswered,
  fileName,
}: PendingApproval): string {
  const { tool, runId, claims } = request;
  const state = isAnswered ? "answered; the run has not gone on yet" : "waits for an answer";
  return [
    `Ticket ${ticket}: ${state}`,
    `Run ${runId} of ${visibleLine(fileName)}, asked ${new Date(askedAt).toISOString()}, expires ${new Date(expiresAt).toISOString()}`,
    "The program wants to call",
    ...quote(visibleLine(tool)),
    "with",
    ...quote(renderApprovalArguments(request.arguments, WHOLE)),
    ...renderClaims(claims),
    "",
  ].join("\n");
}

function renderClaims(claims: PendingApproval["request"]["claims"]): string[] {
  if (claims === undefined) return [];
  const said = [
    ...(claims.description === undefined ? [] : [bound(claims.description)]),
    ...(claims.annotations === undefined ? [] : [bound(JSON.stringify(claims.annotations))]),
  ];
  if (said.length === 0) return [];
  return [
    `Its server '${visibleLine(claims.server)}' says of this tool, which nobody has checked:`,
    ...said.flatMap(quote),
  ];
}

function bound(text: string): string {
  const rest = text.length - MAX_CLAIM_CHARS;
  return rest <= 0 ? text : `${text.slice(0, MAX_CLAIM_CHARS)} ... (${rest} more characters)`;
}

function quote(text: string): string[] {
  return visibleLines(text)
    .split("\n")
    .map((line) => `│ ${line}`);
}
