import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  link,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AuditedCall, AuditedRun } from "../../../archive/audit/audit-line.ts";
import { AuditLog } from "../../../archive/audit/audit-log.ts";
import type { CallDecision } from "../../../protocol/call-decision.ts";
import { Redactor } from "../../../secrets/redaction.ts";

const RUN: AuditedRun = {
  runId: "run-1",
  traceId: "ab".repeat(16),
  principal: "local",
  codeDigest: `sha256:${"0".repeat(64)}`,
};

function call(tool: string, decision: CallDecision = "allowed"): AuditedCall {
  return {
    seq: 1,
    server: "files",
    tool,
    known: decision !== "unavailable",
    argumentsDigest: `sha256:${"1".repeat(64)}`,
    resultBytes: 12,
    durationMs: 3,
    decision,
    redactions: 0,
  };
}

const REDACTOR = new Redactor(["s3cr3t-Token-value"]);

let folder: string;
let path: string;
let failures: string[];
let nowMs: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ptc-audit-"));
  path = join(folder, ".ptc", "audit.jsonl");
  failures = [];
  nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
});

afterEach(() => rm(folder, { recursive: true }));

function open(at = path): AuditLog {
  return new AuditLog({
    path: at,
    clock: { wallMs: () => nowMs },
    redact: (name) => REDACTOR.redactText(name).value,
    onFailure: (message) => failures.push(message),
  });
}

/** The lines, without what links them, and without those that the log writes about itself. */
async function lines(at = path): Promise<Record<string, unknown>[]> {
  const text = await readFile(at, "utf8");
  expect(text.endsWith("\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ event }) => event !== "log")
    .map(({ seq, prev, ...line }) => line);
}

test("each call and each run is one line that says what happened", async () => {
  const log = open();
  log.call(RUN, { ...call("delete_file", "approved-once"), approver: "terminal", redactions: 2 });
  log.run(RUN, { outcome: "ToolError", calls: 1, durationMs: 40, redactions: 2 });
  await log.close();
  const run = {
    time: "2026-01-02T03:04:05.000Z",
    run_id: "run-1",
    trace_id: RUN.traceId,
    principal: "local",
    code_digest: RUN.codeDigest,
  };
  expect(await lines()).toEqual([
    {
      ...run,
      event: "call",
      call: 1,
      server: "files",
      tool: "delete_file",
      arguments_digest: `sha256:${"1".repeat(64)}`,
      result_bytes: 12,
      duration_ms: 3,
      decision: "approved-once",
      approver: "terminal",
      redactions: 2,
    },
    { ...run, event: "run", outcome: "ToolError", calls: 1, duration_ms: 40, redactions: 2 },
  ]);
  expect(failures).toEqual([]);
});

test("decisions, approvals and logins are a line each", async () => {
  const log = open();
  const named = { server: "files", tool: "mcp__files__delete" };
  log.decision(RUN, {
    ...named,
    decision: "deny",
    rule: "policy0",
    reason: "read s3cr3t-Token-value before",
  });
  log.approval(RUN, {
    ...named,
    argumentsDigest: "sha256:1",
    decision: "approved",
    scope: "run",
    approver: "local",
    how: "terminal",
  });
  log.login({ principal: "local", server: "hub", event: "renewed" });
  await log.close();
  const run = { run_id: "run-1", principal: "local", code_digest: RUN.codeDigest };
  const all = await lines();
  expect(all[0]).toMatchObject({
    ...run,
    event: "decision",
    decision: "deny",
    rule: "policy0",
    reason: "read [REDACTED] before",
  });
  expect(all[1]).toMatchObject({
    ...run,
    event: "approval",
    scope: "run",
    approver: "local",
    how: "terminal",
  });
  expect(all[2]).toMatchObject({ event: "login", principal: "local", server: "hub", login: "renewed" });
  expect(all[2]).not.toHaveProperty("run_id");
});

test("file and folder are their owner's alone", async () => {
  const log = open();
  log.call(RUN, call("a"));
  await log.close();
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, ".ptc"))).mode & 0o777).toBe(0o700);
});

test("thousands of lines keep their order", async () => {
  const log = open();
  for (let index = 0; index < 5_000; index++) {
    log.call(RUN, call(`tool-${index}`));
    if (index % 500 === 0) await new Promise(setImmediate);
  }
  await log.close();
  expect((await lines()).map(({ tool }) => tool)).toEqual(
    Array.from({ length: 5_000 }, (_, index) => `tool-${index}`),
  );
});

test("what a program or a server names cannot break a line, grow it or leak through it", async () => {
  const log = open();
  const hostile = `a\nb\u001b[2J\u0085\u202e\u2028${"\ud800"}\u{e0041}${"x".repeat(100_000)}`;
  log.call(RUN, call(hostile, "unavailable"));
  log.call(RUN, call(hostile));
  log.call(RUN, call("mcp__x__s3cr3t-Token-value", "unavailable"));
  log.call(RUN, { ...call("mcp__x__y", "unavailable"), server: "\u2029".repeat(500) });
  await log.close();
  const text = await readFile(path, "utf8");
  expect(text.length).toBeLessThan(4_000);
  expect(text.split("\n")).toHaveLength(5);
  const [madeUp, known, leaking, server] = await lines();
  const seen = "a\\u{a}b\\u{1b}[2J\\u{85}\\u{202e}\\u{2028}\\u{d800}\\u{e0041}";
  const end = `... (${hostile.length} characters)`;
  expect(madeUp).toMatchObject({ tool: `${seen}${"x".repeat(128 - seen.length)}${end}`, unknown_tool: true });
  expect(known?.tool).toBe(`${seen}${"x".repeat(256 - seen.length)}${end}`);
  expect(known).not.toHaveProperty("unknown_tool");
  expect(leaking).toMatchObject({ tool: "mcp__x__[REDACTED]", unknown_tool: true });
  expect(server?.server).toMatch(/^(?:\\u\{2029\}){16}\.\.\. \(500 characters\)$/);
  // Nor where it is decoded.
  for (const line of await lines()) expect(Object.values(line).join("")).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
});

test("what is no regular file of its owner's is told once, left alone, and nothing is lost", async () => {
  const victim = join(folder, "victim");
  await writeFile(victim, "precious", { mode: 0o644 });
  const log = open();
  await mkdir(join(folder, ".ptc"));
  const planted: [string, () => Promise<unknown>][] = [
    ["it is a symbolic link", () => symlink(victim, path)],
    ["it is a symbolic link", () => symlink(join(folder, "nowhere"), path)],
    ["it has a second name elsewhere", () => link(victim, path)],
    ["it is not a regular file", () => promisify(execFile)("mkfifo", [path])],
    ["EISDIR", () => mkdir(path)],
  ];
  for (const [index, [told, plant]] of planted.entries()) {
    await plant();
    for (const tool of ["a", "b"]) log.call(RUN, call(`${tool}-${index}`));
    await log.close();
    expect(failures.splice(0)).toEqual([expect.stringContaining(told)]);
    expect(await readFile(victim, "utf8")).toBe("precious");
    expect(existsSync(join(folder, "nowhere"))).toBe(false);
    await rm(path, { recursive: true });
    await log.close();
    expect((await lines()).map(({ tool }) => tool)).toEqual([`a-${index}`, `b-${index}`]);
    await rm(path);
  }
  expect((await stat(victim)).mode & 0o777).toBe(0o644);
});

test("a file that others may read is made its owner's alone, and a linked folder of theirs is theirs", async () => {
  const elsewhere = join(folder, "elsewhere");
  await mkdir(elsewhere);
  await symlink(elsewhere, join(folder, ".ptc"));
  await writeFile(path, "", { mode: 0o666 });
  const log = open();
  log.call(RUN, call("a"));
  await log.close();
  expect(failures).toEqual([]);
  expect((await stat(join(elsewhere, "audit.jsonl"))).mode & 0o777).toBe(0o600);
  expect((await lines()).map(({ tool }) => tool)).toEqual(["a"]);
});

test("a folder that everybody may write, or a link to somebody else's, is told and not used", async (context) => {
  await mkdir(join(folder, ".ptc"));
  await chmod(join(folder, ".ptc"), 0o777);
  const log = open();
  log.call(RUN, call("a"));
  await log.close();
  expect(failures.splice(0)).toEqual([expect.stringContaining("may be written by everybody")]);
  expect(existsSync(path)).toBe(false);
  if (process.getuid?.() !== 0) return context.skip("only root can give a folder away");
  const theirs = join(folder, "theirs");
  await mkdir(theirs);
  await chown(theirs, 12345, 12345);
  await rm(join(folder, ".ptc"), { recursive: true });
  await symlink(theirs, join(folder, ".ptc"));
  nowMs += 60_000;
  const other = open();
  other.call(RUN, call("a"));
  await other.close();
  expect(failures).toEqual([expect.stringContaining("is a link to another user's folder")]);
  expect(existsSync(join(theirs, "audit.jsonl"))).toBe(false);
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
    promisify(execFile)(process.execPath, ["--input-type=module", "-e", source, path, name]);
  await Promise.all([start("one"), start("two")]);
  const all = await lines();
  for (const name of ["one", "two"]) {
    const calls = all.filter((line) => line.run_id === name).map((line) => line.calls);
    expect(calls).toEqual(Array.from({ length: 2_000 }, (_, index) => index));
  }
});

test("a place that cannot be written is told once, fails nothing, and what is missing is written when it can be again", async () => {
  const shared = join(folder, "audit.jsonl");
  await mkdir(shared);
  const log = open(shared);
  for (let index = 0; index < 50; index++) {
    log.call(RUN, call(`tool-${index}`));
    await new Promise(setImmediate);
    nowMs += 1_000;
  }
  await log.close();
  expect(failures).toHaveLength(1);
  expect(failures[0]).toContain(`the audit log ${shared} cannot be written: EISDIR`);
  await rmdir(shared);
  nowMs += 60_000;
  log.call(RUN, call("last"));
  await log.close();
  expect((await lines(shared)).map(({ tool }) => tool)).toEqual([
    ...Array.from({ length: 50 }, (_, index) => `tool-${index}`),
    "last",
  ]);
  await unlink(shared);
  await mkdir(shared);
  log.call(RUN, call("again"));
  await log.close();
  expect(failures).toHaveLength(2);
});

test("a place that cannot be a folder is told once", async () => {
  await writeFile(join(folder, ".ptc"), "a file");
  const log = open();
  log.call(RUN, call("a"));
  await log.close();
  expect(failures).toEqual([expect.stringMatching(/cannot be written: (?:ENOTDIR|EEXIST)/)]);
});

test("lines that had to be given up are counted in the log", async () => {
  await mkdir(join(folder, "audit.jsonl"));
  const log = open(join(folder, "audit.jsonl"));
  for (let index = 0; index < 12_000; index++) log.call(RUN, call(`tool-${index}`));
  await log.close();
  await rmdir(join(folder, "audit.jsonl"));
  await log.close();
  const [lost, ...kept] = await lines(join(folder, "audit.jsonl"));
  expect(lost).toMatchObject({ event: "lost", lines: 12_000 - kept.length });
  expect(kept.length).toBeGreaterThan(5_000);
  expect(kept.length).toBeLessThan(12_000);
  expect(kept.at(-1)?.tool).toBe("tool-11999");
});

test("a line that a dead process left unfinished is ended first", async () => {
  const shared = join(folder, "audit.jsonl");
  await writeFile(shared, '{"event":"call","run_');
  const log = open(shared);
  log.call(RUN, call("a"));
  await log.close();
  const [torn, found, whole, rest] = (await readFile(shared, "utf8")).split("\n");
  expect(torn).toBe('{"event":"call","run_');
  expect(JSON.parse(found ?? "")).toMatchObject({ event: "log", what: "unlinked", bytes: 22 });
  expect(JSON.parse(whole ?? "")).toMatchObject({ tool: "a" });
  expect(rest).toBe("");
});

test("a file that was moved away is begun anew", async () => {
  const log = open();
  log.call(RUN, call("a"));
  await log.close();
  await rename(path, `${path}.1`);
  log.call(RUN, call("b"));
  await log.close();
  expect((await lines()).map(({ tool }) => tool)).toEqual(["b"]);
  expect((await lines(`${path}.1`)).map(({ tool }) => tool)).toEqual(["a"]);
});
