import { expect, it } from "vitest";
import { AUDIT_EVENTS, type AuditFields } from "../../../archive/audit/audit-line.ts";
import { renderOcsf } from "../../../archive/audit/reading/ocsf.ts";
import { OcsfEvent } from "./ocsf-schema.ts";

const OF_RUN = { run_id: "3f9a2c00-1", trace_id: "ab", principal: "local", code_digest: "sha256:0" };
const OF_TOOL = { ...OF_RUN, server: "files", tool: "mcp__files__delete" };
const CALL = { ...OF_TOOL, event: "call", call: 1, duration_ms: 3 };
const DECISION = { ...OF_TOOL, event: "decision" };
const APPROVAL = { ...OF_TOOL, event: "approval", approver: "ada" };
const LOGIN = { event: "login", principal: "local", server: "hub" };
const RULE = { rule: "stay (rules.cedar:2)", reason: "it is forbidden" };

/** A line of each kind, and the action, the disposition and the status that it tells of. */
const LINES: [line: AuditFields, control: [number, number] | undefined, status: number][] = [
  [{ ...CALL, event: "calling", decision: "allowed" }, [1, 1], 1],
  [{ ...CALL, decision: "allowed" }, [1, 1], 1],
  [{ ...CALL, decision: "approved-for-run", approver: "ada" }, [1, 8], 1],
  [{ ...CALL, decision: "denied" }, [2, 25], 2],
  [{ ...CALL, decision: "forbidden" }, [2, 2], 2],
  [{ ...CALL, decision: "unaudited" }, [2, 2], 2],
  [{ ...CALL, server: "", tool: "made up", unknown_tool: true, decision: "unavailable" }, [2, 2], 2],
  [{ ...DECISION, decision: "ask", ...RULE }, [3, 14], 1],
  [{ ...DECISION, decision: "deny", ...RULE }, [2, 2], 2],
  [{ ...DECISION, decision: "unavailable", rule: "tools.block: *" }, [2, 2], 2],
  [{ ...DECISION, decision: "allow", rule: "tools.allow: *" }, [1, 1], 1],
  [{ ...APPROVAL, decision: "approved", scope: "once" }, [1, 8], 1],
  [{ ...APPROVAL, decision: "denied" }, [2, 25], 2],
  [{ ...APPROVAL, decision: "suspended", approver: "nobody" }, [3, 14], 1],
  ...["logged_in", "logged_out", "renewed", "machine_token"].map(
    (login): [AuditFields, undefined, number] => [{ ...LOGIN, login }, undefined, 1],
  ),
  [{ ...LOGIN, login: "failed", reason: "it was refused" }, undefined, 2],
  [{ ...LOGIN, login: "ended", reason: "it was refused" }, undefined, 2],
  [{ ...OF_RUN, event: "run", outcome: "ok", calls: 1, duration_ms: 40 }, undefined, 1],
  [{ ...OF_RUN, event: "run", outcome: "Timeout", calls: 0, duration_ms: 40 }, undefined, 2],
  [
    { event: "access", principal: "https://l.test#eve", action: "read_runs", of: "https://l.test#ada" },
    undefined,
    1,
  ],
  [{ event: "log", what: "continued" }, undefined, 1],
  [{ event: "lost", lines: 3 }, undefined, 2],
];

const WHO = { user: "ada", uid: 1000, host: "desk-7", client: "claude-code", client_version: "2.1.0" };

it("a line names the person, the machine and the client, and one of an earlier version the principal", () => {
  const time = "2026-01-02T03:04:05.678Z";
  const call = renderOcsf({ time, ...CALL, decision: "allowed", ...WHO }, "1");
  const login = renderOcsf({ time, ...LOGIN, login: "logged_in", ...WHO }, "1");
  for (const event of [call, login]) {
    expect(OcsfEvent.safeParse(event).error?.issues).toBeUndefined();
    expect(event).toMatchObject({
      actor: { user: { name: "ada", uid: "1000" }, app_name: "claude-code" },
      device: { hostname: "desk-7" },
      src_endpoint: { hostname: "desk-7" },
    });
  }
  expect(call).toMatchObject({ metadata: { profiles: ["security_control", "host"] } });
  expect(login).toMatchObject({ user: { name: "ada", uid: "1000" }, metadata: { profiles: ["host"] } });
  const person = { principal: "https://l.test#eve", principal_name: "Eve", groups: "leads, ci" };
  const remote = renderOcsf({ time, ...CALL, decision: "allowed", ...WHO, ...person }, "1");
  expect(OcsfEvent.safeParse(remote).error?.issues).toBeUndefined();
  expect(remote).toMatchObject({
    actor: { user: { name: "Eve", uid: "https://l.test#eve", groups: [{ name: "leads" }, { name: "ci" }] } },
  });
  expect(renderOcsf({ time, ...CALL, decision: "allowed" }, "1")).toMatchObject({
    actor: { user: { name: "local" }, app_name: "ptc" },
    src_endpoint: { name: "localhost" },
  });
});

it("every line is an event that the schema takes, with what was done and what came of it", () => {
  expect(new Set(LINES.map(([{ event }]) => event))).toEqual(new Set(AUDIT_EVENTS));
  for (const [index, [line, control, status]] of LINES.entries()) {
    const fields = { time: "2026-01-02T03:04:05.678Z", ...line, seq: index + 1 };
    const event = renderOcsf(fields, "1.2.3");
    const parsed = OcsfEvent.safeParse(event);
    expect(parsed.error?.issues, JSON.stringify(event)).toBeUndefined();
    expect(event).toMatchObject({
      status_id: status,
      time: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
      unmapped: fields,
    });
    if (control === undefined) expect(event).not.toHaveProperty("action_id");
    else expect(event).toMatchObject({ action_id: control[0], disposition_id: control[1] });
  }
  expect(
    renderOcsf({ time: "2026-01-02T03:04:05Z", ...DECISION, decision: "deny", ...RULE }, "1"),
  ).toMatchObject({ policy: { name: RULE.rule, desc: RULE.reason } });
});
