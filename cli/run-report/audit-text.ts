import type { AuditFields } from "../../archive/audit/reading/audit-fields.ts";
import { isUnwanted } from "../../archive/audit/reading/audit-fields.ts";
import { visibleLine } from "../../base/text/visible-text.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { shortRunId } from "./list-text.ts";

const EVENT_CHARS = 9;

/** Renders a line of the audit log for people: when, what, and by whom. The line may be anybody's. */
export function renderAuditEntry(fields: AuditFields, { style }: Terminal): string {
  const of = (member: string) => {
    const value = fields[member];
    return value === undefined || value === "" ? undefined : visibleLine(String(value));
  };
  const time =
    of("time")
      ?.replace("T", " ")
      .replace(/\.\d+Z$/, "Z") ?? "";
  const event = (of("event") ?? "").padEnd(EVENT_CHARS);
  const run = of("run_id");
  const parts = [
    of("tool") ?? of("server"),
    of("decision") ?? of("outcome") ?? of("login") ?? of("what"),
    of("scope") && `for ${of("scope")}`,
    of("approver") && `by ${of("approver")}`,
    of("rule") && `rule ${of("rule")}`,
    of("reason"),
    of("calls") && `${of("calls")} calls`,
    of("lines") && `${of("lines")} lines`,
    of("result_bytes") && `${of("result_bytes")} B`,
    of("duration_ms") && `${of("duration_ms")} ms`,
    of("redactions") !== "0" && of("redactions") && `${of("redactions")} redacted`,
  ].filter((part) => part !== undefined && part !== false && part !== "");
  const [user, host] = [of("user"), of("host")];
  const account = host === undefined ? user : `${user ?? ""}@${host}`;
  const who = [run && `run ${shortRunId(run)}`, of("principal"), account, of("client")].filter(
    (part) => part !== undefined && part !== "",
  );
  const what = parts.join("  ");
  return [
    style("dim", time),
    style("cyan", event),
    isUnwanted(fields) ? style("red", what) : what,
    style("dim", who.join("  ")),
  ]
    .join("  ")
    .trimEnd();
}
