/** Which doors a rule opens to what is another's: each asked for through every endpoint and tool that there is. */
import { describe, expect, onTestFinished, test } from "vitest";
import { loadConfiguration } from "../../../configuration/load.ts";
import { replayForSomebody } from "../../../execution/replay/replay-for-somebody.ts";
import type { Authenticator, Caller } from "../../../identity/caller.ts";
import { Project } from "../../../project/open-project.ts";
import { openService } from "../../../project/service.ts";
import { Records } from "../../../server/http/records.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { projectInProcess } from "../../cli/in-process.ts";
import { fixtureServer } from "../../cli/ptc-process.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";
import { ALL_SCOPES, answerOf, modern, post, serveHttpHere } from "./served-http.ts";

const ISSUER = "https://login.example.com";
const SECRET = "what the program of ada gave out";
const EVERYTHING = "permit (principal, action, resource);\n";

/** Lets in whoever says a name as a token, with groups after slashes: `NAME/GROUP`. `NAME+run` may run programs alone; `NAME+own` is a token that they made for themself. */
const byName: Authenticator = {
  authenticate: async (authorization = ""): Promise<Caller> => {
    const [who = "", only] = authorization.replace("Bearer ", "").split("+");
    const [name = "", ...groups] = who.split("/");
    const scopes = only !== "run" ? ALL_SCOPES : new Set(["ptc:run"] as const);
    const login = { name: `Name of ${name}`, ...(groups.length === 0 ? {} : { groups }) };
    const own = only === "own" && { withOwnToken: true as const };
    return { context: { principal: `${ISSUER}#${name}`, source: "serve", ...login, ...own }, scopes };
  },
  resourceMetadata: {},
  requestedScopes: [],
};

const ADA = "ada/team";
const as = (who: string) => ({ Authorization: `Bearer ${who}` });
const tool = (args: object, name = "execute_program") => modern("tools/call", { name, arguments: args });

/** A call of a client that shows no forms. */
function formless(args: object) {
  const message = tool(args);
  const { _meta: meta } = message.params as unknown as { _meta: Record<string, unknown> };
  meta["io.modelcontextprotocol/clientCapabilities"] = {};
  return message;
}

interface Replied {
  content: { text: string }[];
  _meta?: { "ptc/envelope"?: { run_id: string }; "ptc/waiting"?: { ticket: string } };
}

/** ptc under rules, with a run of ada's that has ended and one that waits for an approval. */
async function serveWith(rules: string) {
  const { project, env } = projectInProcess(
    {
      servers: [fixtureServer("docs", "documents.mjs")],
      ...{ approvals: { ask: ["*"] }, policy: ["rules.cedar"] },
      ...{ execution: { typecheck: "off" }, sandbox: { warm: 0 } },
    },
    { "rules.cedar": EVERYTHING + rules },
  );
  let asks = false;
  const store = new MemoryStore();
  let url = new URL("http://localhost");
  const opened = new Project(await loadConfiguration({ flag: undefined, env, cwd: project.directory }), {
    env,
    archive: () => store,
    onWarning: () => {},
  });
  const { host, service, gate, listed } = await openService(opened, {
    principal: "local",
    engine: () =>
      new InProcessEngine(async ({ call, print }) => {
        if (asks) await call("mcp__docs__get_document", { documentId: "d" });
        else print(SECRET);
        return "done";
      }),
    answerAt: () => `${url.href}/approvals`,
  });
  onTestFinished(() => opened.close(1_000));
  await listed();
  const records = new Records({
    ...{ gate, archive: () => host.archive, pending: () => host.pendingApprovals() },
    ...{ audit: async () => opened.readAudit(), replay: replayForSomebody(host) },
  });
  ({ url } = await serveHttpHere(service, { authenticator: byName, records }));
  const call = async (who: string, message: object) =>
    (await answerOf(await post(url, message, as(who)))).result as unknown as Replied;
  const ended = await call(ADA, formless({ code: "1" }));
  asks = true;
  const waiting = await call(ADA, formless({ code: "2" }));
  const run = ended._meta?.["ptc/envelope"]?.run_id ?? expect.fail(JSON.stringify(ended));
  const ticket = waiting._meta?.["ptc/waiting"]?.ticket ?? expect.fail(JSON.stringify(waiting));
  await expect.poll(async () => (await store.list({ limit: 9 })).runs.length).toBeGreaterThan(0);
  return { url, host, call, run, ticket, told: waiting.content[0]?.text ?? "" };
}

interface Wanted {
  url: URL;
  run: string;
  ticket: string;
}
type Door = (wanted: Wanted, who: string) => Promise<Response>;

const get =
  (path: (wanted: Wanted) => string): Door =>
  (wanted, who) =>
    fetch(`${wanted.url.href}/${path(wanted)}`, { headers: as(who) });
const send =
  (path: (wanted: Wanted) => string, body: string): Door =>
  (wanted, who) =>
    fetch(`${wanted.url.href}/${path(wanted)}`, { method: "POST", headers: as(who), body });

/** Every door, by the permission that opens it, and what is read behind it. Answering comes last: it is done once. */
const DOORS: readonly [permission: string, name: string, door: Door, behind: RegExp][] = [
  [
    "read_runs",
    "read_output",
    ({ url, run }, who) => post(url, tool({ run }, "read_output"), as(who)),
    /of ada gave out/,
  ],
  ["read_runs", "GET runs/ID", get(({ run }) => `runs/${run}`), /of ada gave out/],
  ["read_runs", "GET runs/ID/output", get(({ run }) => `runs/${run}/output`), /of ada gave out/],
  ["read_runs", "GET runs/ID/page", get(({ run }) => `runs/${run}/page`), /of ada gave out/],
  ["read_runs", "POST runs/ID/replay", send(({ run }) => `runs/${run}/replay`, ""), /"run_id"/],
  ["read_runs", "GET runs", get(() => `runs?principal=${encodeURIComponent(`${ISSUER}#ada`)}`), /"run_id"/],
  ["approve", "GET approvals", get(() => "approvals"), /get_document/],
  ["approve", "GET approvals/ID", get(({ ticket }) => `approvals/${ticket}`), /get_document/],
  [
    "approve",
    "a ticket",
    ({ url, ticket }, who) => post(url, tool({ code: `ticket ${ticket}` }), as(who)),
    /input_required/,
  ],
  ["audit", "GET audit", get(() => "audit"), /#ada/],
  [
    "approve",
    "POST approvals/ID",
    send(({ ticket }) => `approvals/${ticket}`, '{"decision":"approve"}'),
    /"counts":true/,
  ],
];

const NEVER = { run: "00000000-0000-4000-8000-000000000000", ticket: "0000000000000000" };

const RULES: [permission: string, rule: string][] = [
  ["none", ""],
  ["none", 'permit (principal, action == Action::"approve", resource);'],
  ["read_runs", 'permit (principal in Group::"leads", action == Action::"read_runs", resource);'],
  ["read_runs", 'permit (principal, action == Action::"read_runs", resource in Group::"team");'],
  ["approve", 'permit (principal in Group::"leads", action == Action::"approve", resource is User);'],
  ["audit", 'permit (principal in Group::"leads", action == Action::"audit", resource);'],
];

describe("what is another's", () => {
  test.for(RULES)(
    "is behind doors of which %s opens its own, by the rule: %s",
    async ([permission, rule]) => {
      const { url, run, ticket } = await serveWith(rule);
      for (const [needs, name, door, behind] of DOORS) {
        const got = await door({ url, run, ticket }, "eve/leads");
        const text = await got.text();
        if (needs === permission) {
          expect([name, got.status, text]).toEqual([name, 200, expect.stringMatching(behind)]);
          continue;
        }
        expect([name, text]).not.toEqual([name, expect.stringMatching(behind)]);
        const never = await door({ url, ...NEVER }, "eve/leads");
        const hidden = (said: string) => said.replaceAll(run, NEVER.run).replaceAll(ticket, NEVER.ticket);
        expect([name, got.status, hidden(text)]).toEqual([name, never.status, await never.text()]);
      }
    },
  );

  test("is one's own behind the same doors, without any rule", async () => {
    const { url, run, ticket } = await serveWith("");
    for (const [needs, name, door, behind] of DOORS.filter(([permission]) => permission !== "audit")) {
      const text = await (await door({ url, run, ticket }, ADA)).text();
      expect([needs, name, text]).toEqual([needs, name, expect.stringMatching(behind)]);
    }
  });

  test.for([
    ["with the run's group", `${ADA}+own`, true],
    ["with more groups", `${ADA}/more+own`, true],
    ["without it", "ada+own", false],
    ["with another group", "ada/leads+own", false],
  ] as const)("is one's own for a token that one made %s: %s, %s", async ([, who, isOwn]) => {
    const { url, run, ticket } = await serveWith("");
    const opened: string[] = [];
    const doors = DOORS.filter(([permission]) => permission !== "audit");
    for (const [, name, door, behind] of doors)
      if (behind.test(await (await door({ url, run, ticket }, who)).text())) opened.push(name);
    expect(opened).toEqual(isOwn ? doors.map(([, name]) => name) : []);
  });
});

const LEADS = 'permit (principal in Group::"leads", action == Action::"approve", resource is User);';

test("an answer of another's is that of who gave it, and the program goes on with its own client alone", async () => {
  const { url, call, ticket, host } = await serveWith(LEADS);
  const form = tool({ code: `ticket ${ticket}` });
  const asked = (await call("eve/leads", form)) as unknown as { requestState: string };
  const inputResponses = { approval: { action: "accept", content: { decision: "once" } } };
  const given = { ...form.params, requestState: asked.requestState, inputResponses };
  expect((await call("eve/leads", { ...form, params: given })).content[0]?.text).toBe(
    `approved; the program is of ${ISSUER}#ada, whose client continues it`,
  );
  expect(JSON.stringify(await call("eve/leads", form))).toContain("is answered already");
  const went = await call(ADA, formless({ code: `ticket ${ticket}` }));
  expect(went.content[0]?.text).toContain("done");
  const approved: unknown[] = [];
  await expect
    .poll(async () => {
      approved.length = 0;
      for await (const { fields } of host.project.readAudit().entries({ events: ["approval", "access"] }))
        approved.push(fields);
      return approved;
    })
    .toEqual(
      expect.arrayContaining([
        expect.objectContaining({ event: "access", principal: `${ISSUER}#eve`, of: `${ISSUER}#ada` }),
        expect.objectContaining({ event: "approval", principal: `${ISSUER}#ada`, approver: `${ISSUER}#eve` }),
      ]),
    );
  expect((await fetch(`${url.href}/approvals`, { headers: as("eve/leads") })).status).toBe(200);
});

test("a token that may run programs alone sees and answers nobody's questions, whatever the rules say", async () => {
  const { url, ticket } = await serveWith(LEADS);
  const statusOf = async (path: string, init: RequestInit = {}) =>
    (await fetch(`${url.href}/${path}`, { headers: as("eve/leads+run"), ...init })).status;
  expect(await (await fetch(`${url.href}/approvals`, { headers: as("eve/leads+run") })).json()).toEqual([]);
  expect(await statusOf(`approvals/${ticket}`)).toBe(404);
  expect(await statusOf(`approvals/${ticket}`, { method: "POST", body: '{"decision":"approve"}' })).toBe(403);
  expect(await statusOf("audit")).toBe(403);
});

test("somebody whose client shows no forms reads where the question is answered", async () => {
  const { url, ticket, told, call } = await serveWith("");
  expect(told).toContain(`${url.href}/approvals/${ticket}`);
  expect(told).toContain("in another client of this server that shows forms");
  expect(told).toContain(`\`ptc approvals approve ${ticket}\``);
  // The other client shows the form.
  expect(await call(ADA, tool({ code: `ticket ${ticket}` }))).toMatchObject({ resultType: "input_required" });
});

test.for([
  ["POST", "approvals/TICKET", "{}", 400],
  ["POST", "approvals/TICKET", '{"decision":"run"}', 400],
  ["GET", "runs?limit=0", undefined, 400],
  ["GET", "runs?since=never", undefined, 400],
  ["GET", "runs/not-an-id", undefined, 404],
  ["DELETE", "runs", undefined, 404],
  ["GET", "elsewhere", undefined, 404],
] as const)("what cannot be answered is said in one line: %s %s %s", async ([method, path, body, status]) => {
  const { url, ticket } = await serveWith("");
  const init = { method, headers: as(ADA), ...(body === undefined ? {} : { body }) };
  const got = await fetch(`${url.href}/${path.replace("TICKET", ticket)}`, init);
  expect([got.status, await got.json()]).toEqual([status, { error: expect.stringMatching(/^[^\n]+$/) }]);
});
