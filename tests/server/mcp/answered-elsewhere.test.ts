import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { ApprovalAnswer } from "../../../broker/approvals/approvals.ts";
import { PendingApprovals } from "../../../execution/pending/pending-approvals.ts";
import { shareQuestions } from "../../../execution/pending/shared-questions.ts";
import type { ProgramRunner } from "../../../execution/program-runner.ts";
import { eventually } from "../../eventually.ts";
import { connectLegacy, RawClient } from "./clients.ts";
import { CONTEXT, executed, serve } from "./served.ts";

const EXECUTE = { name: "execute_program", arguments: { code: "1" } };
const YES = { approval: { action: "accept", content: {} } };
const BY_SHELL = { by: "ada", how: "ptc approvals" } as const;

/** Programs that ask about calls of these tools, one after the other, and what `ptc approvals` sees of that. */
function programs(...tools: string[]) {
  const directory = mkdtempSync(join(tmpdir(), "ptc-elsewhere-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, "state"), { mode: 0o700 });
  const open = () =>
    new PendingApprovals({
      configuration: { directory, approvals: { expireMs: 60_000 } as never },
      env: { XDG_STATE_HOME: join(directory, "state") },
      clock: { wallMs: () => Date.now() },
    });
  const run: ProgramRunner["run"] = async (_, { approver, context, signal }) => {
    const shared = shareQuestions({ approver, context, fileName: "p.ts", open: async () => open() });
    const answers: string[] = [];
    for (const tool of tools) {
      const request = { runId: "r", tool, definitionDigest: "d", arguments: {}, argumentsDigest: tool };
      answers.push((await shared.ask(request, signal)).decision);
    }
    return executed({ data: answers });
  };
  const suspended: NonNullable<ProgramRunner["suspended"]> = {
    async take(principal, ticket) {
      const taken = open().take(principal, ticket);
      if (taken.kind === "resumed") throw new Error("nothing is suspended here");
      return taken;
    },
    answer: async (...given) => open().answer(...given),
    isAnswered: async () => false,
  };
  const answerInShell = (tool: string, decision: ApprovalAnswer["decision"]) =>
    eventually(() => {
      const pending = open()
        .list(CONTEXT.principal)
        .find(({ request }) => request.tool === tool);
      if (pending === undefined) throw new Error(`${tool} is not asked about`);
      expect(open().answer(CONTEXT.principal, pending, { decision, ...BY_SHELL })).toBe(true);
      return pending.ticket;
    });
  return { served: serve(run, { suspended, maxPrograms: 1 }), answerInShell, open };
}

const told = (what: string) =>
  `mcp__a__drop: it was ${what} by ada (ptc approvals), and the first answer counts`;

it("a dialog that a client shows is closed when somebody answers in a shell, and the reply says who", async () => {
  const { served, answerInShell } = programs("mcp__a__drop");
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
  client.end();
  await served.ended;
});

it("a run whose question was answered in a shell goes on at once, and waits for its client with what it came to", async () => {
  const { served, answerInShell, open } = programs("mcp__a__drop", "mcp__a__purge");
  const client = new RawClient(served);
  const { result } = await client.callModern(1, EXECUTE);
  expect(result).toMatchObject({ resultType: "input_required" });
  expect(result?.requestState).toContain(await answerInShell("mcp__a__drop", "once"));
  // The next question is offered too, while no request waits for the run.
  await answerInShell("mcp__a__purge", "denied");
  await eventually(() => expect(open().list(CONTEXT.principal)).toEqual([]));
  // What the client says now is too late.
  const late = {
    ...EXECUTE,
    requestState: result?.requestState,
    inputResponses: { approval: { action: "decline" } },
  };
  const reply = await client.callModern(2, late);
  expect(reply.result?.content).toEqual([
    { type: "text", text: '[Script executed successfully]\n["once","denied"]' },
    { type: "text", text: told("approved") },
    { type: "text", text: told("denied").replace("drop", "purge") },
  ]);
  client.end();
  await served.ended;
});

it("a client that comes back is put the question that its run has come to meanwhile", async () => {
  const { served, answerInShell } = programs("mcp__a__drop", "mcp__a__purge");
  const client = new RawClient(served);
  const { result } = await client.callModern(1, EXECUTE);
  await answerInShell("mcp__a__drop", "once");
  const next = await client.callModern(2, {
    ...EXECUTE,
    requestState: result?.requestState,
    inputResponses: YES,
  });
  expect(next.result).toMatchObject({ resultType: "input_required" });
  expect(JSON.stringify(next.result)).toContain("mcp__a__purge");
  const last = await client.callModern(3, {
    ...EXECUTE,
    requestState: next.result?.requestState,
    inputResponses: YES,
  });
  expect(JSON.stringify(last.result?.content)).toContain('[\\"once\\",\\"once\\"]');
  client.end();
  await served.ended;
});

it("a ticket of a run that waits elsewhere just now is told how it is answered", async () => {
  const { served, answerInShell, open } = programs("mcp__a__drop");
  const client = new RawClient(served);
  await client.callModern(1, EXECUTE);
  const [ticket] = await eventually(() => {
    const tickets = open()
      .list(CONTEXT.principal)
      .map((pending) => pending.ticket);
    expect(tickets).toHaveLength(1);
    return tickets;
  });
  const other = serve(async () => executed({ data: 1 }), {
    suspended: {
      take: async (principal) => {
        const taken = open().take(principal, ticket ?? "");
        if (taken.kind === "resumed") throw new Error("nothing is suspended here");
        return taken;
      },
      answer: async () => false,
      isAnswered: async () => false,
    },
  });
  const stranger = await connectLegacy(other);
  const args = { code: `ticket ${ticket}` };
  const reply = await stranger.callTool({ name: "execute_program", arguments: args });
  expect(reply).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining(`\`ptc approvals approve ${ticket}\``) }],
  });
  // Its own server puts the question to its client again.
  const again = await client.callModern(2, { name: "execute_program", arguments: args });
  expect(again.result).toMatchObject({ resultType: "input_required" });
  await answerInShell("mcp__a__drop", "denied");
  await stranger.close();
  client.end();
  await Promise.all([served.ended, other.ended]);
});
