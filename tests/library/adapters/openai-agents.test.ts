import {
  Agent,
  type Model,
  type ModelRequest,
  type ModelResponse,
  Runner,
  RunState,
  type StreamEvent,
  Usage,
} from "@openai/agents";
import { describe, expect, test } from "vitest";
import { ptcTools } from "../../../library/adapters/openai-agents.ts";
import { tool } from "../../../library/ptc.ts";
import { openPtc, PAY, paying, ticketIn, useNoWalls } from "../open.ts";

useNoWalls();

const wipe = tool({
  description: "Deletes everything",
  annotations: { destructiveHint: true },
  execute: () => "gone",
});
const WIPE = "globalThis.result = await mcp__functions__wipe({})";

/** What a model says, which may depend on what it was told. */
type Turn = { code: string | ((told: string) => string) } | { text: string };

/** A model that says these turns, in order, and remembers what it was told. */
class Scripted implements Model {
  readonly requests: ModelRequest[] = [];
  readonly #turns: readonly Turn[];

  constructor(...turns: Turn[]) {
    this.#turns = turns;
  }

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    const turn = this.#turns[this.requests.length] ?? { text: "" };
    this.requests.push(request);
    const id = String(this.requests.length);
    return {
      usage: new Usage(),
      responseId: id,
      output: [
        "text" in turn
          ? {
              type: "message",
              id,
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: turn.text }],
            }
          : {
              type: "function_call",
              id,
              callId: `call-${id}`,
              name: "execute_program",
              status: "completed",
              arguments: JSON.stringify({
                code: typeof turn.code === "string" ? turn.code : turn.code(JSON.stringify(request.input)),
              }),
            },
      ],
    };
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<StreamEvent> {
    const { output } = await this.getResponse(request);
    yield {
      type: "response_done",
      response: {
        id: "1",
        usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
        output: output as never,
      },
    };
  }

  /** What the model was told of its calls. */
  get told(): string {
    return JSON.stringify(this.requests.map(({ input }) => input));
  }
}

const runner = new Runner({ tracingDisabled: true });
const agentOf = (model: Model, tools: Agent["tools"]) => new Agent({ name: "a", model, tools });

test("a model runs a program, and reads its text", async () => {
  const ptc = await openPtc();
  const model = new Scripted({ code: "globalThis.result = 6 * 7" }, { text: "It is 42." });
  const { finalOutput } = await runner.run(agentOf(model, ptcTools(ptc)), "Go on.");
  expect(finalOutput).toBe("It is 42.");
  expect(model.told).toContain("[Script executed successfully]\\n42");
  expect(model.requests[0]?.tools.map((each) => ("name" in each ? each.name : ""))).toContain("search_tools");
});

test("who streams sees the call and its output", async () => {
  const ptc = await openPtc();
  const model = new Scripted({ code: "globalThis.result = 6 * 7" }, { text: "It is 42." });
  const stream = await runner.run(agentOf(model, ptcTools(ptc)), "Go on.", { stream: true });
  const names: string[] = [];
  for await (const event of stream) if (event.type === "run_item_stream_event") names.push(event.name);
  expect(names).toEqual(expect.arrayContaining(["tool_called", "tool_output", "message_output_created"]));
  expect(stream.finalOutput).toBe("It is 42.");
});

test("a question is put to who was named for this conversation", async () => {
  const ptc = await openPtc({ tools: { wipe }, approve: () => ({ allow: false }) });
  const tools = ptcTools(ptc, { approve: () => ({ allow: true }) });
  const model = new Scripted({ code: WIPE }, { text: "Gone." });
  await runner.run(agentOf(model, tools), "Go on.");
  expect(model.told).toContain("gone");
});

test("the model reads why a program failed", async () => {
  const ptc = await openPtc();
  const model = new Scripted({ code: "throw new Error('no')" }, { text: "It failed." });
  await runner.run(agentOf(model, ptcTools(ptc)), "Go on.");
  expect(model.told).toContain("[Script execution failed]");
});

test("aborting the run cancels the program", async () => {
  const cancel = new AbortController();
  const stopped = Promise.withResolvers<void>();
  const slow = tool({
    description: "Never ends",
    execute: (_, { signal }) => {
      signal.addEventListener("abort", () => stopped.resolve());
      setImmediate(() => cancel.abort());
      return new Promise<void>(() => {});
    },
  });
  const ptc = await openPtc({ tools: { slow } });
  const model = new Scripted({ code: "await mcp__functions__slow({})" }, { text: "Stopped." });
  await runner.run(agentOf(model, ptcTools(ptc)), "Go on.", { signal: cancel.signal }).catch(() => {});
  await stopped.promise;
});

describe("the SDK's own approval", () => {
  /** Runs an agent that pays, up to where the SDK asks its user. */
  async function payUntilAsked(...then: Turn[]) {
    const { tools: functions, paid } = paying();
    const ptc = await openPtc({ tools: functions });
    const model = new Scripted({ code: PAY }, { code: (told) => `ticket ${ticketIn(told)}` }, ...then, {
      text: "Done.",
    });
    const agent = agentOf(model, ptcTools(ptc));
    const result = await runner.run(agent, "Go on.");
    const [interruption] = result.interruptions;
    if (interruption === undefined) throw new Error("the SDK did not ask");
    return { ptc, agent, model, result, interruption, paid };
  }

  test("interrupts the run for the call, and a yes has just that program go on", async () => {
    const { ptc, agent, model, result, interruption, paid } = await payUntilAsked();
    const asked = (await ptc.approvals()).find(({ ticket }) => interruption.arguments?.includes(ticket));
    expect(asked?.question).toMatchObject({ tool: "mcp__functions__pay", arguments: { order: 7 } });
    expect(paid).toEqual(["read"]);
    result.state.approve(interruption);
    const { finalOutput } = await runner.run(agent, result.state);
    expect(finalOutput).toBe("Done.");
    expect(paid).toEqual(["read", "pay 7"]);
    expect(model.told).toContain("paid 7");
  });

  test("counts as well when the state was stored in between", async () => {
    const { agent, result, paid } = await payUntilAsked();
    const state = await RunState.fromString(agent, result.state.toString());
    for (const interruption of state.getInterruptions()) state.approve(interruption);
    await runner.run(agent, state);
    expect(paid).toEqual(["read", "pay 7"]);
  });

  test("leaves the program waiting after a no, and the model is told", async () => {
    const { ptc, agent, model, result, interruption, paid } = await payUntilAsked();
    result.state.reject(interruption);
    const { finalOutput } = await runner.run(agent, result.state);
    expect(finalOutput).toBe("Done.");
    expect(model.told).toContain("was not approved");
    expect(paid).toEqual(["read"]);
    expect(await ptc.approvals()).toMatchObject([{ isAnswered: false }]);
  });

  test.for<[string, string | ((told: string) => string), RegExp]>([
    ["goes on", (told) => `ticket ${ticketIn(told)}`, /ApprovalDenied.*not on Fridays/],
    ["begins another program", "globalThis.result = 'other'", /other/],
  ])(
    "answers the question with a no when the model then %s, without asking again",
    async ([, code, told]) => {
      for (const isStored of [false, true]) {
        const { ptc, agent, model, result, paid } = await payUntilAsked({ code });
        const stored = isStored ? await RunState.fromString(agent, result.state.toString()) : result.state;
        const state = stored as typeof result.state;
        for (const interruption of state.getInterruptions())
          state.reject(interruption, { message: "not on Fridays" });
        const { finalOutput, interruptions } = await runner.run(agent, state);
        expect({ finalOutput, interruptions }).toEqual({ finalOutput: "Done.", interruptions: [] });
        expect(model.told).toMatch(told);
        expect((await ptc.approvals()).filter(({ isAnswered }) => !isAnswered)).toEqual([]);
        expect(paid).toEqual(["read"]);
      }
    },
  );

  test("is not asked once somebody has answered elsewhere", async () => {
    const { tools: functions, paid } = paying();
    const ptc = await openPtc({ tools: functions });
    const waits = await ptc.run(PAY);
    const ticket = waits.waiting?.ticket ?? "";
    await ptc.answer(ticket, { allow: true });
    const agent = agentOf(new Scripted({ code: `ticket ${ticket}` }, { text: "Done." }), ptcTools(ptc));
    const { interruptions } = await runner.run(agent, "Go on.");
    expect(interruptions).toEqual([]);
    expect(paid).toEqual(["read", "pay 7"]);
  });
});
