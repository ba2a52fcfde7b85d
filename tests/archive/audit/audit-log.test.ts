import { execFile } from "node:child_process";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import type { AuditLog } from "../../../archive/audit/audit-log.ts";
import { call, RUN, useAuditFolder } from "./audit-folder.ts";

const audit = useAuditFolder();

test("each call and each run is one line that says what happened", async () => {
  const log = audit.open();
  log.call(RUN, { ...call("delete_file", "approved-once"), approver: "terminal", redactions: 2 });
  log.run(RUN, { outcome: "ToolError", calls: 1, durationMs: 40, redactions: 2 });
  await log.close();
  const run = {
    ...{ time: "2026-01-02T03:04:05.000Z", run_id: "run-1", trace_id: RUN.traceId },
    ...{ principal: "local", code_digest: RUN.codeDigest },
  };
  expect(await audit.lines()).toEqual([
    {
      ...{ ...run, event: "call", call: 1, server: "files", tool: "delete_file", redactions: 2 },
      ...{ arguments_digest: `sha256:${"1".repeat(64)}`, result_bytes: 12, duration_ms: 3 },
      ...{ decision: "approved-once", approver: "terminal" },
    },
    { ...run, event: "run", outcome: "ToolError", calls: 1, duration_ms: 40, redactions: 2 },
  ]);
  expect(audit.failures).toEqual([]);
});

test("decisions, approvals and logins are a line each", async () => {
  const log = audit.open();
  const named = { server: "files", tool: "mcp__files__delete" };
  const reason = "read s3cr3t-Token-value before";
  log.decision(RUN, { ...named, decision: "deny", rule: "policy0", reason });
  const answer = { decision: "approved", scope: "run", approver: "local", how: "terminal" } as const;
  log.approval(RUN, { ...named, argumentsDigest: "sha256:1", ...answer });
  log.login({ principal: "local", server: "hub", event: "renewed" });
  await log.close();
  const run = { run_id: "run-1", principal: "local", code_digest: RUN.codeDigest };
  const all = await audit.lines();
  const denied = { event: "decision", decision: "deny", rule: "policy0" };
  expect(all[0]).toMatchObject({ ...run, ...denied, reason: "read [REDACTED] before" });
  expect(all[1]).toMatchObject({ ...run, event: "approval", ...answer });
  expect(all[2]).toMatchObject({ event: "login", principal: "local", server: "hub", login: "renewed" });
  expect(all[2]).not.toHaveProperty("run_id");
});

test("each line of a run says who a login says that its principal is, without secrets", async () => {
  const log = audit.open();
  const groups = ["leads", "s3cr3t-Token-value"];
  const whose = { principal: "https://login.example.com#ada", name: "Ada", groups, clientId: "c-1" };
  log.run({ ...RUN, ...whose }, { outcome: "ok", calls: 1, durationMs: 40, redactions: 0 });
  await log.close();
  expect((await audit.lines())[0]).toMatchObject({
    ...{ principal: whose.principal, principal_name: "Ada", groups: "leads, [REDACTED]", client_id: "c-1" },
  });
});

test("thousands of lines keep their order", async () => {
  const log = audit.open();
  for (let index = 0; index < 5_000; index++) {
    log.call(RUN, call(`tool-${index}`));
    if (index % 500 === 0) await new Promise(setImmediate);
  }
  await log.close();
  expect((await audit.lines()).map(({ tool }) => tool)).toEqual(
    Array.from({ length: 5_000 }, (_, index) => `tool-${index}`),
  );
});

test("what a program or a server names cannot break a line, grow it or leak through it", async () => {
  const log = audit.open();
  const hostile = `a\nb\u001b[2J\u0085\u202e\u2028${"\ud800"}\u{e0041}${"x".repeat(100_000)}`;
  log.call(RUN, call(hostile, "unavailable"));
  log.call(RUN, call(hostile));
  log.call(RUN, call("mcp__x__s3cr3t-Token-value", "unavailable"));
  log.call(RUN, { ...call("mcp__x__y", "unavailable"), server: "\u2029".repeat(500) });
  await log.close();
  const text = await readFile(audit.path, "utf8");
  expect(text.length).toBeLessThan(4_000);
  expect(text.split("\n")).toHaveLength(5);
  const [madeUp, known, leaking, server] = await audit.lines();
  const seen = "a\\u{a}b\\u{1b}[2J\\u{85}\\u{202e}\\u{2028}\\u{d800}\\u{e0041}";
  const end = `... (${hostile.length} characters)`;
  expect(madeUp).toMatchObject({ tool: `${seen}${"x".repeat(128 - seen.length)}${end}`, unknown_tool: true });
  expect(known?.tool).toBe(`${seen}${"x".repeat(256 - seen.length)}${end}`);
  expect(known).not.toHaveProperty("unknown_tool");
  expect(leaking).toMatchObject({ tool: "mcp__x__[REDACTED]", unknown_tool: true });
  expect(server?.server).toMatch(/^(?:\\u\{2029\}){16}\.\.\. \(500 characters\)$/);
  // Nor where it is decoded.
  for (const line of await audit.lines())
    expect(Object.values(line).join("")).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
});

test("processes that share the file mix whole lines only", async () => {
  const source = `
    import { AuditLog } from ${JSON.stringify(join(import.meta.dirname, "../../../archive/audit/audit-log.ts"))};
    const [path, name] = process.argv.slice(1);
    const log = new AuditLog({ path, clock: { wallMs: Date.now }, redact: (value) => value, onFailure: (message) => { throw new Error(message); } });
    for (let index = 0; index < 2000; index++) {
      log.run({ runId: name, traceId: "x".repeat(index % 200), principal: "local", codeDigest: "" }, { outcome: "ok", calls: index, durationMs: 0, redactions: 0 });
      if (index % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await log.close();`;
  const start = (name: string) =>
    promisify(execFile)(process.execPath, ["--input-type=module", "-e", source, audit.path, name]);
  await Promise.all([start("one"), start("two")]);
  const all = await audit.lines();
  for (const name of ["one", "two"]) {
    const calls = all.filter((line) => line.run_id === name).map((line) => line.calls);
    expect(calls).toEqual(Array.from({ length: 2_000 }, (_, index) => index));
  }
});

test("lines that had to be given up are counted in the log", async () => {
  await mkdir(join(audit.folder, "audit.jsonl"));
  const log = audit.open(join(audit.folder, "audit.jsonl"));
  for (let index = 0; index < 12_000; index++) log.call(RUN, call(`tool-${index}`));
  await log.close();
  await rmdir(join(audit.folder, "audit.jsonl"));
  await log.close();
  const [lost, ...kept] = await audit.lines(join(audit.folder, "audit.jsonl"));
  expect(lost).toMatchObject({ event: "lost", lines: 12_000 - kept.length });
  expect(kept.length).toBeGreaterThan(5_000);
  expect(kept.length).toBeLessThan(12_000);
  expect(kept.at(-1)?.tool).toBe("tool-11999");
});

test("a line that a dead process left unfinished is ended first", async () => {
  const shared = join(audit.folder, "audit.jsonl");
  await writeFile(shared, '{"event":"call","run_');
  const log = audit.open(shared);
  log.call(RUN, call("a"));
  await log.close();
  const [torn, found, whole, rest] = (await readFile(shared, "utf8")).split("\n");
  expect(torn).toBe('{"event":"call","run_');
  expect(JSON.parse(found ?? "")).toMatchObject({ event: "log", what: "unlinked", bytes: 22 });
  expect(JSON.parse(whole ?? "")).toMatchObject({ tool: "a" });
  expect(rest).toBe("");
});

test("a call that waits for its line waits for no other lines, nor for the log to be tried again later", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const sent = { seq: 1, server: "files", tool: "mcp__files__get", argumentsDigest: "sha256:1" };
  const calling = (log: AuditLog, tool: string) => log.calling(RUN, { ...sent, tool, decision: "allowed" });
  const log = audit.open();
  expect(await calling(log, "first")).toBeUndefined();
  log.call(RUN, call("second"));
  await new Promise(setImmediate);
  expect(await calling(log, "third")).toBeUndefined();
  expect((await audit.lines()).map(({ tool }) => tool)).toEqual(["first", "second", "third"]);
  const broken = join(audit.folder, "broken.jsonl");
  await mkdir(broken);
  const other = audit.open(broken);
  expect(await calling(other, "a")).toEqual(expect.any(String));
  await rmdir(broken);
  expect(await calling(other, "b")).toBeUndefined();
  expect((await audit.lines(broken)).map(({ tool }) => tool)).toEqual(["a", "b"]);
});
