import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { selectRunIds } from "../../../cli/commands/archived-runs.ts";
import { listRuns, showRun } from "../../../cli/commands/runs.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { storeOn } from "../../archive/on-connection.ts";
import { archiveIn, type SampleRun, storeSample, useArchive } from "../../server/reports/sample-archive.ts";
import { idsOf, surroundingsIn } from "./runs-projects.ts";

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
});
