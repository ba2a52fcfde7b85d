import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ArchiveError } from "../../archive/archive-error.ts";
import { type ArchiveStore, allRuns } from "../../archive/archive-store.ts";
import type { RunFilter } from "../../archive/listed-run.ts";
import type { RunFacts } from "../../archive/run-record.ts";
import { tries } from "../tries.ts";
import { archiveRun } from "./made-archives.ts";
import { type SampleOptions, sampleRun } from "./sample-runs.ts";
import type { StoreKind } from "./store-contract.ts";

const DAY_MS = 86_400_000;
const START = Date.UTC(2030, 0, 1);
const [said, error] = ["said", { type: "ScriptError" as const, message: "no", retryable: false }];
const TAIL = "-0000-4000-8000-000000000000";
const WHO = {
  clientSession: "7b1e-9",
  actor: { user: "ada", uid: 1000, host: "desk-7" },
  client: { name: "claude-code", version: "2.1.0" },
};

/** Runs by what they are for, archived in another order than they started. */
const SAMPLES = {
  oldest: { code: "one()", startedAt: START, runId: `abcd0001${TAIL}` },
  newest: { code: "one()", startedAt: START + 3 * DAY_MS, runId: `abcd0002${TAIL}` },
  middle: { code: "one()", startedAt: START + DAY_MS, runId: `abcd0003${TAIL}` },
  failed: {
    ...{ code: "\n  // why\ntwo()", startedAt: START + DAY_MS + 1, consoleText: "ab", ...WHO },
    result: { ok: false, error },
  },
  other: { code: "three()", startedAt: START + 2 * DAY_MS, tool: "mcp__git_hub__delete_repo", calls: 3 },
  // Its console text is its result as well.
  silent: {
    ...{ code: "four()", startedAt: START + 2 * DAY_MS, calls: 0, consoleText: "said\n" },
    result: { ok: true, data: said },
  },
  replay: { code: "five()", startedAt: START + 1, source: "replay", tool: "mcp__math__sub" },
} satisfies Record<string, SampleOptions>;
type Name = keyof typeof SAMPLES;

const HOSTILE: [what: string, reference: string][] = [
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
  ["white space within", "no run"],
  ["another script", "ａｂｃｄ"],
  ["a digest that is too long", `sha256:${"a".repeat(65)}`],
  ["another digest", `md5:${"a".repeat(32)}`],
  ["a run id with a dash in the wrong place", "abcd-abcd"],
  ["a megabyte", "a".repeat(1_000_000)],
  ["a megabyte of something else", "\u001b]0;x\u0007".repeat(200_000)],
];

/** What every `ArchiveStore` promises of searching and counting its runs. */
export function describeSearch(kind: StoreKind<ArchiveStore>): void {
  describe(`runs that are kept by ${kind.name}`, () => {
    const folder = mkdtempSync(join(tmpdir(), "ptc-search-"));
    const made = {} as Record<Name, RunFacts>;
    let archive: ArchiveStore;
    beforeAll(async () => {
      archive = kind.open(folder);
      for (const [name, options] of Object.entries(SAMPLES)) {
        const sample = sampleRun(options);
        expect(await archiveRun(archive, sample)).toMatchObject({ ok: true });
        made[name as Name] = sample.run.facts;
      }
    });
    afterAll(async () => {
      await archive.close();
      rmSync(folder, { recursive: true });
    });

    const nameOf = (runId: string) => Object.entries(made).find(([, { run_id }]) => run_id === runId)?.[0];
    const names = (runs: { run_id: string }[]) => runs.map(({ run_id }) => nameOf(run_id));

    describe("are found by a reference:", () => {
      it("one run of an input by its digest, with or without its prefix, its run id and the beginning of each", async () => {
        const { run_id: runId, input_digest: digest } = made.failed;
        const hex = digest.slice("sha256:".length);
        const digests = [digest, hex, digest.slice(0, 30), hex.slice(0, 12), hex.toUpperCase()];
        const ids = [runId, runId.slice(0, 20), runId.slice(0, 9), runId.toUpperCase(), "ABCD0002"];
        for (const reference of [...digests, ...ids]) {
          const run_id = reference === "ABCD0002" ? made.newest.run_id : runId;
          const found = await archive.find(reference);
          expect([reference, found]).toMatchObject([reference, { kind: "one", run: { run_id } }]);
          expect(await archive.findIds(reference)).toEqual([run_id]);
        }
      });

      it("all runs of an input, the newest first", async () => {
        const { input_digest: inputDigest } = made.oldest;
        for (const reference of [inputDigest, inputDigest.slice(0, 30)]) {
          const found = await archive.find(reference);
          if (found.kind !== "many") throw new Error(found.kind);
          expect(found).toMatchObject({ inputDigest, total: 3 });
          expect(names(found.runs)).toEqual(["newest", "middle", "oldest"]);
        }
        const ids = (await archive.findIds(inputDigest)).map(nameOf);
        expect(ids.sort()).toEqual(["middle", "newest", "oldest"]);
      });

      it("nothing, where nothing begins so", async () => {
        for (const reference of ["0123456789abcdef0123", randomUUID(), `sha256:${"0".repeat(64)}`]) {
          expect(await archive.find(reference)).toEqual({ kind: "none" });
          expect(await archive.findIds(reference)).toEqual([]);
        }
      });

      it("candidates, where several digests and run ids begin so", async () => {
        const candidates = [made.oldest, made.newest, made.middle].map(({ run_id }) => run_id);
        expect(await archive.find("abcd")).toEqual({ kind: "ambiguous", candidates });
        await expect(archive.findIds("abcd")).rejects.toMatchObject({ code: "bad-reference" });
      });
    });

    describe("are not found by a hostile reference, which is refused in one line that can do no harm:", () => {
      it.each(HOSTILE)("%s", async (_, reference) => {
        for (const found of [archive.find(reference), archive.findIds(reference)]) {
          const refusal = (await found.catch((error: unknown) => error)) as ArchiveError;
          expect(refusal).toMatchObject({ name: "ArchiveError", code: "bad-reference" });
          expect(refusal.message).toMatch(/^[ -~]+$/);
          expect(refusal.message.length).toBeLessThan(400);
        }
      });

      it("any other text finds, or is refused", () => {
        const near = fc.string({ unit: fc.constantFrom(..."0123456789abcdef-:%_") });
        const refused = fc.asyncProperty(fc.oneof(fc.string({ unit: "binary" }), near), async (reference) => {
          const error = await archive.find(reference).then(
            () => undefined,
            (error: unknown) => error,
          );
          if (error !== undefined) expect(error).toMatchObject({ code: "bad-reference" });
        });
        return fc.assert(refused, { numRuns: tries(60) });
      });
    });

    describe("are listed, the newest first:", () => {
      const ALL = ["newest", "silent", "other", "failed", "middle", "replay", "oldest"];
      it.each<[what: string, filter: () => RunFilter, expected: string]>([
        ["everything", () => ({}), ALL.join(" ")],
        ["what failed", () => ({ status: "failed" }), "failed"],
        ["a type of failure", () => ({ status: "ScriptError" }), "failed"],
        ["another type of failure", () => ({ status: "Timeout" }), ""],
        ["what did not fail", () => ({ status: "ok" }), "newest silent other middle replay oldest"],
        ["a tool", () => ({ tool: "mcp__git_hub__delete_repo" }), "other"],
        ["a pattern of tools", () => ({ tool: "mcp__*__delete_*" }), "other"],
        ["any tool", () => ({ tool: "*" }), "newest other failed middle replay oldest"],
        ["a pattern of no tool", () => ({ tool: "mcp__nothing__*" }), ""],
        ["a pattern that SQL would know", () => ({ tool: "mcp__%" }), ""],
        ["a server", () => ({ server: "math" }), "newest failed middle replay oldest"],
        ["a tool of another server", () => ({ server: "math", tool: "mcp__git_hub__*" }), ""],
        ["SQL", () => ({ server: "' OR 1 --", status: "' OR 1 --", inputDigest: "' OR 1 --" }), ""],
        ["since", () => ({ sinceMs: START + 2 * DAY_MS }), "newest silent other"],
        ["until", () => ({ untilMs: START + DAY_MS + 1 }), "middle replay oldest"],
        ["several", () => ({ status: "failed", sinceMs: START + 1, server: "math" }), "failed"],
        ["a time", () => ({ status: "ok", sinceMs: START + 1, untilMs: START + DAY_MS }), "replay"],
        ["replays", () => ({ source: "replay" }), "replay"],
        ["runs", () => ({ source: "run", tool: "mcp__math__*" }), "newest failed middle oldest"],
        ["a conversation", () => ({ clientSession: "7b1e" }), "failed"],
        ["a conversation that SQL would know", () => ({ clientSession: "%" }), ""],
        ["a person", () => ({ user: "ada" }), "failed"],
        ["a machine and a client", () => ({ host: "desk-7", client: "claude-code" }), "failed"],
        ["the beginning of a person", () => ({ user: "ad" }), ""],
        ["the beginning of a machine", () => ({ host: "desk" }), ""],
        ["another client", () => ({ client: "ptc run" }), ""],
        ["a principal", () => ({ principal: "local", source: "replay" }), "replay"],
        ["another principal", () => ({ principal: "loca" }), ""],
        [
          "a text of a program's first line, in whatever case",
          () => ({ text: "ONE(" }),
          "newest middle oldest",
        ],
        ["a text of a file's name", () => ({ text: "Program.ts", source: "replay" }), "replay"],
        ["a text that SQL would know", () => ({ text: "%" }), ""],
        ["an input", () => ({ inputDigest: made.silent.input_digest }), "silent"],
        ["a run", () => ({ runId: made.other.run_id }), "other"],
      ])("%s", async (_, filter, expected) => {
        const { runs, damaged } = await archive.list({ ...filter(), limit: 100 });
        expect(names(runs).join(" ")).toBe(expected);
        expect(damaged).toEqual([]);
      });

      it("page by page, each once, also where runs of one moment are on two pages", async () => {
        const refuse = ({ message }: { message: string }) => expect.unreachable(message);
        for (const pageSize of [1, 2, 3, 6, 7, 9])
          for (const [filter, expected] of [
            [{}, ALL],
            [{ sinceMs: START + DAY_MS }, ALL.slice(0, 5)],
          ] as const) {
            const found: unknown[] = [];
            for await (const run of allRuns(archive, filter, refuse, pageSize)) found.push(...names([run]));
            expect(found).toEqual(expected);
          }
      });

      it("with what a run was at a glance", async () => {
        const { runs } = await archive.list({ status: "failed", limit: 1 });
        expect(runs[0]).toMatchObject({
          ...{ status: "ScriptError", title: "// why", file_name: "program.ts", calls: 2, failed_calls: 0 },
          ...{ returned_bytes: 4, source: "run", imported_at: null },
          ...{ user: "ada", host: "desk-7", client: "claude-code" },
        });
        // Console text that is the result as well is counted once.
        const silent = await archive.list({ runId: made.silent.run_id, limit: 1 });
        expect(silent.runs).toMatchObject([{ status: "ok", returned_bytes: 5 }]);
      });
    });

    describe("are counted without replays:", () => {
      it("runs, failures, tools and days, with the bytes that no model was shown", async () => {
        const stats = await archive.stats({});
        const failures = [{ type: "ScriptError", runs: 1 }];
        expect(stats).toMatchObject({ runs: 6, undated: 0, failures });
        expect(stats.total).toMatchObject({ runs: 6, failed: 1, calls: 11, duration_ms: 42 });
        expect(stats.tools).toMatchObject([
          { tool: "mcp__math__add", server: "math", runs: 4, calls: 8, failed_calls: 0, duration_ms: 10 },
          { tool: "mcp__git_hub__delete_repo", server: "git_hub", runs: 1, calls: 3, duration_ms: 3.75 },
        ]);
        expect(stats.days.map(({ day, runs, failed, calls }) => [day, runs, failed, calls])).toEqual([
          ["2030-01-01", 1, 0, 2],
          ["2030-01-02", 2, 1, 4],
          ["2030-01-03", 2, 0, 3],
          ["2030-01-04", 1, 0, 2],
        ]);
        const { runs } = await archive.list({ source: "run", limit: 10 });
        const kept = runs.map((run) => Math.max(run.result_bytes - run.returned_bytes, 0));
        expect(stats.total.kept_bytes).toBe(kept.reduce((a, b) => a + b));
        // A run that began just then is one of those since then.
        expect(await archive.stats({ sinceMs: START })).toEqual(stats);
      });

      it("and timed by the nearest rank, day by day", async () => {
        const { runs } = await archive.list({ source: "run", limit: 10 });
        const rank = (of: typeof runs, share: number) =>
          of.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b)[Math.ceil(share * of.length) - 1] ??
          0;
        const { total, days } = await archive.timings({});
        expect(total).toEqual({ p50: rank(runs, 0.5), p95: rank(runs, 0.95) });
        expect(days.map(({ day }) => day)).toEqual(["2030-01-01", "2030-01-02", "2030-01-03", "2030-01-04"]);
        const second = runs.filter(({ started_at }) => Math.floor((started_at - START) / DAY_MS) === 1);
        expect(days[1]).toMatchObject({ p50: rank(second, 0.5), p95: rank(second, 0.95) });
        expect((await archive.timings({ sinceMs: START + 2 * DAY_MS })).days).toEqual(days.slice(2));
        const none = { total: { p50: 0, p95: 0 }, days: [] };
        expect(await archive.timings({ sinceMs: START + 3 * DAY_MS + 1 })).toEqual(none);
      });

      it("from a time on", async () => {
        expect(await archive.stats({ sinceMs: START + 1 })).toMatchObject({ runs: 5, total: { calls: 9 } });
        const { total, tools, days, failures } = await archive.stats({ sinceMs: START + 2 * DAY_MS });
        expect(total).toMatchObject({ runs: 3, failed: 0, calls: 5 });
        expect([tools.map(({ calls }) => calls), days.length, failures]).toEqual([[3, 2], 2, []]);
        const none = { runs: 0, days: [], tools: [] };
        expect(await archive.stats({ sinceMs: START + 3 * DAY_MS + 1 })).toMatchObject(none);
      });
    });
  });
}
