import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasBrowser, openConsole, photograph, startBrowser, violations } from "./browser.ts";
import { fill, REPORT } from "./sample.ts";
import { serveConsole } from "./served-console.ts";

if (!hasBrowser)
  console.warn(
    "SKIPPED: the console in a browser. Chromium is not installed (Debian's package is `chromium`).",
  );

const SETTINGS = {
  servers: [
    { name: "docs", command: "docs-server" },
    { name: "mail", command: "mail-server" },
    { name: "github", url: "http://localhost:1/mcp" },
  ],
  approvals: { ask: ["mcp__docs__delete_*"] },
};

/** The pages, and one of each kind of page below them. */
const PAGES = [
  ...[
    "",
    "inbox",
    "runs",
    "runs/RUN",
    "diff?a=RUN&b=OTHER",
    "servers",
    "tools",
    "tools/mcp__mail__send_message",
  ],
  ...["programs", "rules", "audit", "me", "nothing-here"],
];
const PROGRAMS = join(import.meta.dirname, "../../examples/recipes/programs");
const WIDTHS = [360, 768, 1440];

const CHANGED = {
  ...{ added: [], removed: [] },
  changed: [{ tool: "get_document", diff: ["- id: string", "+ id: number"] }],
};

/** A token and a session of programs, with everything in them that somebody has named. */
function havingNamed(name: string) {
  const token = { ...{ name, principal: `token#${name}`, groups: [name], scopes: ["ptc:run"] } };
  const session = { ...{ id: `1 ${name}`, name, language: "python", programs: 2, startedAt: 1_000 } };
  return {
    tokens: {
      counts: () => true,
      create: async () => ({ why: "none are made here" }),
      list: async () => [{ ...token, createdAt: 1_000, expiresAt: 2_000 }],
      learnGroups: async () => {},
      revoke: async () => undefined,
    },
    sessions: () => ({ list: async () => [session], end: async () => false }),
  };
}

/** Does what makes pages that forms lead to, one after the other, and says which each is. */
async function* afterForms(
  page: Page,
  path: (page: string) => string,
  rules: readonly string[],
): AsyncGenerator<string> {
  await page.goto(path("servers"));
  await page.getByRole("button", { name: "Ask them now" }).click();
  await page.locator("#changed").waitFor();
  yield "servers that were asked";
  const connect = page.getByRole("button", { name: "Connect again: docs" });
  if ((await connect.count()) > 0) {
    await connect.click();
    await page.getByText("The login goes on at").waitFor();
    yield "a login that was begun";
  }
  await page.goto(path("programs"));
  await page.getByRole("button", { name: "Test it" }).click();
  await page.getByText("Tested:").waitFor();
  yield "a program that was tested";
  for (const rule of rules) {
    await page.goto(path("rules"));
    await page.locator("textarea[name=rule]").fill(rule);
    await page.getByRole("button", { name: "See what it would have decided" }).click();
    await page.locator("#what-if [role=alert], #supposed").waitFor();
    yield `a rule that was supposed: ${rule.slice(0, 20)}`;
  }
}

/** What servers and programs could say so that a page does what they want. */
const ATTACKS = [
  "</script><script>alert(1)</script>",
  "</style><style>*{display:none}</style>",
  "<img src=x onerror=alert(1)>",
  "\"' onfocus=alert(1) autofocus x='",
  "<svg/onload=alert(1)>",
  "]]><iframe src=//example.invalid></iframe>",
  "<base href=//example.invalid><form action=//example.invalid>",
  "javascript:alert(1)",
  "\u202egnp.exe\u2028",
].join(" ");
/** As long as names may be. */
const SHORT = ATTACKS.slice(0, 120);

/** A run as its events tell of it. */
function liveRun() {
  const of = {
    runId: "0badc0de-0000-4000-8000-000000000000",
    context: { principal: "local", source: "serve" as const, client: { name: "claude-code" } },
  };
  const [get, send] = ["mcp__docs__get_document", "mcp__mail__send_message"];
  const print = (text: string) => ({ ...of, kind: "printed" as const, stream: "out" as const, text });
  const call = (seq: number, tool: string, durationMs: number | undefined, failure?: "ToolError") => [
    { ...of, kind: "call-started" as const, seq, tool },
    ...(durationMs === undefined
      ? []
      : [
          {
            ...{ ...of, kind: "call-ended" as const, seq, tool, durationMs, decision: "allowed" as const },
            ...(failure && { failure }),
          },
        ]),
  ];
  return {
    ...{ runId: of.runId, print },
    began: {
      ...{ ...of, kind: "began" as const, at: Date.now() - 4_000 },
      program: { fileName: "report.ts", language: "typescript", code: REPORT },
    },
    goes: [
      ...call(1, get, 480),
      ...call(2, get, 1_400),
      ...call(3, "mcp__github__list_issues", 900),
      ...call(4, get, 300, "ToolError"),
      ...call(5, get, 700),
      ...call(6, send, undefined),
      print(Array.from({ length: 200 }, (_, i) => `row ${i + 1}: ${(i * 7919) % 1_000}`).join("\n")),
      { ...of, kind: "question-asked" as const, tool: send },
    ],
    ended: { ...of, kind: "ended" as const, outcome: "ok" as const, durationMs: 5_200, toolCalls: 6 },
  };
}

describe.skipIf(!hasBrowser)("the console in Chromium", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  }, 60_000);
  afterAll(() => browser?.close());

  const filled = async () => {
    const served = await serveConsole(
      {
        replay: async () => ({ at: Date.now(), kind: "same", message: "3 calls, and the same result." }),
        logins: async () => [
          { server: "docs", state: "ended" },
          { server: "github", state: "logged_in", issuer: "https://login.example.com" },
        ],
        call: async () => ({ why: "nothing is called here" }),
        connect: async () => ({ address: "https://login.example.com/authorize" }),
        ...havingNamed("nightly"),
        test: async () => ({ at: 1_000, outcome: "changed", lines: ["result.count:", "  - 1", "  + 2"] }),
        check: async () => [
          { server: "docs", difference: { ...CHANGED, added: ["new_tool"], removed: ["old_tool"] } },
          { server: "mail", why: "server 'mail' ended: exit code 1" },
        ],
        save: async () => ({ why: "nothing is saved here" }),
      },
      SETTINGS,
    );
    const ids = await fill(served);
    cpSync(PROGRAMS, join(served.folder, "programs"), { recursive: true });
    await served.archived({
      calls: [{ tool: "mcp__programs__open_tasks", from: 0, took: 1 }],
      startedAt: Date.now() - 3_600_000,
    });
    writeFileSync(
      join(served.folder, "policy-tests.yaml"),
      "cases:\n  - { name: mail is sent, tool: mcp__mail__send_message, expect: allow }\n  - { tool: mcp__docs__get_document, expect: deny }\n",
    );
    const path = (page: string) =>
      `${served.origin}/console/${page.replaceAll("RUN", ids.at(-1) ?? "").replaceAll("OTHER", ids.at(-3) ?? "")}`;
    return { ...served, path };
  };

  it("every page fits, in light and in dark, on a phone, a tablet and a desk, and axe finds nothing wrong with it", async () => {
    const { path, address } = await filled();
    const { page, context, complaints, requests } = await openConsole(browser, address());
    const wrong: string[] = [];
    const look = async (each: string) => {
      for (const colorScheme of ["light", "dark"] as const)
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 });
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          const where = `${each} ${colorScheme} ${width}`;
          const over = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
          if (over > 0) wrong.push(`${where}: wider than its window by ${over}`);
          await photograph(page, `${each.replaceAll(/\W+/g, "-") || "overview"}-${width}-${colorScheme}`);
          // What axe says of a width in light it says in dark, but for colours.
          if (colorScheme === "light" || width === 1440)
            wrong.push(...(await violations(page)).map((line) => `${where}: ${line}`));
        }
    };
    for (const each of PAGES) {
      await page.goto(path(each));
      await look(each);
    }
    const rules = ['approvals: { ask: ["mcp__mail__*"] }', "permit ("];
    for await (const each of afterForms(page, path, rules)) await look(each);
    expect(wrong).toEqual([]);
    expect(complaints.filter((text) => !/status of 40[04]/.test(text))).toEqual([]);
    expect(
      requests.filter(
        (url) => !url.startsWith(path("").slice(0, -"/console/".length)) && !url.startsWith("data:"),
      ),
    ).toEqual([]);
    await context.close();
  }, 600_000);

  it("nothing that a server or a program says does anything, wherever it stands", async () => {
    const served = await serveConsole(
      {
        logins: async () => [{ server: "docs", state: "logged_in", issuer: ATTACKS }],
        connect: async () => ({ why: ATTACKS }),
        ...havingNamed(ATTACKS),
        test: async () => ({ at: 1_000, outcome: "failed", lines: [ATTACKS] }),
        check: async () => [
          {
            server: "docs",
            difference: {
              ...{ added: [ATTACKS], removed: [ATTACKS] },
              changed: [{ tool: ATTACKS, diff: [`- ${ATTACKS}`, `+ ${ATTACKS}`] }],
            },
          },
          { server: "mail", why: ATTACKS },
        ],
      },
      SETTINGS,
    );
    const name = JSON.stringify(ATTACKS);
    writeFileSync(
      join(served.folder, "policy-tests.yaml"),
      `cases: [{ name: ${name}, tool: mcp__docs__get_document, expect: deny, rule: ${name} }]`,
    );
    cpSync(PROGRAMS, join(served.folder, "programs"), { recursive: true });
    const saved = join(served.folder, "programs/open-tasks");
    writeFileSync(
      `${saved}.yaml`,
      `version: 1\ndescription: ${name}\nprogram: open-tasks.ts\ninput: { title: ${name} }\n`,
    );
    writeFileSync(`${saved}.example.json`, `{${name}: 1}`);
    const { archived, ask, audit, path, runs, address } = {
      ...served,
      path: (page: string) => `${served.origin}/console/${page}`,
    };
    const sample = {
      ...{
        code: `// ${ATTACKS}\n`,
        fileName: ATTACKS,
        names: SHORT,
        user: SHORT,
        clientSession: SHORT,
      },
      ...{ consoleText: ATTACKS, stderrText: ATTACKS, data: { [ATTACKS]: ATTACKS }, startedAt: Date.now() },
      calls: [
        {
          tool: `mcp__x__${SHORT}`,
          from: 0,
          took: 1,
          arguments: { [ATTACKS]: ATTACKS },
          error: ATTACKS,
          approver: SHORT,
        },
      ],
    };
    await archived({
      ...{ startedAt: Date.now(), names: SHORT },
      calls: ["mcp__docs__get_document", "mcp__programs__open_tasks"].map((tool) => ({
        ...{ tool, from: 0, took: 1, decision: SHORT.slice(0, 60) },
      })),
    });
    const id = await archived({ ...sample, failure: { type: "ScriptError", message: ATTACKS } });
    const other = await archived({ ...sample, value: ATTACKS });
    await ask({
      ...{ ticket: "t1", code: `${ATTACKS}\nsendMessage()`, fileName: ATTACKS, client: ATTACKS },
      request: {
        ...{
          tool: `mcp__mail__${ATTACKS}`,
          arguments: { [ATTACKS]: ATTACKS },
          reason: ATTACKS,
          origins: [ATTACKS],
        },
        claims: { server: ATTACKS, description: ATTACKS, annotations: { [ATTACKS]: ATTACKS } },
      },
    });
    audit.login({ principal: ATTACKS, server: ATTACKS, event: "failed", reason: ATTACKS });
    await audit.close();
    const { page, context, complaints, requests } = await openConsole(browser, address());
    const unharmed = async (each: string) => {
      const found = await page.evaluate(
        "[document.querySelectorAll('iframe, base, img:not([src^=\"data:\"]), script:not([src]), [onerror], [onload], [onfocus], svg[onload]').length, getComputedStyle(document.body).display]",
      );
      expect([each.slice(0, 20), found]).toEqual([each.slice(0, 20), [0, "block"]]);
      expect(
        await page.evaluate(
          "[...document.querySelectorAll('form')].every(({ action }) => new URL(action).origin === location.origin)",
        ),
      ).toBe(true);
      expect(
        await page.evaluate("[...document.links].every(({ href }) => href.startsWith(location.origin))"),
      ).toBe(true);
    };
    const query = encodeURIComponent(ATTACKS);
    const pages = [
      "",
      "inbox",
      "runs",
      `runs/${id}`,
      `runs/${other}`,
      `diff?a=${id}&b=${other}`,
      "audit",
      "rules",
      "servers",
      "programs",
      "me",
    ];
    const live = { runId: "live-run", context: { principal: ATTACKS, source: "serve" as const } };
    runs.publish({
      ...{ ...live, kind: "began", at: Date.now() },
      program: { fileName: ATTACKS, language: "typescript", code: ATTACKS },
    });
    await page.goto(path("runs/live-run"));
    for (const event of [
      { ...live, kind: "printed" as const, stream: "out" as const, text: ATTACKS },
      { ...live, kind: "call-started" as const, seq: 1, tool: ATTACKS },
      { ...live, kind: "question-asked" as const, tool: ATTACKS },
    ])
      runs.publish(event);
    await page.locator(".live-lanes rect").waitFor();
    for (const each of [
      "runs/live-run",
      ...pages,
      `runs?text=${query}&status=${query}&tool=${query}`,
      `tools?q=${query}&server=${query}`,
      `audit?run=${query}`,
      `tools/${query}`,
      query,
    ]) {
      await page.goto(path(each));
      if (each === "runs")
        runs.publish({
          runId: "live",
          context: { principal: ATTACKS, source: "serve", client: { name: ATTACKS } },
          kind: "call-started",
          seq: 0,
          tool: ATTACKS,
        });
      await unharmed(each);
    }
    const reason = JSON.stringify(ATTACKS.replaceAll(/[^ -~]/g, ""));
    const rule = `@id(${reason}) @reason(${reason}) forbid (principal, action, resource);`;
    for await (const each of afterForms(page, path, [rule, ATTACKS, `tools: { block: [${reason}] }`]))
      await unharmed(each);
    expect(complaints.filter((text) => !/status of 40[04]/.test(text))).toEqual([]);
    expect(requests.filter((url) => new URL(url).host === "example.invalid")).toEqual([]);
    await context.close();
  });

  it("a question appears by itself, is in the title and the list, and is answered with the keyboard alone", async () => {
    const { ask, pending, address, origin } = await serveConsole();
    const { page, context, complaints } = await openConsole(browser, address());
    await page.goto(`${origin}/console/inbox`);
    await page.getByText("Nothing waits for you").waitFor();
    await ask({ ticket: "t1", code: REPORT });
    await ask({ ticket: "t2", code: REPORT });
    await page.locator("#q-t2").waitFor();
    await expect.poll(() => page.title()).toBe("(2) Inbox · ptc");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    expect(await page.evaluate("document.activeElement.id")).toBe("q-t2");
    await page.keyboard.press("a");
    await page.getByText("Approved.").waitFor();
    expect((await pending.offered("t2"))?.answer).toMatchObject({ decision: "once" });
    await page.keyboard.press("j");
    await page.keyboard.press("d");
    await page.getByText("Denied.").waitFor();
    expect((await pending.offered("t1"))?.answer).toMatchObject({ decision: "denied" });
    await expect.poll(() => page.title()).toBe("Inbox · ptc");
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("a question that is answered elsewhere goes at once, and what somebody types about another one stays", async () => {
    const { ask, pending, address, origin } = await serveConsole();
    const { page, context } = await openConsole(browser, address());
    await ask({ ticket: "t1" });
    await ask({ ticket: "t2" });
    await page.goto(`${origin}/console/inbox`);
    await page.locator("#q-t2 .alike > summary").click();
    await page.locator("#q-t2 input[name=like]").first().fill("half a wo");
    await pending.withdraw("t1");
    await page.locator("#q-t1").waitFor({ state: "detached" });
    expect(await page.locator("#q-t2 input[name=like]").first().inputValue()).toBe("half a wo");
    await context.close();
  });

  it("runs appear as they end, and those in progress with their calls", async () => {
    const { archived, runs, address, origin } = await serveConsole();
    await archived({ fileName: "first.ts", code: "first()\n" });
    const { page, context, complaints } = await openConsole(browser, address());
    await page.goto(`${origin}/console/runs`);
    await page.getByText("first()").waitFor();
    const run = {
      runId: "0badc0de-0000-4000-8000-000000000000",
      context: { principal: "local", source: "serve" as const },
    };
    // The page follows only once its feed is open.
    await expect
      .poll(async () => {
        runs.publish({ ...run, kind: "call-started", seq: 0, tool: "mcp__docs__get_document" });
        return page.getByText("Running now").count();
      })
      .toBe(1);
    runs.publish({ ...run, kind: "ended", outcome: "ok", durationMs: 1, toolCalls: 1 });
    await page.getByText("Running now").waitFor({ state: "detached" });
    await archived({ code: "second()\n" });
    await page.getByText("second()").waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("the page of a run follows it: calls, console text and question as they come, and the page of the archive at its end", async () => {
    const { archived, runs, address, origin } = await serveConsole();
    const { page, context, complaints } = await openConsole(browser, address());
    const run = liveRun();
    runs.publish(run.began);
    await page.goto(`${origin}/console/runs`);
    // A run that began before anybody looked is there, too.
    await page.getByRole("link", { name: run.runId.slice(0, 8) }).click();
    await page.getByText("It has called nothing yet").waitFor();
    for (const event of run.goes) runs.publish(event);
    await page.getByText("It waits for a person").waitFor();
    expect(await page.locator(".live-lanes rect").count()).toBe(6);
    const atEnd =
      "(() => { const { scrollTop, scrollHeight, clientHeight } = document.querySelector('.printed'); return scrollHeight - clientHeight - scrollTop < 2; })()";
    // Console text is followed to its end, unless somebody reads further up.
    await expect.poll(() => page.evaluate(atEnd)).toBe(true);
    await page.evaluate("document.querySelector('.printed').scrollTop = 40");
    runs.publish(run.print("one more line\n"));
    await page.getByText("one more line").waitFor();
    expect(await page.evaluate("document.querySelector('.printed').scrollTop")).toBe(40);
    for (const [width, colorScheme] of WIDTHS.flatMap((each) => [
      [each, "light"] as const,
      [each, "dark"] as const,
    ])) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
      expect(await violations(page)).toEqual([]);
      await photograph(page, `live-${width}-${colorScheme}-whole`);
    }
    await archived({ runId: run.runId, code: REPORT, fileName: "report.ts" });
    runs.publish(run.ended);
    await page.getByText("Record digest").waitFor({ state: "attached" });
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("the inbox and a run have their pictures for the README", async () => {
    const { path, address, archived } = await filled();
    const { page, context } = await openConsole(browser, address(), { width: 1200, height: 1060 });
    await page.goto(path("inbox"));
    await page.getByRole("button", { name: "Approve this call" }).first().waitFor();
    await photograph(page, "console-inbox");
    const get = (i: number) => ({
      ...{ tool: "mcp__docs__get_document", from: 30 + 70 * i, took: 260 + 41 * (i % 4) },
      ...{ bytes: 9_000 + 700 * i, arguments: { id: `2026-${String(i + 1).padStart(2, "0")}` } },
    });
    const run = await archived({
      ...{ code: REPORT, fileName: "report.ts", user: "ada", tookMs: 2_340, startedAt: Date.now() - 60_000 },
      calls: [
        { tool: "mcp__github__list_issues", from: 8, took: 640, bytes: 210_400 },
        ...Array.from({ length: 9 }, (_, i) => get(i)),
        { ...get(9), error: "no such document", bytes: 120 },
        ...["ada", "grace"].map((name, i) => ({
          ...{ tool: "mcp__mail__send_message", from: 1_080 + 610 * i, took: 560, bytes: 120 },
          ...{ arguments: { to: `${name}@example.com` }, decision: "approved-once", approver: "ada" },
        })),
      ],
      value: { total: 1_204, sent: 2 },
    });
    await page.setViewportSize({ width: 1200, height: 1000 });
    await page.goto(path(`runs/${run}`));
    await page.locator(".tick").first().waitFor();
    expect(await page.locator(".bar").count()).toBe(13);
    await photograph(page, "console-run");
    await context.close();
  });

  it("times are in the reader's zone, with UTC beside them, also in what is put in place later", async () => {
    const { archived, address, origin } = await serveConsole();
    const { page, context } = await openConsole(browser, address(), { zone: "Asia/Kolkata" });
    const startedAt = Date.UTC(2026, 0, 31, 20, 15, 7);
    const shown = "2026-02-01 01:45:07 20:15:07 UTC";
    await archived({ code: "late()\n", startedAt });
    await page.goto(`${origin}/console/runs`);
    const time = page.locator(`time[datetime="${new Date(startedAt).toISOString()}"]`);
    await time.first().waitFor();
    expect(await time.first().textContent()).toBe(shown);
    await archived({ code: "later()\n", startedAt });
    await page.getByText("later()").waitFor();
    expect(await time.allInnerTexts()).toEqual([shown, shown]);
    await context.close();
  });

  it("the form that saves a program fits, and is readable for everybody", async () => {
    const { path, address } = await filled();
    const { page, context } = await openConsole(browser, address());
    await page.goto(path("runs/RUN"));
    await page.getByText("Save as program").click();
    await page.getByLabel("Name", { exact: true }).fill("weekly-report");
    for (const width of [360, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBeLessThanOrEqual(0);
      await photograph(page, `save-${width}`);
    }
    await context.close();
  });

  it("every control is reached with the Tab key, in sight of whoever presses it", async () => {
    const { path, address } = await filled();
    const { page, context } = await openConsole(browser, address());
    for (const each of ["inbox", "runs", "audit"]) {
      await page.goto(path(each));
      const wanted = await page.evaluate<number>(
        "[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, summary, pre[tabindex]')].filter((each) => each.checkVisibility() && !each.disabled && each.tabIndex >= 0 && !(each.type === 'radio' && !each.checked)).length",
      );
      const reached = new Set<string>();
      for (let i = 0; i < wanted + 30; i++) {
        await page.keyboard.press("Tab");
        reached.add(
          await page.evaluate<string>(
            "(() => { const each = document.activeElement; const { width, height } = each.getBoundingClientRect(); each.dataset.seen ??= String(Math.random()); return width > 0 && height > 0 ? each.dataset.seen : ''; })()",
          ),
        );
      }
      // The fields of a date are several stops of one control.
      expect(reached.size).toBeGreaterThanOrEqual(wanted);
      expect(reached).not.toContain("");
    }
    await context.close();
  });

  it("without a script a question is read and answered", async () => {
    const { ask, pending, address, origin } = await serveConsole();
    await ask({ ticket: "t1", code: REPORT });
    const { page, context } = await openConsole(browser, address(), { script: false });
    await page.goto(`${origin}/console/inbox`);
    expect(await page.locator(".line.asks").count()).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Approve this call" }).click();
    await page.getByText("Approved.").waitFor();
    expect((await pending.offered("t1"))?.answer).toMatchObject({ decision: "once" });
    await context.close();
  });

  it("a page of another origin frames nothing, and its form changes nothing", async () => {
    const { ask, pending, address, origin } = await serveConsole();
    await ask({ ticket: "t1" });
    const { page, context } = await openConsole(browser, address());
    const evil = origin.replace("127.0.0.1", "localhost");
    await page.route(`${evil}/evil`, (route) =>
      route.fulfill({
        contentType: "text/html",
        body: `<iframe src="${origin}/console/inbox"></iframe><form method="post" action="${origin}/console/inbox/t1"><input name="decision" value="once"></form>`,
      }),
    );
    await page.goto(`${evil}/evil`);
    expect(
      await page
        .frames()[1]
        ?.locator("#q-t1")
        .count()
        .catch(() => 0),
    ).toBe(0);
    await page.evaluate("document.forms[0].submit()");
    await page.getByText("Refused").waitFor();
    expect(await pending.offered("t1")).toBeUndefined();
    await context.close();
  });

  it("the choice of colours stays from page to page", async () => {
    const { address, origin } = await serveConsole();
    const { page, context } = await openConsole(browser, address());
    await page.locator("#theme-dark + span").click();
    await page.goto(`${origin}/console/me`);
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
    await context.close();
  });
});
