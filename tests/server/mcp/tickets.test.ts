import { describe, expect, it } from "vitest";
import type { ApprovalAnswer } from "../../../broker/approvals/approvals.ts";
import { interceptQuestions } from "../../../broker/approvals/question-interceptors.ts";
import type { PendingApproval } from "../../../execution/pending/pending-approvals.ts";
import { shareQuestions } from "../../../execution/pending/shared-questions.ts";
import type { ProgramRunner } from "../../../execution/run-request.ts";
import type { ResumedRun } from "../../../execution/suspension/suspended-run.ts";
import { buildFailure } from "../../../protocol/failure.ts";
import { eventually } from "../../eventually.ts";
import { pendingProject } from "../../execution/pending/pending-project.ts";
import { answering, CONNECT, connectLegacy, ERAS, RawClient } from "./clients.ts";
import { CONTEXT, connectTo, EXECUTE, executed, executing, REQUEST, serve, valued } from "./served.ts";

/** A program that is a function in this process. */
type Run = Parameters<typeof serve>[0];

const BY_SHELL = { by: "ada", how: "ptc approvals" } as const;

/** Programs that ask about calls of these tools, one after the other, and what `ptc approvals` sees of that. */
function programs(tools: string[], maxPrograms = 1) {
  const { open } = pendingProject();
  const run: Run = async (_, { approver, context, signal }) => {
    const shared = interceptQuestions(approver, [
      shareQuestions({ context, program: { fileName: "p.ts" }, open: async () => open() }),
    ]);
    const answers: string[] = [];
    for (const tool of tools) {
      const request = { runId: "r", tool, definitionDigest: "d", arguments: {}, argumentsDigest: tool };
      answers.push((await shared.ask(request, signal)).decision);
    }
    return executed({ data: answers });
  };
  const suspended: NonNullable<ProgramRunner["suspended"]> = {
    async take(viewer, ticket) {
      const taken = await open().take(viewer, ticket);
      if (taken.kind === "taken") throw new Error("nothing is suspended here");
      return taken;
    },
    answer: async (...given) => open().answer(...given),
    isAnswered: async () => false,
  };
  const answerInShell = (tool: string, decision: ApprovalAnswer["decision"]) =>
    eventually(async () => {
      const pending = (await open().list(CONTEXT.principal)).find(({ request }) => request.tool === tool);
      if (pending === undefined) throw new Error(`${tool} is not asked about`);
      expect(await open().answer(CONTEXT.principal, pending, { decision, ...BY_SHELL })).toBe(true);
      return pending.ticket;
    });
  return { served: serve(run, { suspended, maxPrograms }), answerInShell, open };
}

const told = (what: string) =>
  `mcp__a__drop: it was ${what} by ada (ptc approvals), and the first answer counts`;

it("a dialog that a client shows is closed when somebody answers in a shell, and the reply says who", async () => {
  const { served, answerInShell } = programs(["mcp__a__drop"]);
  const client = new RawClient(served);
  await client.initialize({ elicitation: {} });
  client.send({ id: 1, method: "tools/call", params: EXECUTE });
  const shown = await eventually(() => {
    const dialog = client.messages.find(({ method }) => method === "elicitation/create");
    if (dialog === undefined) throw new Error("nobody is asked");
    return dialog;
  });
  await answerInShell("mcp__a__drop", "denied");
  expect((await client.answerTo(1)).result?.content).toEqual([
    { type: "text", text: '[Script executed successfully]\n["denied"]' },
    { type: "text", text: told("denied") },
  ]);
  expect(client.messages).toContainEqual(
    expect.objectContaining({
      method: "notifications/cancelled",
      params: expect.objectContaining({ requestId: shown.id }),
    }),
  );
});

it("a run whose question was answered in a shell goes on at once, and waits for its client with what it came to", async () => {
  const { served, answerInShell, open } = programs(["mcp__a__drop", "mcp__a__purge"]);
  const client = new RawClient(served);
  const asked = await client.callModern(1, EXECUTE);
  expect(asked.result).toMatchObject({ resultType: "input_required" });
  expect(asked.result?.requestState).toContain(await answerInShell("mcp__a__drop", "once"));
  // The next question is offered too, while no request waits for the run.
  await answerInShell("mcp__a__purge", "denied");
  await eventually(async () => expect(await open().list(CONTEXT.principal)).toEqual([]));
  // What the client says now is too late.
  const reply = await client.callModern(2, { ...EXECUTE, ...answering(asked, undefined, "decline") });
  expect(reply.result?.content).toEqual([
    { type: "text", text: '[Script executed successfully]\n["once","denied"]' },
    { type: "text", text: told("approved") },
    { type: "text", text: told("denied").replace("drop", "purge") },
  ]);
});

it("a client that comes back is put the question that its run has come to meanwhile", async () => {
  const { served, answerInShell } = programs(["mcp__a__drop", "mcp__a__purge"]);
  const client = new RawClient(served);
  const asked = await client.callModern(1, EXECUTE);
  await answerInShell("mcp__a__drop", "once");
  const next = await client.callModern(2, { ...EXECUTE, ...answering(asked) });
  expect(next.result).toMatchObject({ resultType: "input_required" });
  expect(JSON.stringify(next.result)).toContain("mcp__a__purge");
  const last = await client.callModern(3, { ...EXECUTE, ...answering(next) });
  expect(JSON.stringify(last.result?.content)).toContain('[\\"once\\",\\"once\\"]');
});

it("a run that went on is forgotten with the connection that it is held for, and no other is", async () => {
  const { served, answerInShell, open } = programs(["mcp__a__drop", "mcp__a__purge"], 2);
  const { service } = served;
  const [leaving, staying] = [new RawClient(served), new RawClient(connectTo(service))];
  const begin = async (client: RawClient) => {
    const asked = await client.callModern(1, EXECUTE);
    await answerInShell("mcp__a__drop", "once");
    return { ...EXECUTE, ...answering(asked) };
  };
  const kept = await begin(staying);
  await answerInShell("mcp__a__purge", "denied");
  const gone = await begin(leaving);
  await eventually(async () => {
    const asked = await open().list(CONTEXT.principal);
    expect(asked.map(({ request }) => request.tool)).toEqual(["mcp__a__purge"]);
  });
  leaving.end();
  await served.ended;
  const textOf = async (client: RawClient, id: number, request: object) =>
    JSON.stringify((await client.callModern(id, request)).result?.content);
  expect(await textOf(staying, 2, kept)).toContain('[\\"once\\",\\"denied\\"]');
  expect(await textOf(staying, 3, gone)).toContain("the program that asked is over");
});

it("a run that asks again after its client is gone, because an answer came just before, does not hold the connection", async () => {
  const { served, answerInShell, open } = programs(["mcp__a__drop", "mcp__a__purge"]);
  const client = new RawClient(served);
  await client.callModern(1, EXECUTE);
  await answerInShell("mcp__a__drop", "once");
  client.end();
  await served.ended;
  expect(await open().list(CONTEXT.principal)).toEqual([]);
});

it("a ticket of a run that waits elsewhere just now is told how it is answered", async () => {
  const { served, answerInShell, open } = programs(["mcp__a__drop"]);
  const client = new RawClient(served);
  await client.callModern(1, EXECUTE);
  const [ticket] = await eventually(async () => {
    const tickets = (await open().list(CONTEXT.principal)).map((pending) => pending.ticket);
    expect(tickets).toHaveLength(1);
    return tickets;
  });
  const other = serve(async () => executed({ data: 1 }), {
    suspended: {
      take: async (viewer) => {
        const taken = await open().take(viewer, ticket ?? "");
        if (taken.kind === "taken") throw new Error("nothing is suspended here");
        return taken;
      },
      answer: async () => false,
      isAnswered: async () => false,
    },
  });
  const stranger = await connectLegacy(other);
  const reply = await stranger.callTool(executing(`ticket ${ticket}`));
  expect(reply).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining(`\`ptc approvals approve ${ticket}\``) }],
  });
  // Its own server puts the question to its client again.
  const again = await client.callModern(2, executing(`ticket ${ticket}`));
  expect(again.result).toMatchObject({ resultType: "input_required" });
  await answerInShell("mcp__a__drop", "denied");
  await stranger.close();
  client.end();
  await Promise.all([served.ended, other.ended]);
});

const PROGRAM = { code: "1", data: {}, language: "typescript", fileName: "p.ts" };

/** Programs that ask one question, and are kept in memory when nobody answers it in time. */
function keptPrograms() {
  const kept = new Map<string, { pending: PendingApproval; answer?: ApprovalAnswer }>();
  const by: string[] = [];
  const run: Run = async (_, { approver, signal, suspends, resumed }) => {
    if (resumed !== undefined)
      return executed({ data: `${resumed.answered.answer.decision} by ${resumed.answered.answer.by}` });
    const { decision, ticket = "0123456789abcdef" } = await approver.ask(REQUEST, signal);
    if (decision !== "later" || suspends !== true) return executed({ data: decision });
    const pending = {
      ...{ ticket, askedAt: 0, expiresAt: 0, isAnswered: false, isLive: false, source: "serve" as const },
      ...{ request: REQUEST, fileName: "p.ts", digest: "q", owner: { principal: "local" } },
    };
    kept.set(ticket, { pending });
    const suspended = { ticket, tool: REQUEST.tool, expiresAt: 0 };
    return executed(buildFailure("ApprovalPending", "waits"), { suspended });
  };
  const suspended: NonNullable<ProgramRunner["suspended"]> = {
    async take(_, ticket) {
      const found = kept.get(ticket);
      if (found === undefined) return { kind: "unknown" };
      const { pending, answer } = found;
      if (answer === undefined) return { kind: "unanswered", pending };
      kept.delete(ticket);
      const resumed = { run: { program: PROGRAM }, answered: { digest: "q", answer }, leave: async () => {} };
      return { kind: "taken", resumed: resumed as unknown as ResumedRun };
    },
    async answer(_, { ticket }, answer) {
      const found = kept.get(ticket);
      if (found === undefined || found.answer !== undefined) return false;
      found.answer = answer;
      by.push(answer.by);
      return true;
    },
    isAnswered: async (_, { ticket }) => kept.get(ticket)?.answer !== undefined,
  };
  const answer = (given: ApprovalAnswer) => {
    const [found] = kept.values();
    if (found !== undefined) found.answer = given;
  };
  return { run, suspended, kept, by, answer, served: () => serve(run, { suspended }) };
}

const NO_FORMS = { "io.modelcontextprotocol/clientCapabilities": {} };
const TICKET = executing("ticket 0123456789abcdef");

it("a run that waits for its client waits on without its sandbox when the connection closes, and is not cancelled", async () => {
  const { run, suspended, kept } = keptPrograms();
  const ends: boolean[] = [];
  const served = serve(
    async (program, request) => {
      const end = await run(program, request);
      await new Promise((resolve) => setImmediate(resolve));
      ends.push(request.signal.aborted);
      return end;
    },
    { suspended },
  );
  const client = new RawClient(served);
  expect((await client.callModern(1, EXECUTE)).result).toMatchObject({ resultType: "input_required" });
  client.end();
  await served.ended;
  expect([kept.size, ends]).toEqual([1, [false]]);
});

describe("a ticket", () => {
  it("is what a client gets that cannot ask, and goes on once somebody has answered elsewhere", async () => {
    const { served: open, answer } = keptPrograms();
    const client = await connectLegacy(open());
    const reply = await client.callTool(EXECUTE);
    expect(reply.isError).toBeUndefined();
    const [{ text }] = reply.content as [{ text: string }];
    expect(text).toContain("`ptc approvals approve 0123456789abcdef`");
    expect(text).toContain('execute_program {"code":"ticket 0123456789abcdef"}');
    const going = client.callTool(TICKET);
    answer({ decision: "once", by: "a shell" });
    expect((await going).content).toMatchObject(valued("once by a shell"));
  });

  it("has the person asked at a client that can, and counts the first answer", async () => {
    const { served: open, run, kept, by, answer } = keptPrograms();
    let asked = 0;
    const client = await connectLegacy(open(), () => {
      asked++;
      if (asked === 1) throw new Error("no screen");
      if (asked === 2) return { action: "accept", content: {} };
      return new Promise(() => {});
    });
    const first = await client.callTool(EXECUTE);
    expect(first.content).toMatchObject([{ text: expect.stringContaining("waits for an approval") }]);
    const spaced = executing(" ticket 0123456789abcdef\n");
    const reply = await client.callTool(spaced);
    expect(reply.content).toMatchObject(valued(`once by ${by[0]}`));

    kept.clear();
    const pending = run(PROGRAM, {
      program: PROGRAM,
      context: { principal: "local", source: "serve" },
      approver: { ask: async () => ({ decision: "later", by: "nobody" }) },
      suspends: true,
      signal: new AbortController().signal,
    });
    await pending;
    const going = client.callTool(spaced);
    await expect.poll(() => asked).toBe(3);
    answer({ decision: "denied", by: "a shell" });
    expect((await going).content).toMatchObject(valued("denied by a shell"));
  });

  it.each(ERAS)(
    "is what a client of %s gets that dismisses the question, which nobody may have seen",
    async (era) => {
      const { served: open, kept, by, answer } = keptPrograms();
      const client = await CONNECT[era](open(), () => ({ action: "cancel" }));
      const [{ text }] = (await client.callTool(EXECUTE)).content as [{ text: string }];
      expect(text).toContain("waits for an approval");
      expect(kept.size).toBe(1);
      // Coming back with the ticket dismisses it again, and decides nothing either.
      const going = client.callTool(TICKET);
      if (era === "2026-07-28") {
        expect((await going).content).toMatchObject([
          { text: expect.stringContaining("nobody has answered yet") },
        ]);
      }
      answer({ decision: "once", by: "a shell" });
      const reply = await (era === "2026-07-28" ? client.callTool(TICKET) : going);
      expect(reply.content).toMatchObject(valued("once by a shell"));
      expect(by).toEqual([]);
    },
  );

  it("takes from its client no more than the form offered, also when it comes back for the answer", async () => {
    const { served: open } = keptPrograms();
    const more = { decision: "run", at_most: 5 };
    // The first form has offered nothing but this call.
    const first = new RawClient(open());
    const plain = await first.callModern(1, EXECUTE);
    const once = await first.callModern(2, { ...EXECUTE, ...answering(plain, more) });
    expect(once.result?.content).toMatchObject(valued("once"));
    // One that asks again offers them.
    const again = new RawClient(open());
    await again.callModern(1, EXECUTE, NO_FORMS);
    const asked = await again.callModern(2, TICKET);
    expect(asked.result).toMatchObject({ resultType: "input_required" });
    const given = await again.callModern(3, { ...TICKET, ...answering(asked, more) });
    expect(given.result?.content).toMatchObject(valued("run by elicitation"));
  });

  it.each([
    ["McpError: MCP error -32001: Request timed out", 1],
    ["AbortError: the user has pressed Esc", 0],
  ])("waits for an answer after a client has cancelled because of '%s': %i", async (reason, waiting) => {
    const { served: open, kept } = keptPrograms();
    const served = open();
    const client = new RawClient(served);
    await client.initialize({ elicitation: {} });
    client.send({ id: 1, method: "tools/call", params: EXECUTE });
    await eventually(() =>
      expect(client.messages.map(({ method }) => method)).toContain("elicitation/create"),
    );
    client.send({ method: "notifications/cancelled", params: { requestId: 1, reason } });
    await eventually(() =>
      expect(client.messages.map(({ method }) => method)).toContain("notifications/cancelled"),
    );
    client.end();
    await served.ended;
    expect(kept.size).toBe(waiting);
  });

  it("of a client of 2026-07-28 outlives its connection", async () => {
    const { served: open, by } = keptPrograms();
    const served = open();
    const client = new RawClient(served);
    const asked = await client.callModern(1, EXECUTE);
    expect(asked.result).toMatchObject({ resultType: "input_required" });
    client.end();
    await served.ended;

    const restarted = open();
    const again = new RawClient(restarted);
    const reply = await again.callModern(1, { ...EXECUTE, ...answering(asked) });
    expect(reply.result).toMatchObject({ content: valued(`once by ${by[0]}`) });
    const twice = await again.callModern(2, { ...EXECUTE, ...answering(asked) });
    expect(twice.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("over") }],
    });
    again.end();
    await restarted.ended;
  });

  it("that is none is named as such", async () => {
    const { served: open } = keptPrograms();
    const client = await connectLegacy(open());
    const reply = await client.callTool(executing("ticket ffffffffffffffff"));
    expect(reply).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("is over") }] });
  });
});

it("a ticket that is given as an argument of its own is answered with where it belongs, and with no argument that is off", async () => {
  const { served } = programs([]);
  const client = new RawClient(served);
  const call = { name: "execute_program", arguments: { ticket: "0123456789abcdef" } };
  const text = JSON.stringify((await client.callModern(1, call)).result?.content);
  expect(text).toContain('a ticket is the code: {\\"code\\":\\"ticket <its digits>\\"}');
  expect(text).toContain("there is no argument 'ticket'; there are code, ");
  expect(text).not.toContain("session");
});
