import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openForWriting } from "../../../archive/sqlite/file/connection.ts";
import type { SqlValue } from "../../../archive/sqlite/file/database.ts";
import { ago, idsOf, useProjects } from "./runs-projects.ts";

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
    const { code, stdout, stderr } = await ptc("show", bad);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^ptc: run ${bad} is not as it was archived: [^\\n]*\\n$`));
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
