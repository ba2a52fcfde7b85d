import { AIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { FakeStreamingChatModel } from "@langchain/core/utils/testing";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, test } from "vitest";
import { ptcTools } from "../../../library/adapters/langchain.ts";
import { tool } from "../../../library/ptc.ts";
import { openPtc, PAY, paying, ticketIn, useNoWalls } from "../open.ts";

useNoWalls();

const wipe = tool({
  description: "Deletes everything",
  annotations: { destructiveHint: true },
  execute: () => "gone",
});
const WIPE = "globalThis.result = await mcp__functions__wipe({})";

/** A model that says these turns, in order, over and over. */
class Scripted extends FakeStreamingChatModel {
  #turn = 0;

  constructor(...turns: ({ code: string } | { text: string })[]) {
    super({
      responses: turns.map((turn, index) =>
        "text" in turn
          ? new AIMessage(turn.text)
          : new AIMessage({
              content: "",
              tool_calls: [{ id: `call-${index}`, name: "execute_program", args: { code: turn.code } }],
            }),
      ),
    });
  }

  override async _generate() {
    const message = this.responses[this.#turn++ % this.responses.length] as BaseMessage;
    return { generations: [{ text: "", message: message as AIMessage }] };
  }

  override bindTools(): this {
    return this;
  }
}

const messages = [{ role: "user", content: "Go on." }];

async function toolMessageOf(agent: { invoke(input: object): Promise<{ messages: BaseMessage[] }> }) {
  const state = await agent.invoke({ messages });
  return state.messages.find((message) => message.type === "tool") as ToolMessage;
}

test("a model runs a program, and reads its text; the run is the artifact", async () => {
  const ptc = await openPtc();
  const model = new Scripted({ code: "globalThis.result = 6 * 7" }, { text: "It is 42." });
  const agent = createAgent({ model, tools: ptcTools(ptc) });
  const said = await toolMessageOf(agent as never);
  expect(said).toMatchObject({
    content: "[Script executed successfully]\n42",
    status: "success",
    artifact: { ok: true, value: 42 },
  });
});

test("who streams custom events follows the program", async () => {
  const ptc = await openPtc();
  const model = new Scripted({ code: 'console.log("halfway")' }, { text: "Done." });
  const agent = createAgent({ model, tools: ptcTools(ptc) });
  const events: unknown[] = [];
  for await (const event of await agent.stream({ messages } as never, { streamMode: "custom" }))
    events.push(event);
  expect(events).toContainEqual(expect.objectContaining({ kind: "console", text: "halfway\n" }));
  expect(events).toContainEqual(expect.objectContaining({ kind: "ended", outcome: "ok" }));
});

test("a question is put to who was named for this conversation", async () => {
  const ptc = await openPtc({ tools: { wipe }, approve: () => ({ allow: false }) });
  const tools = ptcTools(ptc, { approve: () => ({ allow: true }) });
  const agent = createAgent({ model: new Scripted({ code: WIPE }, { text: "Gone." }), tools });
  expect(await toolMessageOf(agent as never)).toMatchObject({ artifact: { value: "gone" } });
});

test("a failed program is a message with the status of an error", async () => {
  const ptc = await openPtc();
  const model = new Scripted({ code: "throw new Error('no')" }, { text: "It failed." });
  const said = await toolMessageOf(createAgent({ model, tools: ptcTools(ptc) }) as never);
  expect(said).toMatchObject({
    status: "error",
    content: expect.stringContaining("[Script execution failed]"),
  });
});

test("aborting the call cancels the program", async () => {
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
  const agent = createAgent({ model, tools: ptcTools(ptc) });
  await agent.invoke({ messages } as never, { signal: cancel.signal }).catch(() => {});
  await stopped.promise;
});

describe("LangGraph's own interrupt", () => {
  /** Says the turns in order; a turn without code goes on with the ticket that it was told. */
  class Paying extends Scripted {
    told: string[] = [];

    override async _generate(messages: BaseMessage[] = []) {
      this.told.push(JSON.stringify(messages));
      const said = await super._generate();
      const [call] = said.generations[0]?.message.tool_calls ?? [];
      if (call?.args.code === "") call.args.code = `ticket ${ticketIn(this.told.at(-1) ?? "")}`;
      return said;
    }
  }

  /** Runs an agent that pays, up to where its graph is interrupted. */
  async function payUntilAsked(code = PAY) {
    const { tools: functions, paid } = paying();
    const ptc = await openPtc({ tools: functions });
    const model = new Paying({ code }, { code: "" }, { text: "Done." });
    const agent = createAgent({ model, tools: ptcTools(ptc), checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: "1" } };
    const state = (await agent.invoke({ messages } as never, config)) as {
      __interrupt__?: { value: { actionRequests: object[] } }[];
    };
    const decide = async (decision: object) =>
      (await agent.invoke(new Command({ resume: { decisions: [decision] } }) as never, config)) as {
        messages: BaseMessage[];
      };
    return { ptc, state, decide, model, paid };
  }

  test("interrupts the graph with the call, and a yes has just that program go on", async () => {
    const { state, decide, paid, ptc } = await payUntilAsked();
    expect(state.__interrupt__?.[0]?.value.actionRequests).toEqual([
      {
        name: "mcp__functions__pay",
        args: { order: 7 },
        description: expect.stringContaining("mcp__functions__pay"),
      },
    ]);
    expect(paid).toEqual(["read"]);
    const done = await decide({ type: "approve" });
    expect(done.messages.at(-2)).toMatchObject({ artifact: { ok: true, value: "paid 7" } });
    expect(paid).toEqual(["read", "pay 7"]);
    expect(await ptc.approvals()).toEqual([]);
  });

  test("has the program read a no with its reason, and go on with that", async () => {
    const code =
      "globalThis.result = await mcp__functions__pay({ order: 1 }).catch((error: Error) => error.message);";
    const { decide, paid } = await payUntilAsked(code);
    const done = await decide({ type: "reject", message: "too much" });
    expect(done.messages.at(-2)).toMatchObject({ artifact: { value: expect.stringContaining("too much") } });
    expect(paid).toEqual([]);
  });

  test("counts anything that is no clear yes as a no", async () => {
    const { decide, paid } = await payUntilAsked();
    await decide({ type: "edit" });
    expect(paid).toEqual(["read"]);
  });

  test("is left out where a graph keeps no state", async () => {
    const { tools: functions } = paying();
    const ptc = await openPtc({ tools: functions });
    const agent = createAgent({
      model: new Scripted({ code: PAY }, { text: "Done." }),
      tools: ptcTools(ptc),
    });
    const said = await toolMessageOf(agent as never);
    expect(said.content).toContain("ptc approvals approve");
  });
});
