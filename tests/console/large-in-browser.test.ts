import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { SqliteArchiveStore } from "../../archive/sqlite/sqlite-archive-store.ts";
import { storeSample, useArchive } from "../server/reports/sample-archive.ts";
import { hasBrowser, openConsole, startBrowser } from "./browser.ts";
import { serveConsole } from "./served-console.ts";

const RUNS = 10_000;
const CALLS = 1_000;
const MANY_CALLS = "0badc0de-0000-4000-8000-000000000000";
/** Of elements on one page. */
const MAX_ELEMENTS = 11_000;

if (!hasBrowser)
  console.warn(
    "SKIPPED: large pages of the console in a browser. Chromium is not installed (Debian's package is `chromium`).",
  );

describe.skipIf(!hasBrowser)("the console with 10,000 runs and a run of 1,000 calls, in Chromium", () => {
  let browser: Browser;
  const { path, db, remove } = useArchive();
  beforeAll(async () => {
    browser = await startBrowser();
    const start = Date.now() - RUNS * 1_000;
    for (let i = 0; i < RUNS; i++)
      storeSample(db, {
        ...{ code: `report(${i});\n`, fileName: `report-${i % 7}.ts`, startedAt: start + i * 900 },
        calls: [
          { tool: i % 100 === 0 ? "mcp__mail__send_message" : "mcp__docs__get_document", from: 3, took: 40 },
        ],
      });
    storeSample(db, {
      ...{ runId: MANY_CALLS, fileName: "many.ts", tookMs: 30_000, startedAt: Date.now() - 40_000 },
      code: Array.from(
        { length: 200 },
        (_, i) => `await docs.getDocument({ id: "d${i}" }); // line ${i}`,
      ).join("\n"),
      consoleText: "a line of text\n".repeat(500),
      calls: Array.from({ length: CALLS }, (_, i) => ({
        ...{
          tool: `mcp__docs__get_${i % 11}`,
          from: 25 * i,
          took: 80 + (i % 50),
          arguments: { id: `d${i}` },
        },
        ...(i % 90 === 0 ? { error: "no such document" } : { answer: { content: `text ${i} `.repeat(20) } }),
      })),
    });
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    remove();
  });

  const open = async (page: string, { script = true } = {}) => {
    const archive = new SqliteArchiveStore({ path, keepDays: 30 });
    onTestFinished(() => archive.close());
    const served = await serveConsole({ archive });
    const watched = await openConsole(browser, served.address(), { script });
    onTestFinished(() => watched.context.close());
    await watched.page.addInitScript(
      "globalThis.longTasks = []; new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask', buffered: true });",
    );
    await watched.page.goto(`${served.origin}/console/${page}`);
    return { ...watched, ...served };
  };

  /** Tasks of more than 50 ms since the last time. They depend on the machine, and are printed and not asserted. */
  const printLongTasks = async (page: Page, doing: string) => {
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 300))");
    const tasks = await page.evaluate<number[]>("longTasks.splice(0)");
    process.stderr.write(
      `${doing}: ${tasks.length === 0 ? "no long task" : `long tasks of ${tasks.join(", ")} ms`}\n`,
    );
  };
  const elements = (page: Page) => page.evaluate<number>("document.getElementsByTagName('*').length");

  it("the list of runs is shown page by page, each of them bounded, and a search finds one run of all", async () => {
    const { page, complaints } = await open("runs");
    await printLongTasks(page, "list of runs");
    expect(await page.locator("#list tbody tr").count()).toBe(50);
    expect(await elements(page)).toBeLessThan(2_000);
    const first = await page.locator("#list .run-id").first().getAttribute("href");
    await page.getByRole("link", { name: "Older" }).click();
    await page.getByRole("link", { name: "Newest" }).waitFor();
    expect(await page.locator("#list tbody tr").count()).toBe(50);
    expect(await page.locator(`#list [href="${first}"]`).count()).toBe(0);
    await page.getByLabel("Program").fill("report(123);");
    await page.getByRole("button", { name: "Search" }).click();
    await expect.poll(() => page.locator("#list tbody tr").count()).toBe(1);
    await page.goto(page.url().replace(/\?.*/, "?tool=mail.send_message"));
    expect(await page.locator("#list tbody tr").count()).toBe(50);
    await printLongTasks(page, "search of runs");
    expect(complaints).toEqual([]);
  });

  it("a run of 1,000 calls is one page that stays bounded, scrolls to its end, and is searched and zoomed", async () => {
    const { page, complaints } = await open(`runs/${MANY_CALLS}`);
    await printLongTasks(page, "run of 1,000 calls");
    await expect.poll(() => page.locator(".call").count()).toBe(CALLS);
    expect(await page.locator(".bar").count()).toBe(CALLS);
    const count = await elements(page);
    process.stderr.write(`run of 1,000 calls: ${count} elements\n`);
    expect(count).toBeLessThan(MAX_ELEMENTS);
    for (let at = 0; at < 30; at++) await page.mouse.wheel(0, 1_500);
    await expect.poll(() => page.evaluate("scrollY")).toBeGreaterThan(20_000);
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
    await expect
      .poll(() => page.evaluate("innerHeight + scrollY - document.documentElement.scrollHeight"))
      .toBeGreaterThan(-2);
    await printLongTasks(page, "scrolling");
    await page.keyboard.press("/");
    await page.keyboard.type("text 77");
    await expect.poll(() => page.locator("#found").textContent()).toContain("11 of 1000 calls");
    await printLongTasks(page, "typing into the search");
    await page.keyboard.press("Enter");
    await page.locator("#call-78[open]").waitFor();
    await page.keyboard.press("Escape");
    // One of what was found that is unfolded before the search is left.
    await page.evaluate("document.querySelector('#call-771').open = true");
    await expect.poll(() => page.locator("#found").textContent()).toBe("");
    expect(await page.locator(".call:visible").count()).toBeGreaterThan(0);
    await printLongTasks(page, "leaving the search");
    await page.locator(".bar").first().focus();
    for (const key of ["+", "+", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
    expect(await page.locator(".zoom output").textContent()).toBe("4×");
    await printLongTasks(page, "zooming");
    await page.getByRole("button", { name: "Unfold all" }).click();
    await page.locator("#call-1000[open]").waitFor({ state: "attached" });
    await printLongTasks(page, "unfolding all calls");
    expect(complaints).toEqual([]);
  });

  it("a run of 1,000 calls opens with few of them, and the others come one batch after the other", async () => {
    const { page, origin } = await open("me");
    await page.addInitScript(
      "globalThis.counts = []; document.addEventListener('readystatechange', () => counts.push(document.querySelectorAll('.call, .bar').length)); new MutationObserver(() => counts.push(document.querySelectorAll('.call, .bar').length)).observe(document, { childList: true, subtree: true });",
    );
    await page.goto(`${origin}/console/runs/${MANY_CALLS}`);
    await expect.poll(() => page.locator(".call, .bar").count()).toBe(2 * CALLS);
    const counts = await page.evaluate<number[]>("[0, ...counts]");
    const steps = counts.map((count, at) => count - (counts[at - 1] ?? 0));
    expect(Math.max(...steps)).toBeLessThan(400);
  });

  it("a link leads to a call that has not come yet, and unfolds it", async () => {
    const { page } = await open(`runs/${MANY_CALLS}#call-900`);
    await page.locator("#call-900[open] .body").getByText("text 899").waitFor();
    await expect
      .poll(() =>
        page.evaluate(
          "(({ top, bottom }) => top > 0 && bottom < innerHeight)(document.querySelector('#call-900 > summary').getBoundingClientRect())",
        ),
      )
      .toBe(true);
  });

  it("without a script a run of 1,000 calls holds all of them, which unfold, and those that failed can be picked out", async () => {
    const { page } = await open(`runs/${MANY_CALLS}`, { script: false });
    expect(await page.locator(".call").count()).toBe(CALLS);
    expect(await page.locator(".bar").count()).toBe(CALLS);
    await page.locator("#call-900 > summary").click();
    await page.locator("#call-900 .body").getByText("text 899").waitFor();
    await page.locator("#failed-only").check();
    expect(await page.locator(".call:visible").count()).toBe(Math.ceil(CALLS / 90));
  });

  it("what changes on a run of 1,000 calls restyles what it is about: no rule asks by :has, and zoom changes one width", async () => {
    const { page } = await open(`runs/${MANY_CALLS}`);
    const asking = `(() => {
      const found = [];
      const look = (rules) => {
        for (const rule of rules) {
          if (rule.selectorText?.includes(":has(")) found.push(rule.selectorText);
          if (rule.cssRules !== undefined && (rule.media === undefined || matchMedia(rule.media.mediaText).matches)) look(rule.cssRules);
        }
      };
      for (const sheet of document.styleSheets) look(sheet.cssRules);
      return found;
    })()`;
    expect(await page.evaluate(asking)).toEqual([]);
    await expect.poll(() => page.locator(".call").count()).toBe(CALLS);
    await page.evaluate(
      "globalThis.changed = new Set(); new MutationObserver((list) => list.forEach(({ target }) => changed.add(target.className))).observe(document, { attributes: true, subtree: true });",
    );
    await page.locator("[data-zoom=in]").click();
    await expect.poll(() => page.locator(".zoom output").textContent()).toBe("2×");
    expect(await page.evaluate<string[]>("[...changed]")).toEqual(["lanes", "tip"]);
  });
});
