import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readStats } from "../../../archive/sqlite/sqlite-archive-store.ts";
import { readPageAssets } from "../../../server/pages/page.ts";
import { renderRunPage } from "../../../server/pages/run-page.ts";
import { renderStatsPage } from "../../../server/pages/stats-page.ts";
import { type SampleRun, storeSample, useArchive } from "../reports/sample-archive.ts";
import { Chromium, findChromium, type OpenPage } from "./chromium.ts";

const command = findChromium();
if (command === undefined)
  console.warn("SKIPPED: pages in a browser. Chromium is not installed (Debian's package is `chromium`).");

const PARALLEL: SampleRun = {
  code: 'const first = 1;\nthrow new Error("needle in the program");\n',
  tookMs: 100,
  consoleText: "a needle on the console\n",
  stderrText: "logged\n",
  failure: { type: "ScriptError", message: "Error: no\n    at program.ts:2:7" },
  calls: [
    { tool: "mcp__a__one", from: 0, took: 50, answer: { text: "a needle in a result" } },
    { tool: "mcp__a__two", from: 10, took: 50 },
    { tool: "mcp__b__three", from: 20, took: 50, error: "no such page" },
    { tool: "mcp__a__one", from: 70, took: 20 },
  ],
};

const ATTACKS = [
  "</script><script>alert(1)</script>",
  "</style><style>*{display:none}</style>",
  "<img src=x onerror=alert(1)>",
  "\"' onfocus=alert(1) autofocus x='",
  "<svg/onload=alert(1)>",
  "<!--<script>",
  "]]><iframe src=//example.invalid>",
  "\u001b[31mred\u001b]8;;http://example.invalid\u0007",
  "\u2028\u2029\u202egnp.exe",
  "&lt;b&gt; &#60;b&#62;",
  "javascript:alert(1)",
];

describe.skipIf(command === undefined)("a page in Chromium", () => {
  const archive = useArchive();
  const assets = readPageAssets();
  let browser: Chromium;
  beforeAll(async () => {
    browser = await Chromium.start(command ?? "");
  }, 60_000);
  afterAll(async () => {
    await browser?.stop();
    archive.remove();
  });

  const pageOf = async (run: SampleRun) => renderRunPage(await storeSample(archive.db, run).read(), assets);
  const open = async (run: SampleRun, options?: Parameters<Chromium["open"]>[1]) =>
    browser.open(await pageOf(run), options);
  const shownCalls = (page: OpenPage) =>
    page.evaluate<number[]>(
      "[...document.querySelectorAll('.call')].filter((call) => call.checkVisibility()).map((call) => Number(call.id.slice(5)))",
    );
  const focused = (page: OpenPage) =>
    page.evaluate<string>(
      "document.activeElement.hash || document.activeElement.closest('.call')?.id || document.activeElement.id",
    );

  it("asks for nothing but itself and complains about nothing", async () => {
    for (const html of [
      await pageOf(PARALLEL),
      await pageOf({ code: "1" }),
      renderStatsPage(readStats(archive.db), assets, 0),
    ]) {
      const page = await browser.open(html);
      expect(page.requests).toEqual([expect.stringMatching(/^file:.*page\.html$/)]);
      expect(page.complaints).toEqual([]);
    }
  });

  it("shows hostile text of programs, servers and tools as the text that it is", async () => {
    const attack = ATTACKS.join("\n");
    const page = await open({
      code: `${attack}\nJSON.parse('{"__proto__": 1}')`,
      fileName: ATTACKS.join(" "),
      names: ATTACKS.join(" ").slice(0, 250),
      data: { [attack]: attack, constructor: attack },
      consoleText: attack,
      value: JSON.parse('{"__proto__": {"polluted": true}}'),
      calls: ATTACKS.map((text, seq) => ({
        tool: `mcp__${text}__${text}`,
        from: seq,
        took: 5,
        arguments: { [text]: text },
        ...(seq % 2 === 0 ? { answer: text } : { error: text }),
        decision: text,
        approver: text,
      })),
      failure: { type: "ScriptError", message: attack },
    });
    expect(page.complaints).toEqual([]);
    expect(page.requests).toHaveLength(1);
    // What is markup on this page is what is markup on a page that nobody attacked.
    const foreign =
      "document.querySelectorAll('img, iframe, object, embed, link, base, svg, [style*=display], [onfocus]').length";
    expect(await page.evaluate(foreign)).toBe(0);
    expect(
      await page.evaluate("[document.scripts.length, document.querySelectorAll('style').length]"),
    ).toEqual([1, 1]);
    expect(await page.evaluate("({}).polluted")).toBeUndefined();
    const shown = await page.evaluate<string>("document.querySelector('.code').textContent");
    for (const text of ATTACKS.slice(0, 7)) expect(shown).toContain(text);
    expect(shown).toContain("\u241b[31mred");
    const invisible =
      "[...document.body.textContent].filter((character) => /[\\p{Cc}\\u202e]/u.test(character) && !/[\\n\\t]/.test(character))";
    expect(await page.evaluate(invisible)).toEqual([]);
  });

  it("runs no script that comes with it by any other way than its own", async () => {
    const page = await browser.open(
      (await pageOf(PARALLEL)).replace(
        "</main>",
        "<script>document.title = 'taken over'</script><p onclick=alert(1)></main>",
      ),
    );
    expect(await page.evaluate("document.title")).not.toBe("taken over");
    expect(page.complaints.join()).toContain("Content Security Policy");
  });

  it("draws calls that ran at the same time in lanes of their own, each where it ran", async () => {
    const page = await open(PARALLEL);
    const boxes = await page.evaluate<{ x: number; y: number; width: number }[]>(`(() => {
      const chart = document.querySelector(".bars").getBoundingClientRect();
      return [...document.querySelectorAll(".bar")].map((bar) => {
        const { x, y, width } = bar.getBoundingClientRect();
        return { x: Math.round((100 * (x - chart.x)) / chart.width), y: Math.round(y - chart.y), width: Math.round((100 * width) / chart.width) };
      });
    })()`);
    expect(boxes.map(({ x, width }) => [x, width])).toEqual([
      [0, 50],
      [10, 50],
      [20, 50],
      [70, 20],
    ]);
    const [first, second, third, fourth] = boxes.map(({ y }) => y);
    expect(new Set([first, second, third]).size).toBe(3);
    expect(fourth).toBe(first);
  });

  it("tells of a call that is pointed at, and opens one that is clicked", async () => {
    const page = await open(PARALLEL);
    await page.evaluate(
      "document.querySelectorAll('.bar')[2].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))",
    );
    expect(await page.evaluate("document.querySelector('.tip').textContent")).toMatch(
      /^#3 b\.three · failed · 50 ms from 20 ms/,
    );
    await page.click(".bar.c2");
    await expect.poll(() => page.evaluate("document.querySelector('#call-3').open")).toBe(true);
    expect(await focused(page)).toBe("call-3");
  });

  it("goes from bar to bar, zooms and opens a call by keyboard alone", async () => {
    const page = await open(PARALLEL);
    await page.evaluate("document.querySelector('[data-zoom=all]').focus()");
    await page.press("Tab", "Tab", "Tab", "Tab");
    const order = [await focused(page)];
    for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "End", "Home"]) {
      await page.press(key);
      order.push(await focused(page));
    }
    const at = (...seqs: number[]) => seqs.map((seq) => `#call-${seq}`);
    expect(order).toEqual(at(1, 2, 3, 2, 3, 2, 4, 1));
    const tip = "document.querySelector('.tip:not([hidden])')?.textContent";
    expect(await page.evaluate(tip)).toMatch(/^#1 a\.one · ok · 50 ms from 0 ms/);
    const width = () => page.evaluate<number>("document.querySelector('.bar').getBoundingClientRect().width");
    const before = await width();
    await page.press("+", "+");
    expect((await width()) / before).toBeCloseTo(4, 1);
    await page.press("-");
    expect((await width()) / before).toBeCloseTo(2, 1);
    await page.press("0");
    expect((await width()) / before).toBeCloseTo(1, 1);
    await page.press("ArrowRight", "Enter");
    await expect.poll(() => focused(page)).toBe("call-2");
    expect(await page.evaluate("document.querySelector('#call-2').open")).toBe(true);
  });

  it("goes from call to call by keyboard, and unfolds and folds them", async () => {
    const page = await open(PARALLEL);
    await page.evaluate("document.querySelector('#call-1 > summary').focus()");
    await page.press("ArrowDown", "ArrowDown", "ArrowUp");
    expect(await focused(page)).toBe("call-2");
    const isOpen = () => page.evaluate("document.querySelector('#call-2').open");
    await page.press("ArrowRight");
    expect(await isOpen()).toBe(true);
    await page.press("ArrowLeft");
    expect(await isOpen()).toBe(false);
  });

  it("finds text in calls, program and console, and hides the calls that do not match", async () => {
    const page = await open(PARALLEL);
    await page.press("/");
    expect(await focused(page)).toBe("find");
    await page.press(..."NEEDLE");
    expect(await shownCalls(page)).toEqual([1]);
    expect(await page.evaluate("document.querySelector('#found').value")).toBe("1 of 4 calls, 2 elsewhere");
    expect(await page.evaluate("[...CSS.highlights.get('found')].map(String).length")).toBe(3);
    await page.press("Enter");
    expect(await page.evaluate("document.querySelector('#call-1').open")).toBe(true);
    await page.press("Enter");
    expect(
      await page.evaluate(
        "[...CSS.highlights.get('found-now')][0].startContainer.parentElement.closest('.line').id",
      ),
    ).toBe("L2");
    await page.press("Escape");
    expect(await shownCalls(page)).toEqual([1, 2, 3, 4]);
  });

  it("finds the calls of one tool, and those that failed", async () => {
    const page = await open(PARALLEL);
    await page.click("[data-find=mcp__a__one]");
    expect(await shownCalls(page)).toEqual([1, 4]);
    await page.click("[data-find=mcp__a__one]");
    await page.click("#failed-only");
    expect(await shownCalls(page)).toEqual([3]);
  });

  it("follows the colours of the system until the reader chooses", async () => {
    const background = "getComputedStyle(document.body).backgroundColor";
    const light = await open(PARALLEL, { colours: "light" });
    const lightColour = await light.evaluate(background);
    const dark = await open(PARALLEL, { colours: "dark" });
    const darkColour = await dark.evaluate(background);
    expect(darkColour).not.toBe(lightColour);
    await dark.click("label:has(#theme-light)");
    expect(await dark.evaluate(background)).toBe(lightColour);
    await dark.click("label:has(#theme-auto)");
    expect(await dark.evaluate(background)).toBe(darkColour);
  });

  it("can be read without its script", async () => {
    const page = await open(PARALLEL, { script: false });
    const { x, width } = await page.evaluate<{ x: number; width: number }>(
      "document.querySelector('.bar.c1').getBoundingClientRect().toJSON()",
    );
    expect([x, width].every((value) => value > 50)).toBe(true);
    await page.click("#call-2 > summary");
    expect(await page.evaluate("document.querySelector('#call-2').open")).toBe(true);
    await page.click("#failed-only");
    expect(await shownCalls(page)).toEqual([3]);
    // What would do nothing is not there.
    expect(await page.evaluate("document.querySelector('#find').checkVisibility()")).toBe(false);
  });

  it.each([360, 800, 1440])("fits a window that is %d pixels wide", async (width) => {
    const page = await open({ ...PARALLEL, consoleText: `${"long".repeat(500)}\n` }, { width });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
  });

  it("names everything that can have the focus", async () => {
    const page = await open(PARALLEL);
    const nameless = `[...document.querySelectorAll("a, button, input, summary, [tabindex]")].filter((element) =>
      !(element.getAttribute("aria-label") || element.title || element.labels?.[0]?.textContent || element.textContent.trim())).map((element) => element.outerHTML)`;
    expect(await page.evaluate(nameless)).toEqual([]);
  });

  it("stays usable with 1,000 calls that answered much", async () => {
    const calls = Array.from({ length: 1_000 }, (_, seq) => ({
      from: seq,
      took: 40,
      tool: `mcp__server__tool${seq % 20}`,
      answer: `${"text ".repeat(20_000)}${seq}`,
    }));
    const html = await pageOf({ calls });
    expect(html.length).toBeLessThan(10_000_000);
    expect(html).toContain("the beginning of 100 kB");
    const page = await browser.open(html);
    expect(page.complaints).toEqual([]);
    await page.press("/", ..."tool7");
    await expect.poll(() => shownCalls(page)).toHaveLength(50);
  });
});
