import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { planOf } from "../../broker/approvals/plan.ts";
import { CatalogError } from "../../catalog/catalog-error.ts";
import { quantiles, timeListed } from "../../console/pages/overview.ts";
import { whyForeign } from "../../console/viewer.ts";
import { ALL, enter, serveConsole, Visitor } from "./served-console.ts";

const CODE = `import * as mail from "./servers/mail/index.js";
const names = ["ada"];
for (const to of names) {
  await mail.sendMessage({ to, subject: "Figures" });
}
`;

/** Own pages, each with what it has to say. */
const PAGES: [path: string, says: string][] = [
  ["/console/", "Kept out of context"],
  ["/console/inbox", "mcp__mail__send_message"],
  ["/console/runs", "report.ts"],
  ["/console/servers", "Servers"],
  ["/console/tools", "docs.get_document"],
  ["/console/tools/mcp__mail__send_message", "sendMessage"],
  ["/console/programs", "No program is saved"],
  ["/console/rules", "tools.block"],
  ["/console/audit", "No line matches"],
  ["/console/me", "local"],
];

async function opened(more: Parameters<typeof serveConsole>[0] = {}, configuration: object = {}) {
  const served = await serveConsole(more, configuration);
  const visitor = await enter(served.origin, served.address());
  return { ...served, visitor };
}

async function* events(response: Response): AsyncGenerator<{ event: string; id: string; data: unknown }> {
  const decoder = new TextDecoder();
  let held = "";
  for await (const piece of response.body ?? []) {
    held += decoder.decode(piece as Uint8Array, { stream: true });
    for (let end = held.indexOf("\n\n"); end >= 0; end = held.indexOf("\n\n")) {
      const lines = Object.fromEntries(
        held
          .slice(0, end)
          .split("\n")
          .map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
      );
      held = held.slice(end + 2);
      if (lines.event !== undefined)
        yield { event: lines.event, id: lines.id ?? "", data: JSON.parse(lines.data ?? "null") };
    }
  }
}

describe("the console", () => {
  it.each(PAGES)("shows %s", async (path, says) => {
    const { visitor, ask, archived, warnings } = await opened();
    await ask({ ticket: "t1", code: CODE });
    await archived({ fileName: "report.ts", code: "// report.ts\n", startedAt: Date.now() - 1_000 });
    const response = await visitor.get(path);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining(says)]);
    expect(warnings).toEqual([]);
  });

  it("says what is missing before there is anything", async () => {
    const { visitor } = await opened();
    expect(await visitor.text("/console/")).toContain("No run was archived");
    expect(await visitor.text("/console/runs")).toContain("No run is archived yet");
    expect(await visitor.text("/console/inbox")).toContain("Nothing waits for you");
  });

  it("draws the hours of the first day, and days from the second on", async () => {
    const { visitor, archived } = await opened();
    const day = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    await archived({ code: "a()\n", startedAt: day });
    await archived({ code: "b()\n", startedAt: day + 1_000 });
    const first = await visitor.text("/console/");
    expect(first).toContain("By hour");
    const name = `${new Date(day).toISOString().slice(0, 10)} 00:00 UTC`;
    expect(first).toContain(`<title>${name}: 2</title>`);
    await archived({ code: "c()\n", startedAt: day - 86_400_000 });
    const second = await visitor.text("/console/");
    expect(second).toContain("By day");
    expect(second).not.toContain("00:00 UTC</title>");
  });

  it("finds runs by text, tool, status, principal and day, page by page", async () => {
    const { visitor, archived } = await opened();
    const day = Date.UTC(2026, 10, 20, 9);
    await archived({
      code: "findMe()\n",
      startedAt: day,
      calls: [{ tool: "mcp__docs__get_document", from: 0, took: 1 }],
    });
    await archived({
      code: "broken()\n",
      startedAt: day + 86_400_000,
      failure: { type: "ScriptError", message: "no" },
    });
    await archived({ code: "others()\n", startedAt: day, names: "https://login.example.com#eve" });
    for (let i = 0; i < 50; i++) await archived({ code: `many${i}()\n`, startedAt: day - 1_000 - i });
    const found = async (query: string) =>
      [...(await visitor.text(`/console/runs?${query}`)).matchAll(/class="program" title="(\w+)/g)].map(
        ([, name]) => name,
      );
    expect(await found("text=FINDME")).toEqual(["findMe"]);
    expect(await found("tool=docs.get")).toEqual(["findMe"]);
    expect(await found("status=failed")).toEqual(["broken"]);
    expect(await found("principal=https%3A%2F%2Flogin.example.com%23eve")).toEqual(["others"]);
    expect(await found("since=2026-11-21&until=2026-11-21")).toEqual(["broken"]);
    expect(await found("since=nonsense&text=broken")).toEqual(["broken"]);
    const first = await visitor.text("/console/runs");
    const [, next = ""] = /rel="next" href="([^"]+)"/.exec(first) ?? [];
    expect(await visitor.text(next)).toContain("many49");
    expect(first).not.toContain("many49");
  });

  it("marks the line of the program that makes the call that is asked about", async () => {
    const { visitor, ask } = await opened();
    await ask({ ticket: "t1", code: CODE });
    const page = await visitor.text("/console/inbox");
    expect(page).toContain("line 4 makes the call");
    expect(page).toMatch(/class="line asks" id="q-t1-L4"/);
    expect(page).toContain("rule &#39;mail-asks&#39;");
    expect(page).toContain("labelled untrusted");
  });

  it("shows beside a question the last call that a person approved, and who that was", async () => {
    const { visitor, ask, archived } = await opened();
    const call = { tool: "mcp__mail__send_message", from: 0, took: 1, decision: "approved-once" };
    for (const [approver, to] of [
      ["ann", "bob@example.com"],
      ["interceptors.reviewer", "eve@evil.test"],
    ] as const)
      await archived({ calls: [{ ...call, approver, arguments: { to } }] });
    await ask({ ticket: "t1", code: CODE });
    const page = await visitor.text("/console/inbox");
    expect(page).toContain("the last call that was approved by ann, in run");
    expect(page).toContain("bob@example.com");
    expect(page).not.toContain("eve@evil.test");
  });

  it.each([
    ["once", { decision: "once" }, { decision: "once" }],
    ["not at all", { decision: "denied" }, { decision: "denied" }],
    ["with any arguments", { decision: "run", calls: "all", atMost: "3" }, { decision: "run", atMost: 3 }],
    [
      "with arguments alike",
      { decision: "run", calls: "like", likeName: "to", like: "*@example.com", atMost: "2" },
      { decision: "run", atMost: 2, except: { to: "*@example.com" } },
    ],
  ] as const)("approves a call %s", async (_, fields, expected) => {
    const { visitor, ask, pending, digest } = await opened();
    await ask({ ticket: "t1", code: CODE });
    const form = { token: await visitor.token(), digest: await digest("t1") };
    const answered = await visitor.post("/console/inbox/t1", { ...fields, ...form });
    expect([answered.status, answered.headers.get("location")]).toEqual([
      303,
      expect.stringMatching(/done=(approved|denied)/),
    ]);
    expect((await pending.offered("t1"))?.answer).toMatchObject({
      ...expected,
      by: "ada",
      how: "ptc console",
    });
    expect(await visitor.text("/console/inbox")).toContain("Nothing waits for you");
  });

  it.each([
    [["1", "3"], { decision: "once", calls: [1, 3] }],
    [["3"], { decision: "denied", calls: [3] }],
    [[], { decision: "denied", calls: [] }],
  ])("approves the calls %j of a plan, and denies the others", async (chosen, expected) => {
    const { visitor, ask, pending, digest } = await opened();
    const plan = planOf(
      [1, 2, 3].map((number) => ({
        ...{ tool: "mcp__mail__send_message", server: "mail", definitionDigest: "d", arguments: { number } },
        ...{ argumentsDigest: `a${number}`, open: [], undecided: [], asks: number !== 2, after: 0 },
      })),
    );
    await ask({ ticket: "t1", code: CODE, request: { plan } });
    const page = await visitor.text("/console/inbox");
    expect(page).toContain("3 calls: 3 of mcp__mail__send_message");
    expect(page.match(/name="call" value="\d" checked/g)).toHaveLength(2);
    const form = { token: await visitor.token(), digest: await digest("t1"), decision: "plan" };
    const refused = await visitor.post("/console/inbox/t1", { ...form, call: "2" });
    expect(refused.status).toBe(400);
    const fields = new URLSearchParams(form);
    for (const each of chosen) fields.append("call", each);
    await visitor.post("/console/inbox/t1", fields);
    expect((await pending.offered("t1"))?.answer).toMatchObject({ ...expected, by: "ada" });
  });

  it("approves nothing by a form that says no such thing, and says why", async () => {
    const { visitor, ask, pending, digest } = await opened();
    await ask({ ticket: "t1" });
    const form = { token: await visitor.token(), digest: await digest("t1") };
    for (const fields of [
      {},
      { decision: "later" },
      { decision: "run", calls: "all", atMost: "0" },
      { decision: "run", calls: "like", likeName: "nothing", like: "*" },
    ] as Record<string, string>[])
      expect((await visitor.post("/console/inbox/t1", { ...fields, ...form })).status).toBe(400);
    expect(await pending.offered("t1")).toBeUndefined();
  });

  it("counts the first answer, and says so where another came before", async () => {
    const { visitor, ask, pending } = await opened();
    await ask({ ticket: "t1" });
    const [question] = await pending.list("local");
    const token = await visitor.token();
    if (question !== undefined) await pending.answer("local", question, { decision: "denied", by: "eve" });
    const late = await visitor.post("/console/inbox/t1", {
      ...{ decision: "once", token, digest: question?.digest ?? "" },
    });
    expect(late.headers.get("location")).toContain("done=before");
    expect((await pending.offered("t1"))?.answer).toMatchObject({ decision: "denied", by: "eve" });
  });

  it("takes no answer to a question that has changed since it was shown, and shows the changed one", async () => {
    const { visitor, ask, pending, digest } = await opened();
    await ask({ ticket: "t1" });
    const form = { token: await visitor.token(), decision: "once", digest: await digest("t1") };
    expect(await visitor.text("/console/inbox/t1")).toContain(form.digest);
    await pending.withdraw("t1");
    await ask({
      ticket: "t1",
      request: { arguments: { to: "eve@example.com" }, argumentsDigest: "sha256:2" },
    });
    for (const fields of [form, { token: form.token, decision: "once" }]) {
      const late = await visitor.post("/console/inbox/t1", fields);
      expect(late.headers.get("location")).toBe("/console/inbox?done=changed");
    }
    expect(await pending.offered("t1")).toBeUndefined();
    expect(await visitor.text("/console/inbox?done=changed")).toContain("eve@example.com");
  });

  it("shows one question by its address alone, and says when it waits no more", async () => {
    const { visitor, ask, pending } = await opened();
    await ask({ ticket: "t1" });
    await ask({ ticket: "t2" });
    const one = await visitor.text("/console/inbox/t2");
    expect(one).toContain('id="q-t2"');
    expect(one).not.toContain('id="q-t1"');
    await pending.withdraw("t2");
    expect(await visitor.text("/console/inbox/t2")).toContain("Nothing waits under this ticket any more");
  });

  it("approves nothing where an approval has to be typed at a terminal, and can deny", async () => {
    const { visitor, ask } = await opened({}, { approvals: { require: "terminal" } });
    await ask({ ticket: "t1" });
    const page = await visitor.text("/console/inbox");
    expect(page).toContain("ptc approvals approve");
    expect(page).not.toContain('data-answer="approve"');
    expect(page).toContain('data-answer="deny"');
  });

  it("replays a run by one click, and shows what came of it", async () => {
    const replayed = Promise.withResolvers<void>();
    const { visitor, archived } = await opened({
      replay: async () => {
        await replayed.promise;
        return { at: 0, kind: "diverged", message: "call 1 differs", result: { value: { now: 2 } } };
      },
    });
    const id = await archived({ value: { before: 1 } });
    const token = await visitor.token(`/console/runs/${id}`);
    const asked = await visitor.post(`/console/runs/${id}/replay`, { token });
    expect(asked.headers.get("location")).toBe(`/console/runs/${id}#replay`);
    expect(await visitor.text(`/console/runs/${id}`)).toContain("The replay goes on");
    replayed.resolve();
    await expect.poll(() => visitor.text(`/console/runs/${id}`)).toContain("call 1 differs");
    expect(await visitor.text(`/console/runs/${id}`)).toContain("&quot;now&quot;: 2");
  });

  it("saves the program of a run under a name, says in one line why it does not, and keeps what was typed", async () => {
    const asked: unknown[] = [];
    const { visitor, archived } = await opened({
      save: async (wanted) => {
        asked.push(wanted);
        return wanted.force ? { files: [], notes: ["a <note>"] } : { why: "is there already; tick Replace" };
      },
    });
    const id = await archived({});
    const token = await visitor.token();
    const save = async (fields: Record<string, string>) => {
      const response = await visitor.post(`/console/runs/${id}/save`, { token, ...fields });
      return { status: response.status, to: response.headers.get("location"), text: await response.text() };
    };
    for (const [name, why] of [
      ["", "The program needs a name"],
      ["../Report", "&#39;../Report&#39; is not a name of a saved program"],
      ["index", "is a name that ptc uses itself"],
    ] as const)
      expect(await save({ name })).toMatchObject({ status: 400, text: expect.stringContaining(why) });
    expect(asked).toEqual([]);
    const taken = await save({ name: "weekly-report", description: "What <b>happened" });
    expect(taken).toMatchObject({ status: 400, text: expect.stringContaining("tick Replace") });
    expect(taken.text).toContain('value="weekly-report"');
    expect(taken.text).toContain('value="What &lt;b&gt;happened"');
    const saved = await save({ name: " weekly-report ", force: "yes" });
    expect(saved).toMatchObject({ status: 303, to: `/console/runs/${id}#save` });
    expect(asked.at(-1)).toEqual({ runId: id, name: "weekly-report", description: "", force: true });
    const page = await visitor.text(`/console/runs/${id}`);
    expect(page).toContain("ptc run weekly-report");
    expect(page).toContain("a &lt;note&gt;");
    const failed = await archived({ failure: { type: "Timeout", message: "late" } });
    expect(await visitor.text(`/console/runs/${failed}`)).not.toContain("Save as program");
  });

  it("tries one call by the form of a tool, with arguments by its schema, and shows the run of it", async () => {
    const called: unknown[] = [];
    const { visitor } = await opened({
      call: async ({ principal }, call) => {
        called.push([principal, call]);
        return { runId: "3f9a2c11" };
      },
    });
    const path = "/console/tools/mcp__mail__send_message";
    const token = await visitor.token(path);
    expect(await visitor.text(path)).toContain('name="arg:to"');
    const tried = await visitor.post(`${path}/call`, { token, "arg:to": "ada@example.com" });
    expect(tried.headers.get("location")).toBe("/console/runs/3f9a2c11");
    await visitor.post(`${path}/call`, { token, json: '{"to": "eve"}' });
    const tool = "mcp__mail__send_message";
    expect(called).toEqual([
      ["local", { tool, arguments: { to: "ada@example.com" } }],
      ["local", { tool, arguments: { to: "eve" } }],
    ]);
    const wrong = await visitor.post(`${path}/call`, { token, json: "[<b>" });
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining("[&lt;b&gt;")]);
    expect((await visitor.post("/console/tools/mcp__no__tool/call", { token })).status).toBe(404);
    expect((await visitor.post(`${path}/call`, { "arg:to": "x" })).status).toBe(403);
    expect(called).toHaveLength(2);
  });

  it("shows the logins of the viewer at the servers, and how to renew one that has ended", async () => {
    const asked: string[] = [];
    const { visitor } = await opened(
      {
        logins: async ({ principal }) => {
          asked.push(principal);
          return [
            { server: "docs", state: "ended" },
            { server: "mail", state: "logged_in", issuer: "https://login.example.com" },
          ];
        },
      },
      { servers: ["docs", "mail"].map((name) => ({ name, url: `https://${name}.example.com/mcp` })) },
    );
    const page = await visitor.text("/console/servers");
    expect(page).toContain("ptc auth login docs");
    expect(page).toContain("logged in at https://login.example.com");
    expect(page).not.toContain("ptc auth login mail");
    expect(asked).toEqual(["local"]);
  });

  it("shows how two runs differ", async () => {
    const { visitor, archived } = await opened();
    const [a, b] = [
      await archived({ code: "one()\nsame()\n", value: 1 }),
      await archived({ code: "two()\nsame()\n", value: 2 }),
    ];
    const page = await visitor.text(`/console/diff?a=${a}&b=${b}`);
    for (const line of ["- one()", "+ two()", "- 1", "+ 2"]) expect(page).toContain(`>${line}\n<`);
  });

  it("verifies, filters and exports the audit log", async () => {
    const { visitor, audit } = await opened();
    const run = { runId: "r1", traceId: "t", principal: "local", codeDigest: "c" };
    audit.run(run, { outcome: "ok", calls: 1, durationMs: 1, redactions: 0 });
    audit.login({ principal: "local", server: "docs", event: "failed", reason: "no" });
    await audit.close();
    const token = await visitor.token();
    expect(await (await visitor.post("/console/audit/verify", { token })).text()).toContain(
      "are as they were written",
    );
    expect(await visitor.text("/console/audit?unwanted=on")).toContain("1 line");
    const lines = (await visitor.text("/console/audit/export?event=run")).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(["run"]);
  });

  it("leaves its pages to whoever has no script: every page is whole without one", async () => {
    const { visitor, ask } = await opened();
    await ask({ ticket: "t1", code: CODE });
    const page = await visitor.text("/console/inbox");
    expect(page).not.toMatch(/<script(?![^>]* src=)/);
    expect(page).not.toMatch(/\son\w+=/);
    expect(page).not.toContain(" style=");
  });
});

describe("the feed", () => {
  async function next(stream: AsyncGenerator<{ event: string; id: string; data: unknown }>, event: string) {
    for (;;) {
      const { value } = await stream.next();
      if (value?.event === event) return value;
    }
  }

  it("tells of questions that appear and vanish, and of runs that end", async () => {
    const { visitor, ask, pending, archived } = await opened();
    await archived({});
    const stream = events(await visitor.get("/console/feed"));
    expect(await next(stream, "waiting")).toMatchObject({ data: { count: 0 } });
    await ask({ ticket: "t1" });
    expect(await next(stream, "waiting")).toMatchObject({
      data: {
        count: 1,
        questions: [{ key: expect.stringMatching(/^t1 sha256:/), tool: "mcp__mail__send_message" }],
      },
    });
    await pending.withdraw("t1");
    expect(await next(stream, "waiting")).toMatchObject({ data: { count: 0 } });
    const id = await archived({ failure: { type: "Timeout", message: "late" } });
    expect(await next(stream, "runs")).toMatchObject({ data: { runs: [{ run_id: id, status: "Timeout" }] } });
    await stream.return(undefined);
  });

  it("goes on where a browser left off", async () => {
    const { visitor, archived } = await opened();
    await archived({});
    const first = events(await visitor.get("/console/feed"));
    const { id } = await next(first, "waiting");
    await first.return(undefined);
    const missed = [await archived({}), await archived({})];
    const again = events(await visitor.get("/console/feed", { "Last-Event-ID": id }));
    expect(await next(again, "runs")).toMatchObject({ data: { runs: missed.map((run_id) => ({ run_id })) } });
    await again.return(undefined);
  });

  it("tells of runs in progress, which the list shows with their calls", async () => {
    const { visitor, runs } = await opened();
    const stream = events(await visitor.get("/console/feed"));
    await next(stream, "live");
    const run = {
      runId: "0badc0de-0000-4000-8000-000000000000",
      context: { principal: "local", source: "serve" as const },
    };
    runs.publish({ ...run, kind: "started" });
    runs.publish({ ...run, kind: "call-started", seq: 0, tool: "mcp__docs__get_document" });
    await expect.poll(async () => (await next(stream, "live")).data).toEqual({ running: 1 });
    await expect.poll(() => visitor.text("/console/runs")).toContain("docs.get_document");
    runs.publish({ ...run, kind: "ended", outcome: "ok", durationMs: 1, toolCalls: 1 });
    await expect.poll(async () => (await next(stream, "live")).data).toEqual({ running: 0 });
    await stream.return(undefined);
  });

  it.each([
    [true, "Runs of other processes and replicas are listed when they have ended."],
    [false, "The console of ptc serve --http also shows its own runs in progress."],
  ])("says which runs it shows as they go on (follows them: %s)", async (follows, text) => {
    const { visitor } = await opened(follows ? {} : { follow: undefined });
    expect(await visitor.text("/console/runs")).toContain(text);
  });

  it("shows a run while it goes on: its calls by start and duration, what it prints, whom it waits for, and its end", async () => {
    const { visitor, runs, archived } = await opened();
    const run = {
      runId: "0badc0de-0000-4000-8000-000000000000",
      context: { principal: "local", source: "serve" as const },
    };
    const address = `/console/runs/${run.runId}`;
    runs.publish({
      ...{ ...run, kind: "began", at: Date.now() - 1_000 },
      program: { fileName: "report.ts", language: "typescript", code: "await docs.getDocument()\n" },
    });
    // It began before anybody looked, and no page follows it yet.
    expect(await visitor.text(address)).toContain("getDocument");
    expect(await visitor.text("/console/runs")).toContain("report.ts");
    const stream = events(await visitor.get(`/console/feed?run=${run.runId}`));
    runs.publish({ ...run, kind: "call-started", seq: 1, tool: "mcp__docs__get_document" });
    runs.publish({
      ...{ ...run, kind: "call-ended", seq: 1, tool: "mcp__docs__get_document" },
      ...{ durationMs: 250, decision: "allowed", failure: "ToolError" },
    });
    runs.publish({ ...run, kind: "call-started", seq: 2, tool: "mcp__mail__send_message" });
    runs.publish({ ...run, kind: "printed", stream: "out", text: `${"line\n".repeat(20_000)}<b>last</b>` });
    runs.publish({ ...run, kind: "question-asked", tool: "mcp__mail__send_message" });
    await next(stream, "live");
    await expect.poll(() => visitor.text(address)).toContain("It waits for a person");
    const page = await visitor.text(address);
    expect(page).toContain("&lt;b&gt;last&lt;/b&gt;");
    expect(page.length).toBeLessThan(80_000);
    expect(page.match(/<rect class="bar-failed t0"/g)).toHaveLength(1);
    expect(page.match(/<rect class="bar-open t1"/g)).toHaveLength(1);
    expect(page).toContain("ToolError");
    expect(page).toContain('<span class="status running">running</span>');
    runs.publish({ ...run, kind: "ended", outcome: "Timeout", durationMs: 3_000, toolCalls: 2 });
    await expect.poll(() => visitor.text(address)).toContain("it is being archived");
    expect(await visitor.text("/console/runs")).not.toContain("0badc0de");
    await archived({ runId: run.runId, failure: { type: "Timeout", message: "late" } });
    expect(await visitor.text(address)).toContain("Record digest");
    await stream.return(undefined);
  });

  it("is refused to a browser that has too many open already", async () => {
    const { visitor } = await opened();
    const streams = [];
    for (let i = 0; i < 20; i++) streams.push(await visitor.get("/console/feed"));
    expect((await visitor.get("/console/feed")).status).toBe(429);
    await Promise.all(streams.map((each) => each.body?.cancel()));
  });
});

describe("somebody without a session", () => {
  it("reads how to get one, and nothing else", async () => {
    const { origin, archived } = await serveConsole();
    const id = await archived({ code: "secretProgram()\n" });
    const stranger = new Visitor(origin);
    for (const path of [
      "/console/",
      "/console/runs",
      `/console/runs/${id}`,
      "/console/inbox",
      "/console/feed",
      "/console/audit/export",
      "/console/nothing",
    ]) {
      const response = await stranger.get(path);
      expect([path, response.status]).toEqual([path, 401]);
      expect(await response.text()).not.toContain("secretProgram");
    }
    expect((await stranger.post("/console/inbox/t1", { decision: "once", token: "" })).status).toBe(401);
  });

  it("gets in by the one-time address once", async () => {
    const { origin, address } = await serveConsole();
    const url = address();
    const first = await enter(origin, url);
    expect((await first.get("/console/")).status).toBe(200);
    expect((await new Visitor(origin).get(url.slice(origin.length))).status).toBe(403);
    const [cookie = ""] = (
      await new Visitor(origin).get(address().slice(origin.length))
    ).headers.getSetCookie();
    expect(cookie).toMatch(
      /^ptc-console-session-\d+=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/,
    );
  });

  it("does not get in by an address that was replaced", async () => {
    const { origin, address } = await serveConsole();
    const [old, current] = [address(), address()];
    expect((await new Visitor(origin).get(old.slice(origin.length))).status).toBe(403);
    await enter(origin, current);
  });
});

describe("an attack", () => {
  it("by a form of another site changes nothing (CSRF)", async () => {
    const { visitor, ask, pending, origin } = await opened();
    await ask({ ticket: "t1" });
    const token = await visitor.token();
    const forged: [fields: Record<string, string>, headers: Record<string, string>][] = [
      [{ decision: "once" }, {}],
      [{ decision: "once", token: "A".repeat(token.length) }, {}],
      [
        { decision: "once", token },
        { Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site" },
      ],
      [
        { decision: "once", token },
        { Origin: "null", "Sec-Fetch-Site": "cross-site" },
      ],
      [
        { decision: "once", token },
        { Origin: "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site" },
      ],
      [
        { decision: "once", token },
        { Origin: origin, "Sec-Fetch-Site": "same-site" },
      ],
    ];
    for (const [fields, headers] of forged)
      expect((await visitor.post("/console/inbox/t1", fields, headers)).status).toBe(403);
    for (const method of ["PUT", "DELETE", "PATCH"])
      expect(
        (await fetch(`${origin}/console/inbox/t1`, { method, headers: { Origin: origin } })).status,
      ).toBe(401);
    expect(await pending.offered("t1")).toBeUndefined();
  });

  it("by a page of another site reads nothing, and a link from there leads to pages alone", () => {
    const origin = "http://127.0.0.1:1";
    const why = (mode: string, dest: string, site = "cross-site") =>
      whyForeign(
        new Request(`${origin}/console/inbox`, {
          headers: { "Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest },
        }),
        origin,
      );
    expect(why("no-cors", "image")).toContain("another site");
    expect(why("cors", "empty", "same-site")).toContain("another site");
    expect(why("navigate", "iframe")).toContain("another site");
    expect(why("navigate", "document")).toBeUndefined();
    expect(why("cors", "empty", "same-origin")).toBeUndefined();
    expect(whyForeign(new Request(origin, { method: "POST" }), origin)).toContain("does not say");
  });

  it("by a frame is kept out by every answer (clickjacking)", async () => {
    const { visitor } = await opened();
    for (const path of ["/console/", "/console/inbox", "/console/nothing", "/console/open?key=wrong"]) {
      const { headers } = await visitor.get(path);
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(headers.get("content-security-policy")).not.toMatch(/unsafe|\*|https?:/);
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });

  it("by a session that the browser was given before has no part in the one that it gets (fixation)", async () => {
    const { origin, address } = await serveConsole();
    const port = new URL(origin).port;
    const attacker = await enter(origin, address());
    const planted = attacker.cookies.get(`ptc-console-session-${port}`) ?? "";
    const victim = new Visitor(origin);
    victim.cookies.set(`ptc-console-session-${port}`, planted);
    const opening = await victim.get(address().slice(origin.length));
    expect(opening.status).toBe(303);
    expect(victim.cookies.get(`ptc-console-session-${port}`)).not.toBe(planted);
    expect(await victim.token()).not.toBe(await attacker.token());
  });

  it("by a cookie that was made up, changed, or set twice is no session", async () => {
    const { origin, visitor } = await opened();
    const name = `ptc-console-session-${new URL(origin).port}`;
    const good = visitor.cookies.get(name) ?? "";
    const status = (cookie: string) =>
      fetch(`${origin}/console/me`, { headers: { Cookie: cookie } }).then((each) => each.status);
    expect(await status(`${name}=${good}`)).toBe(200);
    for (const cookie of [
      `${name}=`,
      `${name}=made-up`,
      `${name}=${good.slice(0, -3)}AAA`,
      `${name}=${"A".repeat(20_000 / 2)}`,
      `${name}=${good}; ${name}=${good}`,
      `x${name}=${good}`,
    ])
      expect(await status(cookie)).toBe(401);
  });

  it("by a session that was ended is none", async () => {
    const { visitor, origin } = await opened();
    const kept = new Map(visitor.cookies);
    expect((await visitor.post("/console/logout", { token: await visitor.token() })).status).toBe(401);
    expect(visitor.cookies.size).toBe(0);
    const thief = new Visitor(origin);
    for (const [name, value] of kept) thief.cookies.set(name, value);
    expect((await thief.get("/console/me")).status).toBe(401);
  });

  it("by a name that leads to this machine gets nothing (DNS rebinding)", async () => {
    const { origin, visitor } = await opened();
    const { port } = new URL(origin);
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const status = await new Promise((resolve, reject) => {
      const headers = { Host: `evil.example:${port}`, Cookie: cookie };
      request({ host: "127.0.0.1", port, path: "/console/runs", headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(403);
  });

  it("by a large form is refused", async () => {
    const { visitor } = await opened();
    const token = await visitor.token();
    const large = await visitor.post("/console/inbox/t1", { token, decision: "x".repeat(100_000) });
    expect(large.status).toBe(413);
  });

  it("by an address that leads elsewhere after a login stays in the console", async () => {
    const to: string[] = [];
    const { origin } = await serveConsole({
      entrance: {
        enter: async (_path, _request, page) => {
          to.push(page);
          return { kind: "refused", status: 401, message: "no" };
        },
      },
    });
    const visitor = new Visitor(origin);
    for (const path of [
      "login?to=https://evil.example",
      "login?to=//evil.example",
      "login?to=/console/%0d%0aX:1",
      "login?to=/console/inbox",
      "runs?text=a",
    ])
      await visitor.get(`/console/${path}`);
    expect(to).toEqual(["/console/", "/console/", "/console/", "/console/inbox", "/console/runs?text=a"]);
  });
});

describe("a viewer of their own things", () => {
  const OWN = { ...ALL, runs: "own", audit: "own" } as const;
  const EVE = "https://login.example.com#eve";

  it("finds nothing of another's: a run, its replay, a question, the feed and the log are as if there were none", async () => {
    const replayed: string[] = [];
    const { visitor, archived, ask, pending, audit, archive } = await opened({
      rightsOf: async () => OWN,
      replay: async (_, id) => {
        replayed.push(id);
        return { at: 0, kind: "same", message: "" };
      },
    });
    const theirs = await archived({ names: EVE, code: "secretProgram()\n", startedAt: Date.now() });
    const mine = await archived({ code: "ownProgram()\n", startedAt: Date.now() });
    await ask({ ticket: "t-eve", principal: EVE, code: "secretProgram()" });
    audit.run(
      { runId: theirs, traceId: "t", principal: EVE, codeDigest: "c" },
      { outcome: "ok", calls: 0, durationMs: 1, redactions: 0 },
    );
    await audit.close();
    const token = await visitor.token();
    const never = "3f9a2c11-0000-4000-8000-00000000dead";
    const same = async (path: (id: string) => string) => {
      const [a, b] = [await visitor.get(path(theirs)), await visitor.get(path(never))];
      expect([a.status, await a.text()]).toEqual([404, await b.text()]);
    };
    await same((id) => `/console/runs/${id}`);
    await same((id) => `/console/diff?a=${id}&b=${mine}`);
    await same((id) => `/console/diff?a=${mine}&b=${id}`);
    expect((await visitor.post(`/console/runs/${theirs}/replay`, { token })).status).toBe(404);
    expect((await visitor.post(`/console/runs/${theirs}/save`, { token, name: "a" })).status).toBe(404);
    const answered = await visitor.post("/console/inbox/t-eve", { decision: "once", token });
    expect(answered.headers.get("location")).toContain("done=gone");
    expect(await pending.offered("t-eve")).toBeUndefined();
    expect(replayed).toEqual([]);
    for (const path of [
      "/console/",
      "/console/runs",
      `/console/runs?principal=${encodeURIComponent(EVE)}`,
      "/console/inbox",
      `/console/audit?principal=${encodeURIComponent(EVE)}`,
      "/console/audit/export",
      "/console/rules",
    ]) {
      const text = await visitor.text(path);
      expect(text).not.toContain("secretProgram");
      expect(text).not.toContain(theirs.slice(0, 8));
    }
    expect(await visitor.text("/console/runs")).toContain("ownProgram");
    expect((await visitor.post("/console/audit/verify", { token })).status).toBe(403);
    expect((await archive.list({ limit: 10 })).runs).toHaveLength(2);
  });

  it("hears nothing of another's in the feed", async () => {
    const { visitor, archived, ask, runs } = await opened({ rightsOf: async () => OWN });
    await archived({});
    const response = await visitor.get("/console/feed");
    const reader = response.body?.getReader();
    let heard = "";
    const listening = (async () => {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) return;
        heard += Buffer.from(value ?? []).toString();
      }
    })();
    await expect.poll(() => heard).toContain("event: waiting");
    await ask({ ticket: "t-eve", principal: EVE });
    const theirs = await archived({ names: EVE });
    runs.publish({ runId: theirs, context: { principal: EVE, source: "serve" }, kind: "started" });
    const mine = await archived({});
    await expect.poll(() => heard).toContain(mine);
    expect(heard).not.toContain("t-eve");
    expect(heard).not.toContain(theirs);
    expect(heard).not.toContain('"running":1');
    await reader?.cancel();
    await listening;
  });

  it("sees of another's run in progress neither page nor feed, and of one that the gate permits both, which is noted once", async () => {
    const ADA = "https://login.example.com#ada";
    const noted: unknown[] = [];
    const { visitor, runs } = await opened({
      rightsOf: async () => ({
        ...OWN,
        gate: async (access, runId) => {
          const may = access.action === "read_runs" && access.of.principal === ADA;
          if (may && runId !== undefined) noted.push(runId);
          return may;
        },
      }),
    });
    const theirs = { runId: "0badc0de-0000-4000-8000-00000000000e", of: EVE };
    const permitted = { runId: "0badc0de-0000-4000-8000-00000000000a", of: ADA };
    const heard = { [theirs.runId]: "", [permitted.runId]: "" };
    const readers = await Promise.all(
      Object.keys(heard).map(async (runId) => {
        const reader = (await visitor.get(`/console/feed?run=${runId}`)).body?.getReader();
        const listening = (async () => {
          for (;;) {
            const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
            if (done) return;
            heard[runId] += Buffer.from(value ?? []).toString();
          }
        })();
        return { reader, listening };
      }),
    );
    const changes = (runId: string) => heard[runId]?.match(/event: live/g)?.length ?? 0;
    // Each is told once how it is now.
    await expect.poll(() => [changes(theirs.runId), changes(permitted.runId)]).toEqual([1, 1]);
    for (const { runId, of } of [theirs, permitted]) {
      const context = { principal: of, source: "serve" as const };
      runs.publish({ runId, context, kind: "printed", stream: "out", text: `secret of ${of}` });
    }
    await expect.poll(() => visitor.text(`/console/runs/${permitted.runId}`)).toContain(`secret of ${ADA}`);
    await visitor.text(`/console/runs/${permitted.runId}`);
    expect(noted).toEqual([permitted.runId]);
    const [a, b] = [
      await visitor.get(`/console/runs/${theirs.runId}`),
      await visitor.get("/console/runs/3f9a2c11-0000-4000-8000-00000000dead"),
    ];
    expect([a.status, await a.text()]).toEqual([404, await b.text()]);
    expect(await visitor.text("/console/runs")).not.toContain(theirs.runId);
    await expect.poll(() => changes(permitted.runId)).toBe(2);
    expect(changes(theirs.runId)).toBe(1);
    await Promise.all(readers.map(({ reader }) => reader?.cancel()));
    await Promise.all(readers.map(({ listening }) => listening));
  });

  it("hears of another's in the feed what the gate permits, and of nobody else's", async () => {
    const ADA = "https://login.example.com#ada";
    const { visitor, archived, ask, runs } = await opened({
      rightsOf: async () => ({
        ...OWN,
        gate: async (access) => access.action !== "audit" && access.of.principal === ADA,
      }),
    });
    await archived({});
    const response = await visitor.get("/console/feed");
    const reader = response.body?.getReader();
    let heard = "";
    const listening = (async () => {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) return;
        heard += Buffer.from(value ?? []).toString();
      }
    })();
    await expect.poll(() => heard).toContain("event: waiting");
    for (const [name, principal] of [
      ["eve", EVE],
      ["ada", ADA],
    ] as const) {
      await ask({ ticket: `t-${name}`, principal });
      const id = await archived({ names: principal, fileName: `of-${name}.ts` });
      runs.publish({ runId: id, context: { principal, source: "serve" }, kind: "started" });
    }
    await expect.poll(() => heard).toContain("of-ada.ts");
    await expect.poll(() => heard).toContain("t-ada");
    await expect.poll(() => heard).toContain('"running":1');
    expect(heard).not.toContain("of-eve.ts");
    expect(heard).not.toContain("t-eve");
    expect(heard).not.toContain('"running":2');
    await reader?.cancel();
    await listening;
  });

  it("at the machine of the project sees and answers the questions of everybody", async () => {
    const { visitor, ask, pending, digest } = await opened();
    await ask({ ticket: "t-eve", principal: EVE });
    expect(await visitor.text("/console/inbox")).toContain(`by ${EVE}`);
    const token = await visitor.token();
    await visitor.post("/console/inbox/t-eve", {
      ...{ decision: "denied", token, digest: await digest("t-eve") },
    });
    expect((await pending.offered("t-eve"))?.answer).toMatchObject({ decision: "denied", by: "ada" });
  });

  it("answers, replays and saves nothing where it may not", async () => {
    const { visitor, ask, pending, archived } = await opened({
      rightsOf: async () => ({ ...OWN, approves: false, replays: false, saves: false }),
      save: () => expect.fail("nothing is to be saved"),
      replay: async () => ({ at: 0, kind: "same", message: "" }),
    });
    await ask({ ticket: "t1" });
    const id = await archived({});
    const token = await visitor.token();
    expect((await visitor.post("/console/inbox/t1", { decision: "once", token })).status).toBe(403);
    expect((await visitor.post(`/console/runs/${id}/replay`, { token })).status).toBe(403);
    expect((await visitor.post(`/console/runs/${id}/save`, { token, name: "a" })).status).toBe(403);
    expect(await visitor.text(`/console/runs/${id}`)).not.toContain("Save as program");
    expect(await pending.offered("t1")).toBeUndefined();
  });
});

it("quantiles go by the nearest rank, day by day", () => {
  expect(quantiles([])).toEqual({ p50: 0, p95: 0 });
  expect(quantiles([5])).toEqual({ p50: 5, p95: 5 });
  expect(quantiles(Array.from({ length: 100 }, (_, i) => i + 1))).toEqual({ p50: 50, p95: 95 });
  const at = (day: number, duration_ms: number) => ({ started_at: Date.UTC(2026, 0, day), duration_ms });
  const runs = [at(1, 10), at(2, 20), at(2, 40)] as never;
  expect(timeListed(runs).days).toEqual([
    { day: "2026-01-01", p50: 10, p95: 10 },
    { day: "2026-01-02", p50: 20, p95: 40 },
  ]);
});

it("what cannot be read is said on the page, in one line", async () => {
  const { visitor, warnings } = await opened({
    tools: async () => {
      throw new CatalogError("edited", "generated/ was edited; run `ptc generate`");
    },
  });
  const response = await visitor.get("/console/tools");
  expect([response.status, await response.text()]).toEqual([
    500,
    expect.stringContaining("generated/ was edited"),
  ]);
  expect(warnings).toEqual([]);
});
