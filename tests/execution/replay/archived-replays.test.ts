import { describe, expect, it } from "vitest";
import { loadReplayable } from "../../../execution/replay/load-replayable.ts";
import { RecordedCalls } from "../../../execution/replay/recorded-calls.ts";
import { selectReplayable } from "../../../execution/replay/select-replayable.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { archiveIn, type SampleRun } from "../../server/reports/sample-archive.ts";

const REPLAYABLE: SampleRun = {
  code: "work()",
  data: { month: 5 },
  startedAt: 1_000,
  options: {
    timeout_ms: 1_000,
    max_output_bytes: 65_536,
    max_stderr_bytes: 65_536,
    max_parallel_calls: 10,
    max_tool_calls: 1_000,
    typecheck: "error",
  },
  environment: { seed: "0".repeat(64), time_zone: "UTC" },
  calls: [
    { from: 0, took: 2, arguments: { page: 1 }, answer: { found: 1 } },
    { from: 3, took: 2, arguments: { page: 2 }, error: "no such page" },
  ],
};

const refuse = ({ message }: { message: string }) => expect.unreachable(message);

describe("a run that is read from an archive to be replayed", () => {
  it("has its calls answered with what is in the archive", async () => {
    const archive = new MemoryStore();
    const runId = await archiveIn(archive, REPLAYABLE);
    const loaded = await loadReplayable(archive, runId);
    if (!loaded.ok) throw new Error(loaded.problem.kind);
    const { run, modules } = loaded.replayable;
    expect(run.program).toMatchObject({ code: "work()", data: { month: 5 } });
    expect((await modules.load("github"))?.text).toBe("export const github = 1;");
    const unknown: string[] = [];
    const calls = new RecordedCalls(
      run.calls,
      (value) => value,
      (message) => unknown.push(message),
    );
    const { signal } = new AbortController();
    const call = (page: number) =>
      calls.dispatch({ tool: "mcp__github__list_issues", arguments: { page } }, { signal });
    expect(await Promise.all([call(2), call(1)])).toMatchObject([
      { ok: false, error: { message: "no such page" } },
      { ok: true, data: { found: 1 } },
    ]);
    expect([unknown, calls.missing]).toEqual([[], []]);
  });

  it("is not replayed when it was archived in another form, and is told from one that is not there", async () => {
    const archive = new MemoryStore();
    const runId = await archiveIn(archive, { ...REPLAYABLE, environment: { seed: "short" } });
    expect(await loadReplayable(archive, runId)).toEqual({ ok: false, problem: { kind: "other-version" } });
    await expect(loadReplayable(archive, "x")).rejects.toMatchObject({ code: "missing" });
  });

  it("is not replayed without the values of its calls", async () => {
    const archive = new MemoryStore();
    const runId = await archiveIn(archive, {
      ...REPLAYABLE,
      calls: [
        { from: 0, took: 1 },
        { from: 1, took: 1, unkept: "too large" },
      ],
    });
    expect(await loadReplayable(archive, runId)).toEqual({
      ok: false,
      problem: { kind: "values-not-kept", call: 2, why: "too large" },
    });
  });
});

describe("the runs that are replayed together", () => {
  it("are those in which a program ran, without replays, the oldest first", async () => {
    const archive = new MemoryStore();
    const ids = [];
    for (const startedAt of [3_000, 1_000, 2_000])
      ids.push(await archiveIn(archive, { ...REPLAYABLE, startedAt }));
    await archiveIn(archive, { ...REPLAYABLE, source: "replay" });
    const failure = { type: "Busy" as const, message: "too many" };
    await archiveIn(archive, { ...REPLAYABLE, failure, calls: [] });
    expect(await selectReplayable(archive, {}, refuse)).toEqual({
      runIds: [ids[1], ids[2], ids[0]],
      skipped: 1,
    });
    expect(await selectReplayable(archive, { sinceMs: 2_000 }, refuse)).toEqual({
      runIds: [ids[2], ids[0]],
      skipped: 0,
    });
  });
});
