import { parseForeignJson } from "../../../base/json.ts";

/** The members of a line of the audit log. */
export type AuditFields = Readonly<Record<string, string | number | boolean>>;

const LIMITS = { maxBytes: 256 * 1024, maxDepth: 4 };

/** The members of a line; `undefined` for one that is none of the log. */
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

/** Whether a line tells that something was refused or has failed. */
export function isUnwanted({ event, outcome, decision, login, what }: AuditFields): boolean {
  if (event === "run") return outcome !== "ok";
  if (event === "login") return login === "failed" || login === "ended";
  if (event === "lost") return true;
  if (event === "log") return what !== "continued";
  const wanted = ["allow", "allowed", "ask", "approved", "approved-once", "approved-for-run", "suspended"];
  return typeof decision === "string" && !wanted.includes(decision);
}
