import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ListedRun } from "../../../archive/listed-run.ts";
import { openForWriting } from "../../../archive/sqlite/connection.ts";
import type { SqlValue } from "../../../archive/sqlite/database.ts";
import { UsageError } from "../../../cli/command.ts";
import { parseMoment, tellDamaged } from "../../../cli/commands/archived-runs.ts";
import { listRuns, showRun } from "../../../cli/commands/runs.ts";
import { selectRun, selectRunIds } from "../../../project/runs.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { storeOn } from "../../archive/on-connection.ts";
import { archiveIn, type SampleRun, storeSample, useArchive } from "../../server/reports/sample-archive.ts";
import { expectRefusal } from "../in-process.ts";
import { surroundingsIn } from "../surroundings.ts";
import { ago, DAY_MS, idsOf, useProjects } from "./runs-projects.ts";

const newProject = useProjects();

/** Two runs, of which the first says something that ptc does not write. */
function damaged(column: string, value: SqlValue) {
  const project = newProject({ startedAt: ago(2_000) }, { startedAt: ago(1_000) });
  const [bad = "", sound = ""] = project.records.map(({ run_id }) => run_id);
  const db = openForWriting(project.file);
  db.run(`UPDATE runs SET ${column} = ? WHERE run_id = ?`, value, bad);
  db.close();
  return { ...project, bad, sound };
}

describe.each([
  ["started_at", 8.64e15],
  ["started_at", -(2n ** 63n)],
  ["result_bytes", 2n ** 63n - 1n],
  ["imported_at", 2n ** 60n],
])("with a run whose %s is %s, ptc runs", (column, value) => {
  const { ptc, folder, bad, sound } = damaged(column, value);

  it("list shows the others, names it and fails", async () => {
    const { code, stdout, stderr } = await ptc("list", "--json");
    expect([code, idsOf(stdout)]).toEqual([1, [sound]]);
    expect(stderr).toContain(`ptc: run ${bad} is not as it was archived: its row holds a wrong ${column}`);
    expect(stderr).toMatch(/1 run left out; `ptc runs prune RUN` deletes one/);
    expect((await ptc("list")).stdout).toContain(sound.slice(0, 8));
  });

  it("show shows the others, and says of it in one line what is wrong", async () => {
    expect(await ptc("show", sound)).toMatchObject({ code: 0, stderr: "" });
    expectRefusal(await ptc("show", bad), `ptc: run ${bad} is not as it was archived: `, 1);
  });

  it("stats counts the others", async () => {
    const { code, stdout } = await ptc("stats", "--json");
    const { runs, undated } = JSON.parse(stdout);
    expect([code, runs + undated]).toEqual([undated === 0 ? 0 : 1, 2]);
    const shown = await ptc("stats");
    expect(shown.stdout).toMatch(/^[12] runs? \(/);
    expect(shown.stdout).not.toMatch(/[GT]B/);
    expect(shown.stderr).toMatch(
      undated === 0
        ? /^$/
        : /^ptc: 1 run left out whose date, counts or sizes no run can have; `ptc runs verify`/,
    );
  });

  it("verify checks the others and names it", async () => {
    const { code, stdout } = await ptc("verify", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout).problems.join("\n")).toContain(bad);
    expect(stdout).not.toContain(sound);
  });

  it("export takes the others, names it and fails; a file of it alone is not written", async () => {
    const { code, stdout, stderr } = await ptc("export", "--all", "--out", "all.ptc", "--json");
    expect([code, JSON.parse(stdout).exported]).toEqual([1, [sound]]);
    expect(stderr).toContain(bad);
    const to = newProject();
    expect(await to.ptc("import", join(folder, "all.ptc"))).toMatchObject({ code: 0, stdout: `${sound}\n` });
    expect(await ptc("export", bad, "--out", "bad.ptc")).toMatchObject({ code: 1, stdout: "" });
  });

  it("prune leaves it or not by its age, and deletes it by its name", async () => {
    expect(await ptc("prune", "--json")).toMatchObject({ code: 0, stderr: "" });
    expect(idsOf((await ptc("list", "--json")).stdout)).toEqual([sound]);
    expect(await ptc("prune", bad, "--keep-days", "3")).toMatchObject({ code: 2 });
    const byName = await ptc("prune", bad);
    expect([0, 2]).toContain(byName.code);
    expect(await ptc("list", "--json")).toMatchObject({ code: 0, stderr: "" });
    expect(await ptc("prune", "no-such-run")).toMatchObject({ code: 2 });
    expect((await ptc("prune", "--keep-days", "0")).stdout).toMatch(/^deleted 1 run and/);
  });
});

describe("ptc runs prune", () => {
  it("deletes what is older than the configured days, or than those that are given", async () => {
    const { records, ptc } = newProject(
      { startedAt: ago(1_000) },
      { startedAt: ago(5 * DAY_MS) },
      { startedAt: ago(20 * DAY_MS) },
    );
    expect((await ptc("prune")).stdout).toMatch(
      /^deleted 1 run older than 10 days and \d+ values? of theirs, /,
    );
    expect(JSON.parse((await ptc("prune", "--keep-days", "2", "--json")).stdout)).toMatchObject({ runs: 1 });
    expect(idsOf((await ptc("list", "--json")).stdout)).toEqual([records[0]?.run_id]);
    expect((await ptc("prune")).stdout).toBe("no run older than 10 days to delete\n");
    expect(await ptc("prune", "--keep-days", "-1")).toMatchObject({ code: 2, stdout: "" });
    expect((await ptc("prune", "--keep-days", "0")).stdout).toMatch(/^deleted 1 run and /);
    expect(await ptc("verify")).toMatchObject({ code: 0 });
  });
});

describe("ptc runs head and verify", () => {
  it("prints what to keep elsewhere, compares with it, and says what nothing here can prove", async () => {
    const { ptc, file } = newProject({}, {});
    const { stdout: head } = await ptc("head");
    expect(head).toMatch(/^2:sha256:[0-9a-f]{64}\n$/);
    expect(await ptc("verify")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(head),
      stderr: expect.stringMatching(/^ptc: note: nothing in the archive can show .*\n$/),
    });
    for (const kept of [head, head.slice(2)])
      expect(await ptc("verify", "--head", kept)).toMatchObject({ code: 0, stderr: "" });
    expect(await ptc("verify", "--head", "3:none")).toMatchObject({ code: 2, stdout: "" });
    await ptc("prune", "--keep-days", "0");
    expect(await ptc("verify", "--head", (await ptc("head")).stdout)).toMatchObject({ code: 0, stderr: "" });
    rmSync(file);
    expect(await ptc("verify", "--head", head)).toMatchObject({ code: 1 });
    expect(await ptc("head")).toMatchObject({ code: 1, stdout: "" });
  });
});

describe("ptc runs export and import", () => {
  it("carry runs to another archive, each once, readable by their owner alone", async () => {
    const from = newProject({ code: "once", startedAt: ago(1_000) }, { code: "twice" }, { code: "twice" });
    const [once, twice] = from.records;
    const named = [once?.run_id, twice?.input_digest, twice?.run_id].map(String);
    const wrote = await from.ptc("export", ...named, "--out", "runs.ptc");
    expect(wrote).toEqual({ code: 0, stdout: "", stderr: "ptc: wrote 3 runs to runs.ptc\n" });
    const file = join(from.folder, "runs.ptc");
    expect(statSync(file).mode & 0o777).toBe(0o600);

    const to = newProject();
    const ids = from.records.map(({ run_id }) => run_id).sort();
    const taken = await to.ptc("import", file);
    expect(taken).toMatchObject({ code: 0, stderr: "ptc: imported 3 runs\n" });
    expect(taken.stdout.trim().split("\n").sort()).toEqual(ids);
    const again = JSON.parse((await to.ptc("import", file, "--json")).stdout);
    expect(again).toMatchObject({ imported: [], skipped: expect.anything() });
    expect(idsOf((await to.ptc("list", "--json")).stdout).sort()).toEqual(ids);
    expect((await to.ptc("list")).stdout).toContain("serve, imported");
  });

  it("export what is recent, or everything", async () => {
    const { records, ptc } = newProject({ startedAt: ago(1_000) }, { startedAt: ago(5 * DAY_MS) });
    const recent = await ptc("export", "--since", "24h", "--out", "recent.ptc", "--json");
    expect(JSON.parse(recent.stdout)).toEqual({ file: "recent.ptc", exported: [records[0]?.run_id] });
    expect((await ptc("export", "--all", "--out", "all.ptc")).stderr).toBe("ptc: wrote 2 runs to all.ptc\n");
  });

  it.each([
    ["export --out x.ptc", 2, "say what to export"],
    ["export --all --since 1d --out x.ptc", 2, "say what to export"],
    ["export --all", 2, "required option '--out <file>'"],
    ["export --since 2100-01-01 --out x.ptc", 2, "nothing was written"],
    ["export --all --out ptc.yaml", 2, "ptc.yaml is there already"],
    ["import ptc.yaml", 1, "nothing was imported"],
    ["import nowhere.ptc", 2, "there is no such file"],
  ])("refuse %j in one line", async (args, code, message) => {
    const { folder, ptc } = newProject({});
    expectRefusal(await ptc(...args.split(" ")), message, code);
    expect(readdirSync(folder)).not.toContain("x.ptc");
  });
});

describe("ptc runs show", () => {
  const { folder, file, records, ptc } = newProject(
    { startedAt: ago(5_000), code: "first" },
    { startedAt: ago(4_000), code: "twice" },
    { startedAt: ago(3_000), code: "twice", consoleText: "the newer one", stderrText: "\u001b[2Jlogged\n" },
    {
      runId: "aaaa1111-0000-4000-8000-000000000000",
      code: "a",
      calls: [{ from: 0, took: 2, arguments: { q: 1 }, answer: { found: [1] } }],
    },
    { runId: "aaaa2222-0000-4000-8000-000000000000", code: "a2" },
  );
  const [first, older, newer] = records;

  it("finds a run by its id, its input digest, and what either begins with", async () => {
    for (const reference of [
      first?.run_id,
      first?.input_digest,
      first?.input_digest.slice(0, 20),
      "aaaa1111",
    ])
      expect(await ptc("show", reference ?? "")).toMatchObject({ code: 0, stderr: "" });
  });

  it("shows of several runs of one input the newest, and names the others", async () => {
    const { stdout, stderr } = await ptc("show", newer?.input_digest ?? "");
    expect(stdout).toContain("the newer one");
    expect(stdout).toContain("Stderr\n\\u{1b}[2Jlogged\n");
    expect(stderr).toBe(`ptc: the newest of 2 runs of this input; the others: ${older?.run_id}\n`);
  });

  it("refuses in one line what finds none or several", async () => {
    const none = await ptc("show", "0123456789abcdef");
    expectRefusal(none, "ptc: no run or input begins with 0123456789abcdef; ");
    const several = /^ptc: several runs or inputs begin with aaaa: give more of .*aaaa1111-.*aaaa2222-/;
    expectRefusal(await ptc("show", "aaaa"), several);
  });

  it("prints everything as one line of JSON", async () => {
    const { stdout } = await ptc("show", "aaaa1111", "--json");
    expect(stdout).toMatch(/^[^\n]+\n$/);
    const call = { seq: 0, tool: "mcp__github__list_issues", arguments: { q: 1 } };
    expect(JSON.parse(stdout)).toMatchObject({
      record: { run_id: "aaaa1111-0000-4000-8000-000000000000", redactions: 2 },
      ...{ code: "a", console: "", envelope: { result: { ok: true } } },
      calls: [{ ...call, outcome: { ok: true, data: { found: [1] } } }],
    });
  });

  it("writes a page for its owner alone, over one that was there, and nothing else", async () => {
    for (const _ of [1, 2]) {
      const { code, stdout, stderr } = await ptc("show", "aaaa1111", "--html", "run.html");
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
      expect(stderr).toMatch(/^ptc: wrote run\.html \(\d+ kB\)\n$/);
    }
    expect(statSync(join(folder, "run.html")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, "run.html"), "utf8")).toContain("aaaa1111-0000-4000-8000-000000000000");
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
    expectRefusal(
      await ptc("show", "aaaa1111", "--html", "nowhere/run.html"),
      /^ptc: --html: nowhere\/run.html cannot be written \(ENOENT\); give a file in a folder that is there\n$/,
    );
    expect(await ptc("show", "aaaa1111", "--html", "run.html", "--json")).toMatchObject({ code: 2 });
  });

  it("shows nothing of a run that is not as it was archived, and exits 1", async () => {
    const db = new DatabaseSync(file);
    db.exec("UPDATE runs SET status = 'Timeout' WHERE run_id LIKE 'aaaa2222%'");
    db.close();
    expectRefusal(await ptc("show", "aaaa2222"), /^ptc: run aaaa2222-.* is not as it was archived/, 1);
    const verified = await ptc("verify");
    expect(verified.code).toBe(1);
    expect(verified.stdout).toContain("aaaa2222");
    expect(verified.stderr).toMatch(/^ptc: of 5 runs and \d+ values, 1 thing not as archived/);
    expect(JSON.parse((await ptc("verify", "--json")).stdout).problems).toHaveLength(1);
  });
});

describe("ptc runs stats", () => {
  const { folder, ptc } = newProject(
    { startedAt: ago(1_000), calls: [{ from: 0, took: 1, bytes: 4_004 }] },
    { startedAt: ago(30 * DAY_MS) },
  );

  it("counts, as text, as JSON and as a page", async () => {
    expect((await ptc("stats")).stdout).toMatch(/^2 runs /);
    expect(JSON.parse((await ptc("stats", "--json", "--since", "7d")).stdout)).toMatchObject({
      runs: 1,
      total: { kept_bytes: 4_000 },
      estimated_kept_tokens: 1_000,
    });
    expect(await ptc("stats", "--html", "stats.html")).toMatchObject({ code: 0, stdout: "" });
    expect(readFileSync(join(folder, "stats.html"), "utf8")).toContain("github.list_issues");
  });

  it("says when there is nothing to count", async () => {
    const nothing = { code: 0, stdout: "", stderr: "ptc: no archived run matches\n" };
    expect(await ptc("stats", "--since", "2100-01-01")).toEqual(nothing);
  });
});

describe("ptc runs, before anything was archived", () => {
  it.each([
    ["list", 0, ""],
    ["list --json", 0, "[]\n"],
    ["stats", 0, ""],
    ["verify", 0, ""],
    ["prune", 0, "no run older than 10 days to delete\n"],
    ["show abcd", 2, ""],
    ["export --all --out x.ptc", 2, ""],
  ])("%j says so in one line and makes no archive", async (args, code, stdout) => {
    const { folder, file, ptc } = newProject();
    const stderr = `ptc: nothing is archived yet in ${file}\n`;
    expect(await ptc(...args.split(" "))).toEqual({ code, stdout, stderr });
    expect(readdirSync(folder)).toEqual(["ptc.yaml"]);
  });
});

describe("ptc runs list", () => {
  const SESSION = "7b1e6f0a-2c4d-4e8f-9a1b-3c5d7e9f0a2b";
  const calling = (tool: string) => ({ calls: [{ from: 0, took: 1, tool }] });
  const { records, ptc } = newProject(
    {
      startedAt: ago(30 * DAY_MS),
      clientSession: SESSION,
      user: "ada",
      ...calling("mcp__github__list_issues"),
    },
    {
      startedAt: ago(2 * DAY_MS),
      failure: { type: "Timeout", message: "slow" },
      ...calling("mcp__slack__post"),
    },
    { startedAt: ago(1_000), data: { other: 1 }, failure: { type: "ScriptError", message: "no" } },
  );
  const [oldest = "", middle = "", newest = ""] = records.map(({ run_id }) => run_id);

  it.each([
    ["", [newest, middle, oldest]],
    ["--status failed", [newest, middle]],
    ["--status ok", [oldest]],
    ["--status Timeout", [middle]],
    ["--tool mcp__*__list_*", [oldest]],
    ["--server slack", [middle]],
    ["--since 7d", [newest, middle]],
    [`--since ${new Date(ago(7 * DAY_MS)).toISOString().slice(0, 10)} --until 24h`, [middle]],
    [`--until ${new Date(ago(7 * DAY_MS)).toISOString()}`, [oldest]],
    [`--digest ${records[0]?.input_digest}`, [middle, oldest]],
    [`--digest ${newest}`, [newest]],
    ["--limit 1", [newest]],
    ["--client-session 7b1e6f0a", [oldest]],
    ["--client-session b1e6", []],
    ["--principal local", [newest, middle, oldest]],
    ["--principal somebody", []],
    ["--user ada", [oldest]],
    ["--host desk-7 --client claude-code", [oldest]],
    ["--user ad", []],
  ])("finds by %j", async (flags, expected) => {
    const { code, stdout } = await ptc("list", "--json", ...flags.split(" ").filter(Boolean));
    expect([code, idsOf(stdout)]).toEqual([0, expected]);
  });

  it("prints a table for people, and says when there is more and when there is nothing", async () => {
    const limited = await ptc("list", "--limit", "2");
    expect(limited.stdout.split("\n")).toHaveLength(4);
    expect(limited.stderr).toBe("ptc: the newest 2; --limit shows more\n");
    const nothing = { code: 0, stdout: "", stderr: "ptc: no archived run matches\n" };
    expect(await ptc("list", "--tool", "nothing")).toEqual(nothing);
  });

  it.each([
    [["--status", "Broken"], "--status: 'Broken' is not one of ok, failed, TypeCheckError"],
    [["--since", "y".repeat(99)], `--since: '${"y".repeat(80)}' is not a time; `],
    [["--limit", "100001"], "--limit: '100001' is not a whole number from 1 to 100000"],
    [["--since", "yesterday"], "--since: 'yesterday' is not a time; give 24h"],
    [["--until", "12"], "--until: '12' is not a time"],
    [["--limit", "0"], "--limit: '0' is not a whole number from 1 to"],
    [["--digest", "../../etc/passwd"], "'../../etc/passwd' names no run"],
    [["--digest", "' OR 1=1 --"], "names no run"],
    [["--client-session", "current"], "--client-session: no client has started this shell"],
    [["--digest", "\u001b[2J"], "'?[2J' names no run"],
  ])("refuses %j in one line", async (flags, message) => {
    expectRefusal(await ptc("list", ...flags), message);
  });
});

describe("ptc runs", () => {
  const COMMANDS = ["list", "show", "stats", "prune", "export", "import", "verify"];
  it.each(COMMANDS)("%s explains itself with an example", async (command) => {
    const { code, stdout } = await newProject().ptc(command, "--help");
    expect(code).toBe(0);
    for (const part of [`Example:\n  ptc runs ${command}`, "--config <file>", "--json"])
      expect(stdout).toContain(part);
  });
});

const FIRST: SampleRun = {
  runId: "aaaa1111-0000-4000-8000-000000000000",
  code: "first()",
  startedAt: 1_000,
  consoleText: "said so\n",
  calls: [
    { from: 0, took: 2, arguments: { q: "asked" }, answer: { found: "answered" } },
    { from: 1, took: 2, error: "went wrong" },
  ],
};
const SECOND: SampleRun = {
  runId: "bbbb2222-0000-4000-8000-000000000000",
  code: "second()",
  startedAt: 2_000,
  failure: { type: "ScriptError", message: "no such thing" },
};

/** Commands are given a contract: what they say is the same, whichever store keeps the runs. */
describe("the commands about runs, over an archive that is no database", () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-any-store-"));
  const { db, remove } = useArchive();
  const memory = new MemoryStore();
  beforeAll(async () => {
    for (const sample of [FIRST, SECOND]) {
      storeSample(db, sample);
      await archiveIn(memory, sample);
    }
  });
  afterAll(() => {
    remove();
    rmSync(folder, { recursive: true });
  });

  const list = async (archive: typeof memory, status?: string) => {
    const surroundings = surroundingsIn(folder);
    const filter = { limit: 20, ...(status !== undefined && { status }) };
    const code = await listRuns(archive, { json: true, filter, nowMs: 3_000 }, surroundings);
    return { code, ids: idsOf(surroundings.stdout.text), stderr: surroundings.stderr.text };
  };
  const show = async (archive: Parameters<typeof showRun>[0], flags: { json?: boolean; html?: string }) => {
    const surroundings = surroundingsIn(folder);
    await showRun(archive, "aaaa", flags, surroundings);
    return surroundings.stdout.text;
  };

  it("list its runs", async () => {
    expect(await list(memory)).toEqual({ code: 0, ids: [SECOND.runId, FIRST.runId], stderr: "" });
    expect(await list(memory, "failed")).toMatchObject({ ids: [SECOND.runId] });
    expect(await list(memory, "ok")).toMatchObject({ ids: [FIRST.runId] });
  });

  it("show a run of it as text, with what its calls came to", async () => {
    const text = await show(memory, {});
    for (const part of ["first()", "said so", "went wrong"]) expect(text).toContain(part);
  });

  it("print the JSON and write the page that they would make of the same run in SQLite", async () => {
    expect(await show(memory, { json: true })).toBe(await show(storeOn(db), { json: true }));
    await show(memory, { html: "memory.html" });
    await show(storeOn(db), { html: "sqlite.html" });
    const page = readFileSync(join(folder, "memory.html"), "utf8");
    expect(page).toBe(readFileSync(join(folder, "sqlite.html"), "utf8"));
    for (const part of ["asked", "answered", "went wrong"]) expect(page).toContain(part);
  });

  it("name every run that several references mean once", async () => {
    expect(await selectRunIds(memory, ["aaaa", "bbbb2222", "aaaa1111"])).toEqual([FIRST.runId, SECOND.runId]);
    await expect(selectRunIds(memory, ["cccc"])).rejects.toThrow(/no run or input begins with cccc/);
  });

  it("name a few of many: of the runs of one input five, of damaged ones twenty", async () => {
    const { runs } = await memory.list({ limit: 1 });
    const many = Array.from({ length: 8 }, (_, i) => ({ ...runs[0], run_id: `run-${i}` })) as ListedRun[];
    const find = async () => ({ kind: "many", inputDigest: "", runs: many, total: 8 }) as const;
    const { others } = await selectRun({ find }, "aaaa");
    expect(others).toMatch(/the others: run-1, run-2, run-3, run-4, run-5 and 2 more$/);
    const { stderr } = surroundingsIn(folder);
    const bad = Array.from({ length: 25 }, (_, i) => ({ runId: "", message: `run ${i} is bad` }));
    await tellDamaged(bad, { stderr });
    expect(stderr.text.match(/is bad/g)).toHaveLength(20);
    expect(stderr.text).toMatch(/\nptc: 25 runs left out; /);
  });
});

const NOW = Date.UTC(2030, 0, 10, 12);

describe("a moment", () => {
  it.each([
    ["90m", Date.UTC(2030, 0, 10, 10, 30)],
    ["24h", Date.UTC(2030, 0, 9, 12)],
    ["7d", Date.UTC(2030, 0, 3, 12)],
    ["2w", Date.UTC(2029, 11, 27, 12)],
    ["2029-12-31", Date.UTC(2029, 11, 31)],
    ["2028-02-29", Date.UTC(2028, 1, 29)],
    ["2029-12-31T10:00:00Z", Date.UTC(2029, 11, 31, 10)],
    ["2029-12-31T10:00:00+02:00", Date.UTC(2029, 11, 31, 8)],
  ])("can be %s", (text, moment) => {
    expect(parseMoment("--since", text, NOW)).toBe(moment);
  });

  const WRONG = "yesterday 7 7y -7d 2029-13-01 2029-02-31 2029-1-1 1e3d 9999999d d".split(" ");
  it.each(["", ...WRONG])("cannot be %j", (text) => {
    expect(() => parseMoment("--since", text, NOW)).toThrow(UsageError);
  });
});
