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
const CONNECTION = { event: "connection", principal: "local", server: "hub", destination: "api.example.com" };
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
  [{ ...CONNECTION, port: 443, outcome: "ok", sent_bytes: 1, received_bytes: 2 }, undefined, 1],
  [{ ...CONNECTION, outcome: "refused" }, undefined, 2],
  [{ ...CONNECTION, port: 443, outcome: "failed", reason: "did not answer" }, undefined, 2],
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
    actor: {
      user: {
        name: "https://l.test#eve",
        full_name: "Eve",
        uid: "https://l.test#eve",
        groups: [{ name: "leads" }, { name: "ci" }],
      },
    },
  });
  const alone = { ...CALL, decision: "allowed", ...WHO, principal: "https://l.test#eve" };
  expect(renderOcsf({ time, ...alone }, "1")).toHaveProperty("actor.user", {
    ...{ name: "https://l.test#eve", uid: "https://l.test#eve" },
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

it.each<[AuditFields, number, string]>([
  [{ ...CALL, event: "calling" }, 99, "Call begun"],
  [CALL, 99, "Call"],
  [DECISION, 99, "Policy decision"],
  [APPROVAL, 99, "Approval"],
  [{ ...OF_RUN, event: "run" }, 99, "Program run"],
  [{ event: "log" }, 99, "Audit log"],
  [{ event: "lost" }, 99, "Audit lines lost"],
  [{ event: "odd" }, 99, "odd"],
  [{ ...LOGIN, login: "logged_in" }, 1, "Logon"],
  [{ ...LOGIN, login: "failed" }, 1, "Logon"],
  [{ ...LOGIN, login: "logged_out" }, 2, "Logoff"],
  [{ ...LOGIN, login: "ended" }, 2, "Logoff"],
  [{ ...LOGIN, login: "renewed" }, 5, "Service Ticket Renew"],
  [{ ...LOGIN, login: "machine_token" }, 4, "Service Ticket Request"],
  [{ ...LOGIN, login: "odd" }, 99, "odd"],
])("%j is the activity %s, %s", (line, activity, name) => {
  const isLogin = line.event === "login";
  expect(renderOcsf({ time: "2026-01-02T03:04:05Z", ...line }, "1")).toMatchObject({
    class_name: isLogin ? "Authentication" : "API Activity",
    category_name: isLogin ? "Identity & Access Management" : "Application Activity",
    activity_id: activity,
    activity_name: name,
    type_uid: (isLogin ? 300_200 : 600_300) + activity,
  });
});

it("an event has what its line says, and nothing of what it does not say", () => {
  const time = "2026-01-02T03:04:05Z";
  const call = { time, seq: 7, ...CALL, decision: "forbidden", ...RULE, ...WHO };
  expect(renderOcsf(call, "1.2.3")).toEqual({
    ...{
      class_uid: 6003,
      class_name: "API Activity",
      category_uid: 6,
      category_name: "Application Activity",
    },
    ...{ activity_id: 99, activity_name: "Call", type_uid: 600_399, time: Date.parse(time) },
    ...{ severity_id: 2, status_id: 2, status_detail: RULE.reason, duration: 3 },
    metadata: {
      version: "1.6.0",
      product: { name: "ptc", vendor_name: "ptc", version: "1.2.3" },
      profiles: ["security_control", "host"],
      sequence: 7,
      correlation_uid: OF_RUN.run_id,
    },
    ...{ action_id: 2, disposition_id: 2, policy: { name: RULE.rule, desc: RULE.reason } },
    actor: { user: { name: "ada", uid: "1000" }, app_name: "claude-code" },
    api: {
      operation: OF_TOOL.tool,
      service: { name: "files" },
      request: { uid: OF_RUN.run_id },
    },
    src_endpoint: { name: "localhost", hostname: "desk-7" },
    device: { hostname: "desk-7", type_id: 0 },
    unmapped: call,
  });
  const log = { event: "log", what: "continued" };
  expect(renderOcsf(log, "1")).toEqual({
    ...{
      class_uid: 6003,
      class_name: "API Activity",
      category_uid: 6,
      category_name: "Application Activity",
    },
    ...{ activity_id: 99, activity_name: "Audit log", type_uid: 600_399, time: 0 },
    ...{ severity_id: 1, status_id: 1 },
    metadata: { version: "1.6.0", product: { name: "ptc", vendor_name: "ptc", version: "1" } },
    actor: { user: { name: "unknown" }, app_name: "ptc" },
    api: { operation: "log" },
    src_endpoint: { name: "localhost" },
    unmapped: log,
  });
  const login = { event: "login", login: "logged_in", server: "", user: "ada" };
  expect(renderOcsf(login, "1")).toEqual({
    ...{ class_uid: 3002, class_name: "Authentication", category_uid: 3 },
    ...{ category_name: "Identity & Access Management", activity_id: 1, activity_name: "Logon" },
    ...{ type_uid: 300_201, time: 0, severity_id: 1, status_id: 1 },
    metadata: { version: "1.6.0", product: { name: "ptc", vendor_name: "ptc", version: "1" } },
    user: { name: "ada" },
    service: { name: "unknown" },
    unmapped: login,
  });
});

it("an account has a number only where it is the account of the system, and a policy its reason where there is one", () => {
  const userOf = (more: AuditFields) => renderOcsf({ ...CALL, ...more }, "1");
  expect(userOf({ uid: 1000 })).toMatchObject({ actor: { user: { name: "local" } } });
  expect(userOf({ uid: 1000 })).not.toHaveProperty("actor.user.uid");
  expect(userOf({ user: "ada" })).not.toHaveProperty("actor.user.uid");
  expect(userOf({ user: "ada", uid: 0 })).toMatchObject({ actor: { user: { name: "ada", uid: "0" } } });
  const ruled = renderOcsf({ ...DECISION, decision: "deny", rule: "tools.block: *" }, "1");
  expect(ruled).toMatchObject({ policy: { name: "tools.block: *" } });
  expect(ruled).not.toHaveProperty("policy.desc");
  expect(ruled).not.toHaveProperty("status_detail");
  expect(renderOcsf({ ...OF_RUN, event: "run" }, "1")).toMatchObject({
    api: { operation: "execute_program" },
  });
  const odd = renderOcsf({ ...CALL, server: "", seq: "1", run_id: 1, duration_ms: "1", reason: 1 }, "1");
  expect(odd).not.toHaveProperty("api.service");
  expect(odd).not.toHaveProperty("duration");
  expect(odd).not.toHaveProperty("metadata.sequence");
  expect(odd).not.toHaveProperty("metadata.correlation_uid");
  expect(odd).not.toHaveProperty("metadata.profiles");
});
