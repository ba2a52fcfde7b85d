import { parseForeignJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import type { CallDecision } from "../../protocol/call-decision.ts";
import type { FailureType } from "../../protocol/failure.ts";

/** Facts about a run that each of its lines contains. */
export interface AuditedRun {
  runId: string;
  traceId: string;
  principal: string;
  /** What the principal is called, the groups of its login, and the client to which its token was given. */
  name?: string | undefined;
  groups?: readonly string[] | undefined;
  clientId?: string | undefined;
  /** The client's own name for the conversation that the run belongs to. */
  clientSession?: string | undefined;
  /** Where the run came from: the name that an MCP client gives itself, or the command of ptc. */
  client?: { readonly name: string; readonly version?: string | undefined } | undefined;
  /** The run's input digest. */
  codeDigest: string;
}

/** The account and the machine of the ptc that writes a line, as the system names them. */
export interface AuditedActor {
  user: string;
  uid?: number | undefined;
  host: string;
}

/** The events of lines. `log` is about the log itself, and `lost` counts lines that could not be written. */
export const AUDIT_EVENTS = [
  "calling",
  "call",
  "decision",
  "approval",
  "login",
  "connection",
  "access",
  "run",
  "log",
  "lost",
] as const;
export type AuditEvent = (typeof AUDIT_EVENTS)[number];

/** A call that is about to go out. */
export interface SentCall {
  /** The number of the call within its run, from 1. */
  seq: number;
  server: string;
  tool: string;
  argumentsDigest: string;
  decision: CallDecision;
  approver?: string | undefined;
}

export interface AuditedCall {
  /** The number of the call within its run, from 1. */
  seq: number;
  server: string;
  tool: string;
  /** Whether the tool exists. If not, the program invented its name. */
  known: boolean;
  argumentsDigest: string;
  resultBytes: number;
  durationMs: number;
  decision: CallDecision;
  /** Who or what answered the question, if one was asked. */
  approver?: string | undefined;
  redactions: number;
  /** Whether it was made while its program was rehearsed for a plan, before the run itself came to it. */
  rehearsed?: true | undefined;
}

/** What happened to the login of a principal at a server, or to a passkey of theirs for the console. */
export interface AuditedLogin {
  principal: string;
  /** Absent for a passkey. */
  server?: string | undefined;
  /** One of the events in upstream/authorization/authorization.ts, or `passkey_added` or `passkey_removed`. */
  event: string;
  /** The id of the passkey. */
  credential?: string | undefined;
  /** Why it failed. */
  reason?: string | undefined;
}

/** A connection of a server in a sandbox, or a host that it asked for and may not reach. */
export interface AuditedConnection {
  principal: string;
  server: string;
  /** The account of the server whose process it is, if the server has accounts. */
  account?: string | undefined;
  host: string;
  /** The outcome: it was carried; it was not allowed; or it failed, or was ended for what was sent. */
  outcome: "ok" | "refused" | "failed";
  /** Why it failed. */
  reason?: string | undefined;
  port?: number | undefined;
  sentBytes?: number | undefined;
  receivedBytes?: number | undefined;
  durationMs?: number | undefined;
}

/** What somebody was given that is another's, or everybody's. */
export interface AuditedAccess {
  principal: string;
  /** As rules name it: `read_runs`, `approve` or `audit`. */
  action: string;
  /** Whose it is. */
  of?: string | undefined;
  runId?: string | undefined;
  /** The rule that permits it. */
  rule?: string | undefined;
}

export interface AuditedEnding {
  outcome: "ok" | FailureType;
  calls: number;
  durationMs: number;
  redactions: number;
  /** The session that it ran in, and its place there from 1. Whatever earlier programs left behind could act in the run. */
  session?: { readonly id: string; readonly position: number } | undefined;
}

export type AuditMembers = Readonly<Record<string, string | number | boolean | undefined>>;

/** The longest text in a line, because names come from servers. */
const MAX_TEXT_CHARS = 256;

/** The longest name that a program invented. */
const MAX_MADE_UP_CHARS = 128;

/** Renders one line with its line feed. The line is bounded and has only visible characters, even after its JSON is decoded. */
export function renderAuditLine(members: AuditMembers): string {
  const bounded: Record<string, AuditMembers[string]> = { ...members };
  for (const name in bounded) bounded[name] = boundText(bounded[name], MAX_TEXT_CHARS);
  return `${JSON.stringify(bounded)}\n`;
}

/** Bounds a name that a program invented and that is already redacted. */
export function boundMadeUpName(name: string): string {
  return boundText(name, MAX_MADE_UP_CHARS);
}

/** Matches text of visible ASCII characters only, like nearly all text in lines. */
const PLAIN = /^[ -~]*$/;

function boundText<T extends AuditMembers[string]>(value: T, maxChars: number): T | string {
  if (typeof value !== "string" || (value.length <= maxChars && PLAIN.test(value))) return value;
  // One invisible character becomes up to ten visible ones.
  const shown = visibleLine(value.slice(0, maxChars));
  if (value.length <= maxChars && shown.length <= maxChars) return shown;
  return `${shown.slice(0, maxChars)}... (${value.length} characters)`;
}

/** The members of a line that was read from the audit log. */
export type AuditFields = Readonly<Record<string, string | number | boolean>>;

const LIMITS = { maxBytes: 256 * 1024, maxDepth: 4 };

/** Parses a line. Returns `undefined` for text that is not a line of the log. */
export function parseAuditLine(line: string | Uint8Array): AuditFields | undefined {
  let value: unknown;
  try {
    value = parseForeignJson(line, LIMITS);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const members = Object.entries(value).filter(([, member]) =>
    ["string", "number", "boolean"].includes(typeof member),
  );
  const fields = Object.fromEntries(members) as AuditFields;
  return typeof fields.event === "string" && typeof fields.time === "string" ? fields : undefined;
}

/** Whether a line says that something was refused or failed. */
export function isUnwanted({ event, outcome, decision, login, what }: AuditFields): boolean {
  if (event === "run") return outcome !== "ok";
  if (event === "connection") return outcome !== "ok";
  if (event === "login") return login === "failed" || login === "ended";
  if (event === "lost") return true;
  if (event === "log") return what !== "continued";
  const wanted = ["allow", "allowed", "ask", "approved", "approved-once", "approved-for-run", "suspended"];
  return typeof decision === "string" && !wanted.includes(decision);
}
