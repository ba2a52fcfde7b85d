import { isObject } from "../../../base/json/is-object.ts";
import { unmistakableLine } from "../../../base/text/unmistakable-line.ts";
import { renderApprovalOverview } from "../../../broker/approvals/approval-overview.ts";
import {
  type ApprovalScope,
  DEFAULT_AT_MOST,
  MAX_AT_MOST,
  parseScope,
} from "../../../broker/approvals/approval-scope.ts";
import { renderAskedArguments, renderClaims } from "../../../broker/approvals/approval-text.ts";
import { type ApprovalAnswer, type ApprovalRequest, LATER } from "../../../broker/approvals/approvals.ts";
import { MAX_PATTERN_CHARS } from "../../../broker/approvals/argument-pattern.ts";
import type { ClientClaim } from "./asked-client.ts";

/** The approver that is recorded for an answer that came from the client. */
const BY = "elicitation";

const SCOPES = {
  decision: {
    type: "string" as const,
    title: "What to allow",
    oneOf: [
      { const: "once", title: "Yes, this call" },
      { const: "run", title: "Calls of this tool by this program" },
      { const: "like", title: "Calls of this tool with the same arguments by this program" },
      { const: "no", title: "No" },
    ],
    default: "once",
  },
  at_most: {
    type: "integer" as const,
    title: "How many calls, where more than this one is allowed",
    minimum: 1,
    maximum: MAX_AT_MOST,
    default: DEFAULT_AT_MOST,
  },
  may_differ: {
    type: "string" as const,
    title: "With the same arguments: those that may differ, as name=pattern, such as path=/tmp/* mode=*",
    maxLength: MAX_PATTERN_CHARS,
  },
};

/**
 * The form that a client shows a person: the parameters of `elicitation/create` (MCP 2025-11-25, Elicitation). Its first lines
 * are the whole question; what `ptc approvals show` shows follows, as far as a dialog can show it. The first question about a
 * tool has no field, so that Claude Code puts its cursor on Accept and one Enter allows the call on the screen and nothing else.
 * When a program comes back with the same tool, or after the run was suspended, further calls can be allowed as well.
 */
export function buildApprovalForm({
  tool,
  arguments: args,
  isAgain = false,
  reason,
  claims,
  ticket,
}: ApprovalRequest) {
  const claimed = renderClaims(claims);
  const { lines, isCut } = renderApprovalOverview(tool, args, claimed !== undefined || reason !== undefined);
  const { text, rest } = renderAskedArguments(args, ticket);
  const inFull = ["", `A program wants to call ${unmistakableLine(tool)} with`, text];
  const below = [
    ...(reason === undefined ? [] : [`Asked because ${unmistakableLine(reason)}`]),
    ...(isCut ? inFull : []),
    ...(rest === undefined ? [] : [rest]),
    ...(claimed === undefined ? [] : ["", claimed.heading, ...claimed.said.map((line) => `> ${line}`)]),
  ];
  return {
    mode: "form" as const,
    message: [...lines, ...below].join("\n"),
    requestedSchema: {
      type: "object" as const,
      properties: isAgain ? SCOPES : {},
    },
  };
}

/**
 * Reads a client's answer to such a form. Accepting without a decision is what the form says that accepting is. A scope that
 * cannot be read, or that the form did not offer, allows this call alone. A form that was dismissed (`cancel`) is not decided:
 * clients answer so where nobody is there, as Claude Code does at once with `-p`, and a person may answer later. All else is a
 * denial, by the client as far as anybody can tell: the protocol does not say whether a person saw the form.
 *
 * @param request as the form was built from it.
 * @param client what it says of itself, for the audit log.
 */
export function parseApprovalAnswer(
  response: unknown,
  { arguments: args, isAgain = false }: Pick<ApprovalRequest, "arguments" | "isAgain">,
  client?: ClientClaim,
): ApprovalAnswer {
  if (isObject(response) && response.action === "cancel")
    return { ...LATER, why: "the client dismissed the question without an answer" };
  const scope = readScope(response, args, isAgain);
  const said = scope.decision === "denied" ? { why: "was declined by the client" } : {};
  return { ...scope, ...said, by: BY, how: describeWay(client) };
}

function readScope(response: unknown, args: unknown, isAgain: boolean): ApprovalScope {
  if (!isObject(response)) return { decision: "denied" };
  const { action, content = {} } = response;
  if (action !== "accept" || !isObject(content)) return { decision: "denied" };
  switch (content.decision ?? SCOPES.decision.default) {
    case "once":
      return { decision: "once" };
    case "run":
      return isAgain ? scopeOr("all", content, args) : { decision: "once" };
    case "like":
      return isAgain ? scopeOr("like", content, args) : { decision: "once" };
    default:
      return { decision: "denied" };
  }
}

function scopeOr(
  calls: "all" | "like",
  { at_most, may_differ = "" }: Readonly<Record<string, unknown>>,
  args: unknown,
): ApprovalScope {
  const isReadable =
    typeof may_differ === "string" &&
    may_differ.length <= MAX_PATTERN_CHARS &&
    (at_most === undefined || typeof at_most === "number") &&
    // Whoever names an argument that may differ does not mean that all may.
    (calls === "like" || may_differ === "");
  const except = typeof may_differ === "string" && may_differ !== "" ? splitPatterns(may_differ, args) : [];
  const read = parseScope({ calls, except, atMost: at_most }, args);
  return isReadable && read.ok ? read.scope : { decision: "once" };
}

/** Splits before each name of an argument, since a pattern may hold spaces. */
function splitPatterns(text: string, args: unknown): string[] {
  const names = typeof args === "object" && args !== null ? Object.keys(args) : [];
  const patterns: string[] = [];
  for (const word of text.trim().split(/ +/)) {
    const last = patterns.length - 1;
    if (last < 0 || names.some((name) => word.startsWith(`${name}=`))) patterns.push(word);
    else patterns[last] += ` ${word}`;
  }
  return patterns;
}

/** The protocol does not say who answers a form. */
function describeWay(client: ClientClaim | undefined): string {
  const who =
    client === undefined
      ? "a client without a name"
      : `a client that calls itself ${client.name} ${client.version}`;
  return `MCP elicitation by ${unmistakableLine(who)}; a person, or a hook of the client`;
}
