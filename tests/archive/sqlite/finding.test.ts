import { randomUUID } from "node:crypto";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ArchiveError } from "../../../archive/archive-error.ts";
import type { PageFilter } from "../../../archive/listed-run.ts";
import { storeRun } from "../../../archive/sqlite/changes/store-run.ts";
import { openForReading } from "../../../archive/sqlite/file/connection.ts";
import type { Database } from "../../../archive/sqlite/file/database.ts";
import { findRuns, readStats } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { tries } from "../../tries.ts";
import { listRuns } from "../on-connection.ts";
import { openQuickly, type SampleOptions, sampleRun, temporaryFolder } from "../sample-runs.ts";

const folder = temporaryFolder();
const DAY_MS = 24 * 60 * 60 * 1000;
const START = Date.UTC(2030, 0, 1);
const said = { ok: true as const, data: "said" };
const failure = {
  ok: false as const,
  error: { type: "ScriptError" as const, message: "no", retryable: false },
};

let db: Database;
afterAll(() => {
  db.close();
  folder.remove();
});

function fill(path: string, samples: SampleOptions[]): { runId: string; inputDigest: string }[] {
  const writing = openQuickly(path);
  const made = samples.map((options) => {
    const { run, calls } = sampleRun(options);
    storeRun(writing, run, calls);
    return { runId: run.facts.run_id, inputDigest: run.facts.input_digest };
  });
  writing.close();
  return made;
}

/** By what they are for; stored in another order than they started. */
const SAMPLES = {
  oldest: { code: "one()", startedAt: START },
  newest: { code: "one()", startedAt: START + 3 * DAY_MS },
  middle: { code: "one()", startedAt: START + DAY_MS },
  failed: { code: "\n  // why\ntwo()", startedAt: START + DAY_MS + 1, result: failure, consoleText: "ab" },
  other: { code: "three()", startedAt: START + 2 * DAY_MS, tool: "mcp__git_hub__delete_repo", calls: 3 },
  silent: { code: "four()", startedAt: START + 2 * DAY_MS, calls: 0, consoleText: "said\n", result: said },
} satisfies Record<string, SampleOptions>;
type Name = keyof typeof SAMPLES;
const made = {} as Record<Name, { runId: string; inputDigest: string }>;

beforeAll(() => {
  const path = join(folder.path, "archive.db");
  const runs = fill(path, Object.values(SAMPLES));
  for (const [index, name] of Object.keys(SAMPLES).entries()) {
    made[name as Name] = runs[index] ?? { runId: "", inputDigest: "" };
  }
  db = openForReading(path);
});

const names = (runs: { run_id: string }[]) =>
  runs.map(({ run_id }) => Object.entries(made).find(([, { runId }]) => runId === run_id)?.[0]);

describe("a reference finds", () => {
  test("the one run of an input, by digest, with or without its prefix, by run id and by the beginning of each", () => {
    const { runId, inputDigest } = made.failed;
    const hex = inputDigest.slice("sha256:".length);
    const references = [inputDigest, hex, inputDigest.slice(0, 30), hex.slice(0, 12), hex.toUpperCase()];
    for (const reference of [
      ...references,
      runId,
      runId.slice(0, 20),
      runId.slice(0, 9),
      runId.toUpperCase(),
    ]) {
      const found = findRuns(db, reference);
      expect([reference, found]).toMatchObject([reference, { kind: "one", run: { run_id: runId } }]);
    }
  });

  test("all runs of an input, the newest first", () => {
    const found = findRuns(db, made.oldest.inputDigest);
    if (found.kind !== "many") throw new Error(found.kind);
    expect(found).toMatchObject({ inputDigest: made.oldest.inputDigest, total: 3 });
    expect(names(found.runs)).toEqual(["newest", "middle", "oldest"]);
  });

  test("nothing, where nothing begins so", () => {
    for (const reference of ["0123456789abcdef0123", randomUUID(), `sha256:${"0".repeat(64)}`]) {
      expect(findRuns(db, reference)).toEqual({ kind: "none" });
    }
  });

  test("candidates, where several digests and run ids begin so", () => {
    const path = join(folder.path, "ambiguous.db");
    const tail = randomUUID().slice(8);
    fill(
      path,
      ["abcd0001", "abcd0002", "abcd0003"].map((head) => ({ runId: `${head}${tail}` })),
    );
    const ambiguous = openForReading(path);
    expect(findRuns(ambiguous, "abcd")).toMatchObject({
      kind: "ambiguous",
      candidates: expect.arrayContaining([`abcd0001${tail}`, `abcd0003${tail}`]),
    });
    expect(findRuns(ambiguous, "abcd0002")).toMatchObject({
      kind: "one",
      run: { run_id: `abcd0002${tail}` },
    });
    ambiguous.close();
  });
});

describe("a hostile reference is refused in one line that shows nothing it could do harm with", () => {
  test.each([
    ["empty", ""],
    ["too short", "abc"],
    ["a prefix alone", "sha256:"],
    ["a short prefix", "sha256:abc"],
    ["a path", "../../etc/passwd"],
    ["an absolute path", "/etc/passwd"],
    ["SQL", "abcd' OR '1'='1"],
    ["a comment", "abcd--"],
    ["a wildcard", "abcd%"],
    ["another wildcard", "abc_"],
    ["a star", "abcd*"],
    ["a null byte", "abcd\0"],
    ["a line feed", "abcd\n"],
    ["an escape sequence", "\u001b[31mabcd"],
    ["an escape sequence in one character", "\u009b31mabcd"],
    ["white space", " abcd"],
    ["another script", "ａｂｃｄ"],
    ["a digest that is too long", `sha256:${"a".repeat(65)}`],
    ["another digest", `md5:${"a".repeat(32)}`],
    ["a run id with a dash in the wrong place", "abcd-abcd"],
    ["a megabyte", "a".repeat(1_000_000)],
    ["a megabyte of something else", "\u001b]0;x\u0007".repeat(200_000)],
  ])("%s", (_, reference) => {
    try {
      findRuns(db, reference);
    } catch (error) {
      expect(error).toMatchObject({ name: "ArchiveError", code: "bad-reference" });
      expect((error as Error).message).toMatch(/^[ -~]+$/);
      expect((error as Error).message.length).toBeLessThan(400);
      return;
    }
    throw new Error("it was not refused");
  });

  test("and any other text finds, or is refused", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: fc.constantFrom(..."0123456789abcdef-:%_") }),
    );
    fc.assert(
      fc.property(text, (reference) => {
        try {
          findRuns(db, reference);
        } catch (error) {
          expect((error as ArchiveError).code).toBe("bad-reference");
        }
      }),
      { numRuns: tries(120) },
    );
  });
});

describe("a list", () => {
  test.each<[Name[], string, Omit<PageFilter, "limit">]>([
    [["newest", "silent", "other", "failed", "middle", "oldest"], "everything", {}],
    [["failed"], "what failed", { status: "failed" }],
    [["failed"], "a type of failure", { status: "ScriptError" }],
    [[], "another type of failure", { status: "Timeout" }],
    [["newest", "silent", "other", "middle", "oldest"], "what did not fail", { status: "ok" }],
    [["other"], "a tool", { tool: "mcp__git_hub__delete_repo" }],
    [["other"], "a pattern of tools", { tool: "mcp__*__delete_*" }],
    [["newest", "other", "failed", "middle", "oldest"], "any tool", { tool: "*" }],
    [[], "a pattern that SQL would know", { tool: "mcp__%" }],
    [["newest", "failed", "middle", "oldest"], "a server", { server: "math" }],
    [[], "a tool of another server", { server: "math", tool: "mcp__git_hub__*" }],
    [[], "SQL", { server: "' OR 1 --", status: "' OR 1 --", inputDigest: "' OR 1 --" }],
    [["newest", "silent", "other"], "since", { sinceMs: START + 2 * DAY_MS }],
    [["middle", "oldest"], "until", { untilMs: START + DAY_MS + 1 }],
    [["failed"], "several at once", { status: "failed", sinceMs: START + 1, server: "math" }],
  ])("gives %s for %s", (expected, _, filter) => {
    expect(names(listRuns(db, { ...filter, limit: 100 }))).toEqual(expected);
  });

  test("goes on where the page before it ended, also among runs of one moment", () => {
    const seen: unknown[] = [];
    let before: PageFilter["before"];
    for (;;) {
      const page = listRuns(db, { limit: 2, ...(before && { before }) });
      const last = page.at(-1);
      if (last === undefined) break;
      seen.push(...names(page));
      before = last.run_id;
    }
    expect(seen).toEqual(["newest", "silent", "other", "failed", "middle", "oldest"]);
  });

  test("shows what a run was at a glance", () => {
    const [failed] = listRuns(db, { status: "failed", limit: 1 });
    expect(failed).toMatchObject({
      status: "ScriptError",
      title: "// why",
      file_name: "program.ts",
      calls: 2,
      failed_calls: 0,
      returned_bytes: 4,
      source: "run",
      imported_at: null,
    });
    // Console text that is the result as well is counted once.
    const silent = listRuns(db, { runId: made.silent.runId, limit: 1 });
    expect(silent).toMatchObject([{ status: "ok", returned_bytes: 5 }]);
  });
});

describe("the counts", () => {
  test("are of runs, failures, tools and days, with the bytes that no model was shown", () => {
    const stats = readStats(db);
    expect(stats).toMatchObject({ runs: 6, failures: [{ type: "ScriptError", runs: 1 }] });
    expect(stats.tools.map(({ tool, server, runs, calls }) => [tool, server, runs, calls])).toEqual([
      ["mcp__math__add", "math", 4, 8],
      ["mcp__git_hub__delete_repo", "git_hub", 1, 3],
    ]);
    expect(stats.days.map(({ day, runs, failed, calls }) => [day, runs, failed, calls])).toEqual([
      ["2030-01-01", 1, 0, 2],
      ["2030-01-02", 2, 1, 4],
      ["2030-01-03", 2, 0, 3],
      ["2030-01-04", 1, 0, 2],
    ]);
    const perRun = listRuns(db, { limit: 10 }).map((run) =>
      Math.max(run.result_bytes - run.returned_bytes, 0),
    );
    expect(stats.total.kept_bytes).toBe(perRun.reduce((a, b) => a + b));
    expect(stats.total).toMatchObject({ runs: 6, failed: 1, calls: 11 });
  });

  test("leave out replays, which a list shows", () => {
    const path = join(folder.path, "replays.db");
    fill(path, [{}, { source: "replay" }, { source: "replay" }]);
    const replays = openForReading(path);
    const { runs, tools, days } = readStats(replays);
    expect([runs, tools[0]?.calls, days[0]?.runs]).toEqual([1, 2, 1]);
    expect(listRuns(replays, { limit: 10 })).toHaveLength(3);
    expect(listRuns(replays, { source: "replay", limit: 10 })).toHaveLength(2);
    replays.close();
  });

  test("begin where they are told to", () => {
    const { total, tools, days } = readStats(db, { sinceMs: START + 2 * DAY_MS });
    expect(total).toMatchObject({ runs: 3, failed: 0, calls: 5 });
    expect(tools.map(({ calls }) => calls)).toEqual([3, 2]);
    expect(days).toHaveLength(2);
  });
});
