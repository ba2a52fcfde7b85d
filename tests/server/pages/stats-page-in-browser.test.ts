import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listRunPage, readStats } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { readPageAssets } from "../../../server/pages/page.ts";
import { renderRunPage } from "../../../server/pages/run-page.ts";
import { renderStatsPage } from "../../../server/pages/stats-page.ts";
import { type SampleRun, storeSample, useArchive } from "../reports/sample-archive.ts";
import { Chromium, findChromium, type OpenPage } from "./chromium.ts";

const command = findChromium();
if (command === undefined) {
  console.warn(
    "SKIPPED: pages of counts in a browser. Chromium is not installed (Debian's package is `chromium`).",
  );
}

const NARROW = { width: 360, height: 740 };
const AT = Date.UTC(2026, 10, 21, 9, 30);
const HOUR_MS = 3_600_000;
const LONG =
  "a program with a long first line, which says what it is for and does not fit on a narrow screen";
const RUNS: SampleRun[] = [
  { code: `// ${LONG}\n`, startedAt: AT, calls: [{ tool: "mcp__a__one", from: 0, took: 5, bytes: 900 }] },
  { code: "// second", startedAt: AT + HOUR_MS, failure: { type: "ScriptError", message: "no" } },
  {
    code: "// third",
    startedAt: AT + HOUR_MS + 1,
    calls: [{ tool: "mcp__b__a_tool_with_a_long_name", from: 0, took: 5, bytes: 70 }],
  },
];

describe.skipIf(command === undefined)("a page of counts in Chromium", () => {
  const assets = readPageAssets();
  const archives: { remove(): void }[] = [];
  let browser: Chromium;
  beforeAll(async () => {
    browser = await Chromium.start(command ?? "");
  }, 60_000);
  afterAll(async () => {
    await browser?.stop();
    for (const archive of archives) archive.remove();
  });

  function pageOf(samples: readonly SampleRun[]): string {
    const archive = useArchive();
    archives.push(archive);
    for (const sample of samples) storeSample(archive.db, sample);
    const stats = readStats(archive.db);
    const { runs } = listRunPage(archive.db, { limit: 100 });
    const byTool = new Map(
      stats.tools.map(({ tool }) => {
        const called = listRunPage(archive.db, { tool, limit: 100 }).runs;
        return [tool, new Set(called.map(({ run_id }) => run_id))] as const;
      }),
    );
    return renderStatsPage(stats, assets, AT, { runs, byTool });
  }

  const shownPrograms = (page: OpenPage) =>
    page.evaluate<string[]>(
      "[...document.querySelectorAll('#runs tbody tr')].filter((row) => row.checkVisibility()).map((row) => row.querySelector('.program').textContent)",
    );

  it("shows the hours of a single day, and days where there are several", async () => {
    const page = await browser.open(pageOf(RUNS));
    const titles =
      "[...document.querySelectorAll('#days .plot:first-child title')].map((each) => each.textContent)";
    const hours = await page.evaluate<string[]>(titles);
    expect(hours).toHaveLength(24);
    expect(hours.slice(9, 12)).toEqual([
      "2026-11-21 09:00: 1",
      "2026-11-21 10:00: 2, 1 failed",
      "2026-11-21 11:00: 0",
    ]);
    const days = await browser.open(pageOf([...RUNS, { startedAt: AT - 48 * HOUR_MS }]));
    expect(await days.evaluate(titles)).toEqual([
      "2026-11-19: 1",
      "2026-11-20: 0",
      "2026-11-21: 3, 1 failed",
    ]);
    expect(days.complaints).toEqual([]);
  });

  it("leads from each count to the runs that it counts, and back to all", async () => {
    const page = await browser.open(pageOf(RUNS));
    const first = LONG.slice(0, 20);
    expect(await shownPrograms(page)).toEqual(["// third", "// second", expect.stringContaining(first)]);
    for (const [link, programs] of [
      ["#days .plot:first-child [data-runs=h10]", ["// third", "// second"]],
      ["#days .plot:first-child [data-runs=h9]", [expect.stringContaining(first)]],
      ["#failures [data-runs]", ["// second"]],
      [".tile [data-runs=failed]", ["// second"]],
      ["#tools tbody tr:last-child [data-runs]", [expect.stringMatching(/third|long first/)]],
    ] as const) {
      await page.click(link);
      expect({ link, programs: await shownPrograms(page) }).toEqual({ link, programs });
    }
    await page.click("#runs-all");
    expect(await shownPrograms(page)).toHaveLength(3);
    expect(page.complaints).toEqual([]);
  });

  it("keeps every value of every row in sight at 360 pixels, behind the heading of its column", async () => {
    const page = await browser.open(pageOf(RUNS), NARROW);
    await page.click("#days summary");
    const cells = await page.evaluate<{ label: string; inside: boolean; text: string }[]>(`
      [...document.querySelectorAll('tbody td[data-label], tbody th')].map((cell) => {
        const { left, right, height } = cell.getBoundingClientRect();
        const label = cell.localName === 'th' ? 'head' : getComputedStyle(cell, '::before').content;
        const inside = left >= 0 && right <= innerWidth && height > 0 && cell.scrollWidth <= cell.clientWidth + 1;
        return { label, inside, text: cell.textContent };
      })`);
    expect(cells.length).toBeGreaterThan(30);
    expect(cells.filter(({ inside }) => !inside)).toEqual([]);
    for (const { label } of cells) expect(label).toMatch(/^head$|^"[A-Z][\w ]+"$/);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  it("shows the arguments of calls at 360 pixels", async () => {
    const archive = useArchive();
    archives.push(archive);
    const query = "the words that somebody looked for in all of the documents";
    const { read } = storeSample(archive.db, {
      calls: [{ tool: "mcp__documents__search_documents", from: 0, took: 5, arguments: { query } }],
    });
    const page = await browser.open(await renderRunPage(await read(), assets), NARROW);
    const preview = await page.evaluate<{ text: string; isWhole: boolean }>(`(() => {
      const preview = document.querySelector('.call .preview');
      const { left, right, height } = preview.getBoundingClientRect();
      const tool = preview.closest('.tool');
      return { text: preview.textContent, isWhole: left >= 0 && right <= innerWidth && height > 20 && tool.scrollWidth <= tool.clientWidth };
    })()`);
    expect(preview).toEqual({ text: JSON.stringify({ query }), isWhole: true });
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });
});
