import { afterEach, describe, expect, it, vi } from "vitest";
import type { ExecutedProgram } from "../../../execution/output/executed-run.ts";
import type { ProgramRequest } from "../../../execution/run-request.ts";
import type { UnresolvedProgram } from "../../../languages/resolve-program.ts";
import { connectLegacy, RawClient } from "./clients.ts";
import { CANCELLED, CONTEXT, EXECUTE, executed, REQUEST, serve } from "./served.ts";

const YES = { approval: { action: "accept", content: { decision: "once" } } };
const OVER = "the program that asked is over; `ptc runs list` has what it did, before it is run again";

/** Programs that ask one question, and note when they are killed. */
function askingPrograms() {
  const killed: number[] = [];
  let count = 0;
  const run = async (
    _: UnresolvedProgram,
    { approver, signal }: ProgramRequest,
  ): Promise<ExecutedProgram> => {
    const number = ++count;
    const { decision } = await approver.ask(REQUEST, signal);
    if (!signal.aborted) return executed({ data: decision });
    killed.push(number);
    return CANCELLED;
  };
  return { run, killed };
}

/** Programs of one connection, without a server. */
function heldPrograms(run: Parameters<typeof serve>[0]) {
  const { service } = serve(run, { maxPrograms: 1 });
  const connection = service.connect(CONTEXT);
  return { programs: service.programs, connection, close: () => connection.close() };
}

describe("a question to a client of 2025-11-25", () => {
  it("that the client fails to ask ends the program, and frees its place", async () => {
    const { run, killed } = askingPrograms();
    const served = serve(run, { maxPrograms: 1 });
    const client = await connectLegacy(served, () => {
      throw new Error("no screen");
    });
    for (const time of [1, 2, 3]) {
      const reply = await client.callTool(EXECUTE);
      expect(reply).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^\[Script execution failed\]\nCancelled: /) }],
      });
      expect(reply.content).toMatchObject([
        { text: expect.stringMatching(/could not ask for an approval of mcp__a__drop: .*no screen/) },
      ]);
      expect(killed).toHaveLength(time);
    }
  });

  it.each([
    ["a result that is no form's", { result: { yes: true } }],
    ["no result at all", { result: "yes" }],
    ["an error without a message", { error: { code: 1 } }],
  ])("that is answered with %s ends the program", async (_, answer) => {
    const { run, killed } = askingPrograms();
    const served = serve(run);
    const client = new RawClient(served);
    await client.initialize({ elicitation: {} });
    client.send({ id: 1, method: "tools/call", params: EXECUTE });
    const asked = () => client.messages.find(({ method }) => method === "elicitation/create");
    await expect.poll(asked).toBeDefined();
    client.send({ id: asked()?.id, ...answer });
    expect(await client.answerTo(1)).toMatchObject({ result: { isError: true } });
    expect(killed).toEqual([1]);
    // Their ids and ours are not the same: nothing that answers us is answered.
    expect(client.messages.filter(({ error }) => error !== undefined)).toEqual([]);
  });

  it("goes with the request that asked: cancelling it kills the program and takes back the question", async () => {
    const { run, killed } = askingPrograms();
    const served = serve(run, { maxPrograms: 1 });
    const client = new RawClient(served);
    await client.initialize({ elicitation: {} });
    for (const id of [1, 2, 3]) {
      client.send({ id, method: "tools/call", params: EXECUTE });
      const asked = () => client.messages.filter(({ method }) => method === "elicitation/create");
      await expect.poll(() => asked().length).toBe(id);
      client.send({ method: "notifications/cancelled", params: { requestId: id } });
      await expect.poll(() => killed.length).toBe(id);
      const withdrawn = client.messages.filter(({ method }) => method === "notifications/cancelled");
      expect(withdrawn.at(-1)?.params).toMatchObject({ requestId: asked().at(-1)?.id });
    }
  });

  it("is not waited for when the program is over", async () => {
    const served = serve(async (_, { approver, signal }) => {
      void approver.ask(REQUEST, signal);
      return executed({ data: "over" });
    });
    const client = await connectLegacy(served, () => new Promise(() => {}));
    expect((await client.callTool(EXECUTE)).content).toMatchObject([
      { text: '[Script executed successfully]\n"over"' },
    ]);
  });
});

describe("a question to a client of 2026-07-28", () => {
  it("that is never answered leaves room for others; of too many, the oldest is given up", async () => {
    const { run, killed } = askingPrograms();
    const served = serve(run, { maxPrograms: 2 });
    const client = new RawClient(served);
    const tickets: unknown[] = [];
    for (const id of [1, 2, 3, 4, 5]) {
      const { result } = await client.callModern(id, EXECUTE);
      expect(result).toMatchObject({ resultType: "input_required" });
      tickets.push(result?.requestState);
    }
    expect(killed).toEqual([1, 2, 3]);
    const late = await client.callModern(6, { ...EXECUTE, requestState: tickets[2], inputResponses: YES });
    expect(late.result).toMatchObject({ isError: true, content: [{ text: OVER }] });
    const inTime = await client.callModern(7, { ...EXECUTE, requestState: tickets[3], inputResponses: YES });
    expect(inTime.result).toMatchObject({ content: [{ text: '[Script executed successfully]\n"once"' }] });
    client.end();
    await served.ended;
    expect(killed).toEqual([1, 2, 3, 5]);
  });

  it("ends the reports to the request that asked", async () => {
    let goOn = () => {};
    const served = serve(async (_, { approver, signal, onCallStarted }) => {
      goOn = () => void onCallStarted?.({ seq: 1, tool: "mcp__a__b" });
      await approver.ask(REQUEST, signal);
      return CANCELLED;
    });
    const client = new RawClient(served);
    await client.callModern(1, EXECUTE, { progressToken: "t" });
    goOn();
    await client.callModern(2, { name: "list_callable_tools" });
    expect(client.messages.map(({ method }) => method)).not.toContain("notifications/progress");
  });

  it("is not asked where the client can only open pages", async () => {
    const served = serve(askingPrograms().run);
    const client = new RawClient(served);
    const capabilities = { elicitation: { url: {} } };
    const meta = { "io.modelcontextprotocol/clientCapabilities": capabilities };
    expect((await client.callModern(1, EXECUTE, meta)).result).toMatchObject({
      content: [{ text: '[Script executed successfully]\n"later"' }],
    });
  });
});

describe("a question that is being asked", () => {
  it("is taken back as soon as its request is cancelled, however long the program takes to die", async () => {
    let die = () => {};
    const run = async (_: UnresolvedProgram, { approver }: ProgramRequest) => {
      void approver.ask(REQUEST, new AbortController().signal);
      await new Promise<void>((resolve) => {
        die = resolve;
      });
      return CANCELLED;
    };
    const { connection } = heldPrograms(run);
    const cancel = new AbortController();
    let takenBack = false;
    const reply = connection.callTool(
      "execute_program",
      { code: "1" },
      {
        connection,
        signal: cancel.signal,
        progress: undefined,
        canAsk: true,
        ask: (_request, signal) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => {
              takenBack = true;
              reject(signal.reason);
            }),
          ),
      },
    );
    await new Promise((resolve) => setImmediate(resolve));
    cancel.abort();
    expect(takenBack).toBe(true);
    die();
    await reply;
  });
});

describe("a question that was handed out", () => {
  afterEach(() => void vi.useRealTimers());

  function held() {
    const { run, killed } = askingPrograms();
    return { ...heldPrograms(run), killed };
  }

  it("is given up after some minutes, and with it the program", async () => {
    vi.useFakeTimers();
    const { connection, killed } = held();
    const request = { connection, signal: new AbortController().signal, progress: undefined, canAsk: true };
    const question = await connection.callTool("execute_program", { code: "1" }, request);
    if (question?.kind !== "question") throw new Error("it did not ask");
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    expect(killed).toEqual([1]);
    const answers = { ticket: question.ticket, response: { decision: "once", by: "test" } };
    const late = await connection.callTool("execute_program", {}, { ...request, answers });
    expect(late).toMatchObject({ reply: { isError: true, content: [{ text: OVER }] } });
  });

  it("is given up at once when its request is cancelled meanwhile", async () => {
    const { connection, killed } = held();
    const cancel = new AbortController();
    const answer = connection.callTool(
      "execute_program",
      { code: "1" },
      { connection, signal: cancel.signal, progress: undefined, canAsk: true },
    );
    cancel.abort();
    expect(await answer).toMatchObject({ kind: "reply", reply: { isError: true } });
    expect(killed).toEqual([1]);
  });

  it("takes no program in when the connection has ended", async () => {
    const { connection, close, killed } = held();
    await close();
    const request = { connection, signal: new AbortController().signal, progress: undefined, canAsk: true };
    expect(await connection.callTool("execute_program", { code: "1" }, request)).toMatchObject({
      reply: { isError: true, content: [{ text: expect.stringContaining("Cancelled") }] },
    });
    expect(killed).toEqual([]);
  });

  it("starts no program that had its place when the connection ended", async () => {
    const { connection, close, killed } = held();
    const request = { connection, signal: new AbortController().signal, progress: undefined, canAsk: true };
    const reply = connection.callTool("execute_program", { code: "1" }, request);
    await close();
    expect(await reply).toMatchObject({
      reply: { isError: true, content: [{ text: expect.stringContaining("Cancelled") }] },
    });
    expect(killed).toEqual([]);
  });
});
