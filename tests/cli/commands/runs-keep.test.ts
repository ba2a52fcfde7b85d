import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ago, DAY_MS, idsOf, useProjects } from "./runs-projects.ts";

const newProject = useProjects();

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
    const wrote = await from.ptc(
      "export",
      once?.run_id ?? "",
      twice?.input_digest ?? "",
      twice?.run_id ?? "",
      "--out",
      "runs.ptc",
    );
    expect(wrote).toEqual({ code: 0, stdout: "", stderr: "ptc: wrote 3 runs to runs.ptc\n" });
    const file = join(from.folder, "runs.ptc");
    expect(statSync(file).mode & 0o777).toBe(0o600);

    const to = newProject();
    const ids = from.records.map(({ run_id }) => run_id).sort();
    const taken = await to.ptc("import", file);
    expect(taken).toMatchObject({ code: 0, stderr: "ptc: imported 3 runs\n" });
    expect(taken.stdout.trim().split("\n").sort()).toEqual(ids);
    expect(JSON.parse((await to.ptc("import", file, "--json")).stdout)).toMatchObject({
      imported: [],
      skipped: expect.anything(),
    });
    expect(idsOf((await to.ptc("list", "--json")).stdout).sort()).toEqual(ids);
    expect((await to.ptc("list")).stdout).toContain("serve, imported");
  });

  it("export what is recent, or everything", async () => {
    const { records, ptc } = newProject({ startedAt: ago(1_000) }, { startedAt: ago(5 * DAY_MS) });
    const recent = await ptc("export", "--since", "24h", "--out", "recent.ptc", "--json");
    expect(JSON.parse(recent.stdout)).toEqual({
      file: "recent.ptc",
      exported: [records[0]?.run_id],
    });
    expect((await ptc("export", "--all", "--out", "all.ptc")).stderr).toBe("ptc: wrote 2 runs to all.ptc\n");
  });

  it.each([
    [["export", "--out", "x.ptc"], 2, "say what to export"],
    [["export", "--all", "--since", "1d", "--out", "x.ptc"], 2, "say what to export"],
    [["export", "--all"], 2, "required option '--out <file>'"],
    [["export", "--since", "2100-01-01", "--out", "x.ptc"], 2, "nothing was written"],
    [["export", "--all", "--out", "ptc.yaml"], 2, "ptc.yaml is there already"],
    [["import", "ptc.yaml"], 1, "nothing was imported"],
    [["import", "nowhere.ptc"], 2, "there is no such file"],
  ])("refuse %j in one line", async (args, code, message) => {
    const { folder, ptc } = newProject({});
    const exited = await ptc(...args);
    expect(exited).toMatchObject({ code, stdout: "" });
    expect(exited.stderr).toMatch(/^ptc: [^\n]+\n$/);
    expect(exited.stderr).toContain(message);
    expect(readdirSync(folder)).not.toContain("x.ptc");
  });
});
