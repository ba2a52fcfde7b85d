/** What the lines of the audit log say of each event. Names come from servers and programs, and are redacted first. */

import {
  type AuditedApproval,
  type AuditedCall,
  type AuditedDecision,
  type AuditedLogin,
  type AuditMembers,
  boundMadeUpName,
  type SentCall,
} from "./audit-line.ts";

type Redact = (name: string) => string;

export function sentMembers(call: SentCall, redact: Redact): AuditMembers {
  return {
    call: call.seq,
    server: redact(call.server),
    tool: redact(call.tool),
    arguments_digest: call.argumentsDigest,
    decision: call.decision,
    approver: call.approver && redact(call.approver),
  };
}

export function callMembers(call: AuditedCall, redact: Redact): AuditMembers {
  const name = (text: string) => (call.known ? redact(text) : boundMadeUpName(redact(text)));
  return {
    call: call.seq,
    server: name(call.server),
    tool: name(call.tool),
    ...(call.known ? {} : { unknown_tool: true }),
    arguments_digest: call.argumentsDigest,
    result_bytes: call.resultBytes,
    duration_ms: call.durationMs,
    decision: call.decision,
    approver: call.approver && redact(call.approver),
    redactions: call.redactions,
  };
}

export function decisionMembers(
  { server, tool, decision, rule, reason }: AuditedDecision,
  redact: Redact,
): AuditMembers {
  return {
    server: boundMadeUpName(redact(server)),
    tool: boundMadeUpName(redact(tool)),
    decision,
    rule: rule && redact(rule),
    reason: reason && redact(reason),
  };
}

export function approvalMembers(approval: AuditedApproval, redact: Redact): AuditMembers {
  return {
    server: redact(approval.server),
    tool: redact(approval.tool),
    arguments_digest: approval.argumentsDigest,
    decision: approval.decision,
    scope: approval.scope && redact(approval.scope),
    approver: redact(approval.approver),
    how: approval.how && redact(approval.how),
  };
}

export function loginMembers({ server, event, reason }: AuditedLogin, redact: Redact): AuditMembers {
  return { server: redact(server), login: event, reason: reason && redact(reason) };
}
