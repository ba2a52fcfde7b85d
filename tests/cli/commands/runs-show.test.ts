import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { ago, DAY_MS, useProjects } from "./runs-projects.ts";

const newProject = useProjects();

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
    ]) {
      expect(await ptc("show", reference ?? "")).toMatchObject({ code: 0, stderr: "" });
    }
  });

  it("shows of several runs of one input the newest, and names the others", async () => {
    const { stdout, stderr } = await ptc("show", newer?.input_digest ?? "");
    expect(stdout).toContain("the newer one");
    expect(stdout).toContain("Stderr\n\\u{1b}[2Jlogged\n");
    expect(stderr).toBe(`ptc: the newest of 2 runs of this input; the others: ${older?.run_id}\n`);
  });

  it("refuses in one line what finds none or several", async () => {
    const none = await ptc("show", "0123456789abcdef");
    expect(none).toMatchObject({ code: 2, stdout: "" });
    expect(none.stderr).toMatch(/^ptc: no run or input begins with 0123456789abcdef; [^\n]+\n$/);
    const several = await ptc("show", "aaaa");
    expect(several.code).toBe(2);
    expect(several.stderr).toMatch(
      /^ptc: several runs or inputs begin with aaaa: give more of [^\n]*aaaa1111-[^\n]*aaaa2222-[^\n]*\n$/,
    );
  });

  it("prints everything as one line of JSON", async () => {
    const { stdout } = await ptc("show", "aaaa1111", "--json");
    expect(stdout).toMatch(/^[^\n]+\n$/);
    expect(JSON.parse(stdout)).toMatchObject({
      record: { run_id: "aaaa1111-0000-4000-8000-000000000000", redactions: 2 },
      code: "a",
      console: "",
      envelope: { result: { ok: true } },
      calls: [
        {
          seq: 0,
          tool: "mcp__github__list_issues",
          arguments: { q: 1 },
          outcome: { ok: true, data: { found: [1] } },
        },
      ],
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
    expect(await ptc("show", "aaaa1111", "--html", "nowhere/run.html")).toMatchObject({
      code: 2,
      stderr:
        "ptc: --html: nowhere/run.html cannot be written (ENOENT); give a file in a folder that is there\n",
    });
    expect(await ptc("show", "aaaa1111", "--html", "run.html", "--json")).toMatchObject({ code: 2 });
  });

  it("shows nothing of a run that is not as it was archived, and exits 1", async () => {
    const db = new DatabaseSync(file);
    db.exec("UPDATE runs SET status = 'Timeout' WHERE run_id LIKE 'aaaa2222%'");
    db.close();
    const { code, stdout, stderr } = await ptc("show", "aaaa2222");
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^ptc: run aaaa2222-[^\n]* is not as it was archived[^\n]*\n$/);
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
    expect(await ptc("stats", "--since", "2100-01-01")).toEqual({
      code: 0,
      stdout: "",
      stderr: "ptc: no archived run matches\n",
    });
  });
});
