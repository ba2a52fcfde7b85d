import { describe, expect, test } from "vitest";
import { ArchiveError } from "../../../archive/archive-error.ts";
import { LATER } from "../../../broker/approvals/approvals.ts";
import type { SuspendedPrograms } from "../../../execution/run-request.ts";
import { RunOutputs } from "../../../execution/runs/run-outputs.ts";
import type { Authenticator, Caller } from "../../../identity/caller.ts";
import { renderTicket } from "../../../server/mcp/tools/own-tools.ts";
import { executed, REQUEST, serviceOf } from "../mcp/served.ts";
import { ALL_SCOPES, answerOf, modern, post, serveHttpHere } from "./served-http.ts";

const ISSUER = "https://login.example.com";
const TICKET = "0123456789abcdef";
const SECRET = "what the program of ada gave out";

/**
 * Lets in whoever says a name as a token; `NAME+run` has the scope to run programs alone, and `NAME+narrow` is a token that the person
 * made without the group that they have.
 */
const byName: Authenticator = {
  authenticate: async (authorization = ""): Promise<Caller> => {
    const [name = "", only] = authorization.replace("Bearer ", "").split("+");
    const scopes = only !== "run" ? ALL_SCOPES : new Set(["ptc:run"] as const);
    const groups = ["finance"];
    const has = only === "narrow" ? { boundGroups: groups, withOwnToken: true as const } : { groups };
    return { context: { principal: `${ISSUER}#${name}`, source: "serve", ...has }, scopes };
  },
  resourceMetadata: {},
  requestedScopes: [],
};

const as = (name: string) => ({ Authorization: `Bearer ${name}` });
const tool = (name: string, args: object) => modern("tools/call", { name, arguments: args });
const ASKING = tool("execute_program", { code: "ask" });

/** ptc for ada and eve. The program `ask` asks its person; any other gives out a text that is too long to show. */
async function serveBoth() {
  const decided: string[] = [];
  const missing = async (): Promise<never> => {
    throw new ArchiveError("missing", "there is no such run");
  };
  const outputs = new RunOutputs(() => ({ read: missing }));
  let runs = 0;
  const service = serviceOf(
    async ({ code }, { context, approver, signal }) => {
      const run_id = `run-${++runs}`;
      if (code === "ask") {
        const answer = await approver.ask({ ...REQUEST, runId: run_id, ticket: TICKET }, signal);
        decided.push(`${context.principal} ${answer.decision}`);
      }
      const ran = executed({ data: 1 }, { consoleText: SECRET });
      const ended = { ...ran, envelope: { ...ran.envelope, run_id } };
      outputs.remember(ended, context);
      return ended;
    },
    { outputs },
  );
  const { url } = await serveHttpHere(service, { authenticator: byName });
  return { url, decided };
}

const answering = (state: unknown, call: ReturnType<typeof tool> = ASKING) => ({
  ...call,
  params: {
    ...call.params,
    requestState: state,
    inputResponses: { approval: { action: "accept", content: { decision: "once" } } },
  },
});

async function ask(url: URL, who: string) {
  const asked = await answerOf(await post(url, ASKING, as(who)));
  expect(asked).toMatchObject({ result: { resultType: "input_required" } });
  return (asked.result as unknown as { requestState: string }).requestState;
}

const INITIALIZE = {
  ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
};
const OLD = { "MCP-Protocol-Version": "2025-11-25" };

async function beginSession(url: URL, who: string): Promise<string> {
  const begun = await post(url, INITIALIZE, { ...OLD, ...as(who) });
  await begun.text();
  return begun.headers.get("mcp-session-id") ?? expect.fail("there is no session");
}

type Asks = (url: URL) => Promise<Response>;

const ASKED: [string, Asks, Asks][] = [
  [
    "the output of a run",
    (url) => post(url, tool("read_output", { run: "run-1" }), as("eve")),
    (url) => post(url, tool("read_output", { run: "run-that-never-was" }), as("eve")),
  ],
  [
    "a run that waits for an approval, by its ticket",
    (url) => post(url, tool("execute_program", { code: renderTicket(TICKET) }), as("eve")),
    (url) => post(url, tool("execute_program", { code: renderTicket("9".repeat(16)) }), as("eve")),
  ],
];

describe("nobody gets at what is another's", () => {
  test.for(ASKED)("%s: the answer is as for one that there never was", async ([, theirs, never]) => {
    const { url, decided } = await serveBoth();
    await (await post(url, tool("execute_program", { code: "1" }), as("ada"))).text();
    await ask(url, "ada");
    const [got, wanted] = [await (await theirs(url)).text(), await (await never(url)).text()];
    expect(got).not.toContain(SECRET);
    expect(got.replaceAll("run-1", "RUN")).toBe(wanted.replaceAll("run-that-never-was", "RUN"));
    expect(decided).toEqual([]);
  });

  test("a session of 2025-11-25: every method says that there is none", async () => {
    const { url } = await serveBoth();
    const session = { "Mcp-Session-Id": await beginSession(url, "ada"), ...OLD };
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    const statuses = async (who: string, id: Record<string, string>) => {
      const headers = { ...id, ...as(who), Accept: "text/event-stream" };
      const posted = await post(url, list, { ...id, ...as(who) });
      const got = await fetch(url, { headers: { ...headers, "Last-Event-ID": "anything.1" } });
      const ended = await fetch(url, { method: "DELETE", headers });
      await Promise.all([posted, got, ended].map((each) => each.body?.cancel()));
      return [posted.status, got.status, ended.status];
    };
    expect(await statuses("eve", session)).toEqual([404, 404, 404]);
    expect(await statuses("ada", session)).toEqual([200, 400, 200]);
    expect(await statuses("ada", session)).toEqual([404, 404, 404]);
  });
});

describe("a token that somebody made with fewer groups than they have", () => {
  test("gets nothing of what the person's own login has started", async () => {
    const { url, decided } = await serveBoth();
    await (await post(url, tool("execute_program", { code: "1" }), as("ada"))).text();
    const state = await ask(url, "ada");
    const output = tool("read_output", { run: "run-1" });
    expect(await (await post(url, output, as("ada+narrow"))).text()).not.toContain(SECRET);
    expect(await (await post(url, output, as("ada"))).text()).toContain(SECRET);
    for (const [message, said] of [
      [tool("execute_program", { code: renderTicket(TICKET) }), "groups that this token does not have"],
      [answering(state), "groups that this token does not have"],
    ] as const)
      expect(await (await post(url, message, as("ada+narrow"))).text()).toContain(said);
    expect(decided).toEqual([]);
  });

  test("has sessions of its own, and neither uses the other's", async () => {
    const { url } = await serveBoth();
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    for (const [own, other] of [
      ["ada", "ada+narrow"],
      ["ada+narrow", "ada"],
    ] as const) {
      const session = { "Mcp-Session-Id": await beginSession(url, own), ...OLD };
      const statuses = [own, other].map(
        async (who) => (await post(url, list, { ...session, ...as(who) })).status,
      );
      expect(await Promise.all(statuses)).toEqual([200, 404]);
    }
  });
});

describe("the state of a request that waits for an answer", () => {
  test("comes back with the same request of the same person alone", async () => {
    const { url, decided } = await serveBoth();
    const state = await ask(url, "ada");
    expect(Buffer.from(state, "base64url").toString("latin1")).not.toContain(TICKET);
    const refused = { error: { code: -32_602, message: expect.stringContaining("requestState") } };
    for (const [who, message] of [
      ["eve", answering(state)],
      ["ada", answering(state, tool("execute_program", { code: "another" }))],
      ["ada", answering(`${state.slice(0, -2)}AA`)],
      ["ada", answering(TICKET)],
      ["ada", answering("x".repeat(5_000))],
    ] as const)
      expect(await answerOf(await post(url, message, as(who)))).toMatchObject(refused);
    expect(decided).toEqual([]);
    expect(await answerOf(await post(url, answering(state), as("ada")))).toMatchObject({
      result: { resultType: "complete" },
    });
    expect(decided).toEqual([`${ISSUER}#ada once`]);
  });

  test("approves nothing for a token without the scope to approve", async () => {
    const { url, decided } = await serveBoth();
    const state = await ask(url, "ada");
    const refused = await answerOf(await post(url, answering(state), as("ada+run")));
    expect(refused).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining("ptc:approve") }] },
    });
    expect(decided).toEqual([]);
    await (await post(url, answering(state), as("ada"))).text();
    expect(decided).toEqual([`${ISSUER}#ada once`]);
  });
});

test("a program of a token without the scope to approve asks nobody at its client", async () => {
  const { url, decided } = await serveBoth();
  await (await post(url, ASKING, as("ada+run"))).text();
  expect(decided).toEqual([`${ISSUER}#ada ${LATER.decision}`]);
});

test("an answer reaches the process that holds the key, whichever has asked", async () => {
  const kept: string[] = [];
  const suspended: SuspendedPrograms = {
    take: async ({ principal }, ticket) => {
      kept.push(`${principal} ${ticket}`);
      return { kind: "unknown" };
    },
    answer: async () => true,
    isAnswered: async () => false,
  };
  const { url: first } = await serveBoth();
  const state = await ask(first, "ada");
  const other = serviceOf(async () => executed({ data: 1 }), { suspended });
  const { url: second } = await serveHttpHere(other, { authenticator: byName });
  await (await post(second, answering(state), as("ada"))).text();
  expect(kept).toEqual([`${ISSUER}#ada ${TICKET}`]);
});
