import { stripVTControlCharacters, styleText } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { readStats } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { renderRunText } from "../../../project/run-report/run-text.ts";
import { renderRunList, renderStatsText } from "../../../project/run-report/runs-text.ts";
import type { Terminal } from "../../../project/terminal/terminal.ts";
import { listRuns } from "../../archive/on-connection.ts";
import { type SampleRun, storeSample, useArchive } from "../../server/reports/sample-archive.ts";

const PLAIN: Terminal = { columns: 100, style: (_style, text) => text };
const COLOURED: Terminal = {
  columns: 100,
  style: (style, text) => styleText(style, text, { validateStream: false }),
};
const PIPE: Terminal = { ...PLAIN, columns: undefined };
const NOW = Date.UTC(2026, 10, 20, 12);

const ATTACK = "\u001b[2J\u001b]0;title\u0007\u009b31m\r\u202e\u0000\u2028evil";

function archive() {
  const { db, remove } = useArchive();
  afterAll(remove);
  return db;
}
const db = archive();
const show = async (run: SampleRun, terminal = PLAIN) =>
  renderRunText(await storeSample(db, run).read(), terminal, NOW);

describe("a run on a terminal", () => {
  it("has its failing line marked with a caret, and the lines that had called it", async () => {
    const message = "Error: no\n    at f (program.ts:3:8)\n    at program.ts:1:1";
    const code = "f();\nfunction f() {\n\tthrow new Error('no');\n}\n";
    const text = await show({ code, failure: { type: "ScriptError", message } });
    expect(text).toMatch(/^ran in +Python 3\.11\.2; python3-numpy 1:1\.24\.2$/m);
    expect(text).toContain(`\
┃ 1 │ f();
  2 │ function f() {
▶ 3 │ \tthrow new Error('no');
    │ \t      ^
  4 │ }`);
  });

  it("shows of a long program its beginning and what is around the failing line", async () => {
    const text = await show({
      code: Array.from({ length: 2_000 }, (_, index) => `line${index + 1}`).join("\n"),
      failure: { type: "ScriptError", message: "Error: no\n    at program.ts:1500:1" },
    });
    expect(text).toContain("▶ 1500 │ line1500");
    for (const shown of ["line400\n", "⋯ 1089 lines", "line1490\n", "line1510\n", "⋯ 490 lines"])
      expect(text).toContain(shown);
    for (const hidden of ["line401\n", "line1489\n", "line1511\n"]) expect(text).not.toContain(hidden);
  });

  it("has its calls as bars over time, those that ran together above one another", async () => {
    const text = await show({
      tookMs: 100,
      calls: [
        { tool: "mcp__a__one", from: 0, took: 50, bytes: 1_200 },
        { tool: "mcp__b__two", from: 25, took: 25, decision: "approved-once", approver: "local" },
        { tool: "mcp__a__one", from: 75, took: 25, error: "no such\npage" },
        { tool: "mcp__a__one", from: 100, took: 0 },
      ],
    });
    const bars = [...text.matchAll(/^\d {2}[ab]\.\w+ {2}(.{60})/gm)].map(([, bar = ""]) => [
      bar.search(/[━╺╸]/),
      bar.trim().length,
    ]);
    expect(bars).toEqual([
      [0, 30],
      [15, 15],
      [45, 15],
      [59, 1],
    ]);
    expect(text).toContain("Calls: 4, 1 failed, up to 2 at the same time");
    expect(text).toContain("1.2 kB\n");
    expect(text).toContain("\n      approved once by local\n");
    expect(text).toContain("\n      ToolError: no such page\n");
  });

  it("shows of very many calls the first, and those that failed later", async () => {
    const failure = (seq: number) => seq === 450 && { error: "late" };
    const calls = Array.from({ length: 500 }, (_, seq) => ({ from: seq, took: 1, ...failure(seq) }));
    const text = await show({ calls });
    expect(text).toMatch(/^200 {2}github/m);
    expect(text).not.toMatch(/^201 {2}github/m);
    expect(text).toMatch(/^451 {2}github.*\n {6}ToolError: late$/m);
    expect(text).toContain("299 more calls");
  });

  it("has no line that is wider than the terminal but in what the program wrote", async () => {
    const calls = [{ from: 0, took: 1, tool: `mcp__a__${"long".repeat(30)}`, error: "long ".repeat(100) }];
    const heading = (await show({ calls, code: "1" })).split("\nConsole")[0] ?? "";
    for (const line of heading.split("\nSizes")[0]?.split("\n") ?? [])
      expect(line.length).toBeLessThanOrEqual(100);
  });

  it("cuts console text and values with a word on how much there is", async () => {
    const text = await show({ consoleText: "c".repeat(50_000), value: "v".repeat(50_000) });
    expect(text).toContain("(the first 20 kB of 50 kB; --json has all of it)");
    expect(text).toContain("(the beginning of 50 kB; --json has all of it)");
    expect(text.length).toBeLessThan(30_000);
  });

  it("lets no character of a program, a server or a tool move the cursor or change colours", async () => {
    const attacks = { error: ATTACK, decision: ATTACK, approver: ATTACK };
    const run: SampleRun = {
      ...{ code: `${ATTACK}\n`, fileName: ATTACK, names: `${ATTACK}\nforged line` },
      ...{ data: { [ATTACK]: ATTACK }, consoleText: ATTACK },
      failure: { type: "ScriptError", message: ATTACK },
      calls: [{ from: 0, took: 1, tool: `mcp__${ATTACK}__${ATTACK}`, ...attacks }],
    };
    const text = await show(run);
    expect(invisible(text)).toEqual([]);
    expect(invisible(stripVTControlCharacters(await show(run, COLOURED)))).toEqual([]);
    expect(text).toContain("evil");
    expect(text).not.toMatch(/^forged line/m);
  });
});

describe("a list of runs", () => {
  const listed = archive();
  const [read, failed] = [
    { from: 0, took: 1, bytes: 5_000 },
    { from: 0, took: 1, error: "no" },
  ];
  const slow = { failure: { type: "Timeout", message: "slow" }, calls: [failed] } as const;
  storeSample(listed, { startedAt: NOW - 3_600_000, code: "// counts\n1\n", calls: [read] });
  storeSample(listed, { startedAt: NOW - 60_000, code: `${ATTACK} ${"long ".repeat(40)}`, ...slow });
  const runs = listRuns(listed, { limit: 10 });

  it("tells of each, the newest first, what it was and what it kept out of context", () => {
    const [heading = "", first = "", second = ""] = renderRunList(runs, PLAIN, NOW).split("\n");
    expect(heading).toMatch(/^RUN +WHEN +STATUS +FROM +CALLS +KEPT OUT +TIME +INPUT +PROGRAM$/);
    expect(first).toMatch(/^[0-9a-f]{8} +1 min ago +Timeout +serve +1 \(1 ✖\) /);
    expect(second).toMatch(/^[0-9a-f]{8} +1 h ago +ok +serve +1 +5\.0 kB +112 ms +[0-9a-f]{8} +\/\/ counts$/);
  });

  it("fits the terminal, and has whole lines and exact times in a pipe", () => {
    for (const line of renderRunList(runs, PLAIN, NOW).split("\n"))
      expect(line.length).toBeLessThanOrEqual(100);
    const piped = renderRunList(runs, PIPE, NOW);
    expect(piped).toContain("2026-11-20T11:00:00.000Z");
    expect(piped).not.toContain("...");
  });

  it("lets nothing of a program steer the terminal", () => {
    expect(invisible(renderRunList(runs, PLAIN, NOW))).toEqual([]);
    expect(renderRunList(runs, COLOURED, NOW)).toContain("\u001b[31mTimeout");
  });

  it("is nothing where there are none", () => {
    expect(renderRunList([], PLAIN, NOW)).toBe("");
  });
});

describe("counts over many runs", () => {
  const counted = archive();
  const day = (name: string) => Date.parse(`${name}T10:00Z`);
  const read = (bytes: number) => ({ from: 0, took: 10, bytes });
  const failed = { from: 0, took: 1, error: "no", tool: `mcp__a__${ATTACK}` };
  storeSample(counted, { startedAt: day("2026-11-01"), tookMs: 988, calls: [read(4_000_000)] });
  storeSample(counted, { startedAt: day("2026-11-03"), calls: [read(8_000_000), failed] });
  storeSample(counted, { startedAt: day("2026-11-03"), failure: { type: "Timeout", message: "slow" } });
  const text = renderStatsText(readStats(counted), PLAIN);

  it("say what was kept out of context, and that its tokens are an estimate", () => {
    expect(text).toContain("3 runs (2026-11-01 to 2026-11-03, UTC), 1 failed (33.3 %)\n3 calls, ");
    expect(text).toContain(
      "12 MB of it stayed out of context, about 3.0M tokens (an estimate: 4 bytes each)",
    );
  });

  it("have a plot over the days, in which a day without runs is empty", () => {
    expect(text).toMatch(/^runs +▄ █ {2}most 2 on 2026-11-03$/m);
    expect(text).toMatch(/^kept out +▄ █ {2}most 8\.0 MB on 2026-11-03$/m);
    expect(text).toMatch(/^failed {6}█ {2}most 1/m);
  });

  it("name failures by type and tools with their calls", () => {
    expect(text).toMatch(/^Timeout {2}1 {2}33\.3 % {2}█+$/m);
    expect(text).toMatch(/^github\.list_issues +2 +2 +0 +20 ms +12 MB +~3\.0M +█{16}$/m);
    expect(invisible(text)).toEqual([]);
  });
});

/** Characters that are there and are not seen, besides line ends and tabs. */
function invisible(text: string): string[] {
  return [...text].filter((character) => /[\p{Cc}\p{Cf}]/u.test(character) && !/[\n\t]/.test(character));
}
