import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { AuditLog } from "../../../archive/audit/audit-log.ts";
import { openAuditChain, openAuditSource } from "../../../archive/open-archive.ts";
import { openPool } from "../../../archive/postgres/database.ts";
import { eventually } from "../../eventually.ts";
import { expectRefusal, folderOfTest, ptcIn } from "../in-process.ts";
import { storageOf } from "../project-storage.ts";

const RUN = {
  runId: "3f9a2c00-1",
  traceId: "ab".repeat(16),
  principal: "local",
  clientSession: "7b1e-9",
  client: { name: "claude-code", version: "2.1.0" },
  codeDigest: "sha256:0",
};
const DELETE = { server: "files", tool: "mcp__files__delete" };

let folder: string;
let log: KeptLog;
let nowMs: number;

beforeEach(async () => {
  folder = folderOfTest();
  const storage = storageOf(folder);
  log = storage === undefined ? inFiles(join(folder, ".ptc", "audit.jsonl")) : inDatabase(storage.url);
  nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  await writeFile(join(folder, "ptc.yaml"), JSON.stringify({ servers: [], storage }));
});

/** Where the log is kept, what commands say of that place, and what somebody who may write there can do. */
interface KeptLog {
  options: Pick<ConstructorParameters<typeof AuditLog>[0], "path" | "chain">;
  database?: () => Promise<string>;
  place: string;
  verified: string;
  unproven: string;
  lines(): Promise<string>;
  replace(seq: number, from: string, to: string): Promise<void>;
  clear(): Promise<void>;
}

function inFiles(path: string): KeptLog {
  return {
    options: { path },
    place: path,
    verified: "5 lines in 1 file are",
    unproven: "nothing in this folder can show",
    lines: () => readFile(path, "utf8"),
    async replace(seq, from, to) {
      const lines = (await readFile(path, "utf8")).split(/(?<=\n)/);
      await writeFile(
        path,
        lines.map((line, at) => (at === seq - 1 ? line.replace(from, to) : line)).join(""),
      );
    },
    clear: () => rm(join(folder, ".ptc"), { recursive: true }),
  };
}

function inDatabase(url: string): KeptLog {
  const database = async () => url;
  const chain = openAuditChain(database, { keepMs: 1e12, wallMs: () => nowMs });
  const edit = async (sql: string, ...values: (string | number)[]) => {
    const db = await openPool(url);
    await db.run(sql, ...values);
    await db.close();
  };
  return {
    options: { path: "", chain },
    database,
    place: "the audit log in PostgreSQL",
    verified: "5 lines in the audit log in PostgreSQL are",
    unproven: "nothing in the database can show",
    async lines() {
      let text = "";
      for await (const { line } of openAuditSource("", database).entries({})) text += `${line}\n`;
      return text;
    },
    replace: (seq, from, to) =>
      edit("UPDATE audit_lines SET line = replace(line, $2, $3) WHERE seq = $1", seq, from, to),
    async clear() {
      await edit("DELETE FROM audit_lines");
      await edit("UPDATE audit_head SET seq = 0, hash = 'none'");
    },
  };
}

function open(bounds = { maxBytes: 1e9, keepMs: 1e12 }): AuditLog {
  const onFailure = (message: string) => expect.unreachable(message);
  const actor = { user: "ada", uid: 1000, host: "desk-7" };
  const clock = { wallMs: () => nowMs };
  return new AuditLog({ ...log.options, clock, redact: (name) => name, onFailure, bounds, actor });
}

async function writeRun(): Promise<void> {
  const writer = open();
  const sizes = { resultBytes: 12, durationMs: 3, redactions: 0 };
  const call = { ...DELETE, seq: 1, known: true, argumentsDigest: "sha256:1", ...sizes };
  writer.call(RUN, { ...call, decision: "allowed" });
  writer.approval(RUN, { ...DELETE, argumentsDigest: "sha256:1", decision: "denied", approver: "terminal" });
  writer.call(RUN, { ...call, seq: 2, decision: "denied", approver: "terminal" });
  nowMs += 3_600_000;
  writer.login({ principal: "local", server: "hub", event: "logged_in" });
  writer.run(RUN, { outcome: "ok", calls: 2, durationMs: 40, redactions: 0 });
  await writer.close();
}

const ptc = (...args: string[]) => ptcIn(folder, ["audit", ...args]);

test("lines are shown, filtered and exported", async () => {
  await writeRun();
  const { stdout } = await ptc();
  expect(stdout.split("\n")).toHaveLength(6);
  expect(stdout).toContain(
    "2026-01-02 03:04:05Z  approval   mcp__files__delete  denied  by terminal  run 3f9a2c00  local  ada@desk-7  claude-code\n",
  );
  const all = (await ptc("--json")).stdout;
  expect(all).toBe(await log.lines());
  for (const [flags, events] of [
    ["--failed", ["approval", "call"]],
    ["--tool mcp__files__* --decision allowed", ["call"]],
    ["--event login,run", ["login", "run"]],
    ["--run 3f9a --since 2026-01-02T04:00:00Z", ["run"]],
    ["--until 2026-01-02T04:00:00Z --limit 1", ["call"]],
    ["--server hub", ["login"]],
    ["--client-session 7b1e --event run,login", ["run"]],
    ["--user ada --host desk-7 --event run,login", ["login", "run"]],
    ["--client claude-code --event run,login", ["run"]],
    ["--user bob", []],
    ["--host desk", []],
    ["--client ptc\u00a0run", []],
  ] as const) {
    const { stdout: lines } = await ptc(
      "--json",
      ...flags.split(" ").map((word) => word.replace("\u00a0", " ")),
    );
    const found = lines.split("\n").filter(Boolean);
    expect([flags, found.map((line) => JSON.parse(line).event)]).toEqual([flags, events]);
  }
  const [line] = all.split("\n");
  expect(JSON.parse(line ?? "")).toMatchObject({
    principal: "local",
    ...{ user: "ada", uid: 1000, host: "desk-7", client: "claude-code", client_version: "2.1.0" },
  });
  expect((await ptc("--client-session", "current")).stderr).toContain("there is no current one");
});

test("lines are exported as events of OCSF", async () => {
  await writeRun();
  const events = (await ptc("--ocsf")).stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  expect(events[2]).toMatchObject({
    class_uid: 6003,
    type_uid: 600399,
    time: Date.UTC(2026, 0, 2, 3, 4, 5),
    status_id: 2,
    action_id: 2,
    actor: { user: { name: "ada", uid: "1000" }, app_name: "claude-code" },
    device: { hostname: "desk-7" },
    api: { operation: "mcp__files__delete", service: { name: "files" } },
    metadata: { version: "1.6.0", sequence: 3, correlation_uid: RUN.runId },
    unmapped: { event: "call", seq: 3 },
  });
  expect(events[3]).toMatchObject({
    class_uid: 3002,
    activity_id: 1,
    type_uid: 300201,
    user: { name: "ada", uid: "1000" },
  });
});

test("verify tells what was done to the log", async () => {
  expect(await ptc("verify")).toMatchObject({ code: 0, stdout: `nothing is audited yet in ${log.place}\n` });
  await writeRun();
  const { code, stdout } = await ptc("verify");
  const verified = new RegExp(`^${log.verified} as they were written; the last is 5:sha256:[0-9a-f]{64}\n$`);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(verified) });
  const head = stdout.trim().split(" ").at(-1) ?? "";
  expect(await ptc("head")).toEqual({ code: 0, stdout: `${head}\n`, stderr: "" });
  expect(JSON.parse((await ptc("head", "--json")).stdout)).toEqual({ seq: 5, digest: head.slice(2) });
  expect(await ptc("verify", "--head", head)).toMatchObject({ code: 0 });
  expect(await ptc("verify", "--head", head.replace("5:", "4:"))).toMatchObject({
    code: 1,
    stdout: "line 4 was edited\n",
  });
  expect(await ptc("verify", "--head", "nonsense")).toMatchObject({ code: 2 });
  await log.replace(2, '"denied"', '"allowed"');
  const edited = await ptc("verify", "--json");
  expect(edited.code).toBe(1);
  expect(JSON.parse(edited.stdout).problems).toEqual([expect.stringContaining("line 2")]);
});

test("verify says what only a head that was kept elsewhere can prove, and takes several", async () => {
  expect(await ptc("head")).toEqual({
    code: 1,
    stdout: "",
    stderr: `ptc: no line of ${log.place} is in a chain, so it has no head\n`,
  });
  await writeRun();
  const first = (await ptc("head")).stdout.trim();
  expect((await ptc("verify")).stderr).toMatch(
    new RegExp(`^ptc: note: ${log.unproven} whether lines were cut off .*\n$`),
  );
  expect(JSON.parse((await ptc("verify", "--json")).stdout).notes).toHaveLength(1);
  expect((await ptc("verify", "--head", first)).stderr).toBe("");
  await writeRun();
  const second = (await ptc("head")).stdout.trim();
  expect((await ptc("verify", "--head", first)).stderr).toMatch(
    /^ptc: note: no head that was kept elsewhere proves what came after line 5$/m,
  );
  expect(await ptc("verify", "--head", first, "--head", second)).toMatchObject({ code: 0, stderr: "" });
  await log.clear();
  await writeRun();
  expect((await ptc("verify")).code).toBe(0);
  expect(await ptc("verify", "--head", first, "--head", second)).toMatchObject({
    code: 1,
    stdout: "line 5 was edited\nlines 6 to 10 are missing\n",
  });
});

test("a mistake in the flags is one line", async () => {
  for (const flags of ["--event nothing", "--limit 0", "--json --ocsf", "--since soon"])
    expectRefusal(await ptc(...flags.split(" ")), /^ptc: --/);
});

test("following goes on across the files of the log", async () => {
  await writeRun();
  const stop = new AbortController();
  const seen: unknown[] = [];
  const following = (async () => {
    const source = openAuditSource(log.options.path, log.database);
    for await (const { fields } of source.following({ events: ["run"] }, stop.signal))
      seen.push(fields.outcome);
  })();
  // It begins at some moment: what is written before is none of it.
  await eventually(async () => {
    const writer = open();
    writer.run(RUN, { outcome: "Busy", calls: 0, durationMs: 1, redactions: 0 });
    await writer.close();
    expect(seen).not.toEqual([]);
  });
  for (const outcome of ["Timeout", "ToolError", "Cancelled"] as const) {
    const writer = open({ maxBytes: 100, keepMs: 1e12 });
    writer.run(RUN, { outcome, calls: 0, durationMs: 1, redactions: 0 });
    await writer.close();
    await eventually(() => expect(seen.at(-1)).toBe(outcome));
  }
  stop.abort();
  await following;
  expect(seen.filter((outcome) => outcome !== "Busy")).toEqual(["Timeout", "ToolError", "Cancelled"]);
});
