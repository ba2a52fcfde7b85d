import {
  generateText,
  isStepCount,
  type ModelMessage,
  streamText,
  type TextStreamPart,
  type ToolSet,
} from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ptcApproval, ptcTools } from "../../../library/adapters/ai-sdk.ts";
import { type Ptc, tool } from "../../../library/ptc.ts";
import { openPtc, PAY, paying, ticketIn, useNoWalls } from "../open.ts";

useNoWalls();

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const wipe = tool({
  description: "Deletes everything",
  annotations: { destructiveHint: true },
  execute: () => "gone",
});
const WIPE = "globalThis.result = await mcp__functions__wipe({})";

/** What a model says, which may depend on what it was told. */
type Turn = { code: string | ((told: string) => string) } | { text: string };

/** A model that says these turns, in order. */
function scripted(turns: readonly Turn[]): MockLanguageModelV4 {
  let turn = 0;
  const next = (prompt: unknown) => {
    const said = turns[turn++] ?? { text: "" };
    const code = "code" in said ? said.code : "";
    return "text" in said
      ? ({
          content: { type: "text", text: said.text },
          finishReason: { unified: "stop", raw: "stop" },
        } as const)
      : ({
          content: {
            type: "tool-call",
            toolCallId: `call-${turn}`,
            toolName: "execute_program",
            input: JSON.stringify({ code: typeof code === "string" ? code : code(JSON.stringify(prompt)) }),
          },
          finishReason: { unified: "tool-calls", raw: "tool_calls" },
        } as const);
  };
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const { content, finishReason } = next(prompt);
      return { content: [content], finishReason, usage: USAGE, warnings: [] };
    },
    doStream: async ({ prompt }) => {
      const { content, finishReason } = next(prompt);
      const said =
        content.type === "text"
          ? ([
              { type: "text-start", id: "1" },
              { type: "text-delta", id: "1", delta: content.text },
              { type: "text-end", id: "1" },
            ] as const)
          : [content];
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: "stream-start", warnings: [] },
            ...said,
            { type: "finish", finishReason, usage: USAGE },
          ],
        }),
      };
    },
  });
}

const DAY_MS = 24 * 60 * 60_000;
const stopWhen = isStepCount(5);
const prompt = "Go on.";

test("a model runs a program, and reads its text", async () => {
  const ptc = await openPtc();
  const model = scripted([{ code: "globalThis.result = 6 * 7" }, { text: "It is 42." }]);
  const { text } = await generateText({ model, tools: ptcTools(ptc), stopWhen, prompt });
  expect(text).toBe("It is 42.");
  const told = JSON.stringify(model.doGenerateCalls[1]?.prompt);
  expect(told).toContain("[Script executed successfully]\\\\n42".replace("\\\\", "\\"));
  expect(model.doGenerateCalls[0]?.tools?.map(({ name }) => name)).toContain("search_tools");
});

test("who streams sees what a program does while it runs, and then its result", async () => {
  const ptc = await openPtc({ tools: { it: tool({ description: "It", execute: () => 1 }) } });
  const model = scripted([
    { code: 'await mcp__functions__it({}); console.log("halfway")' },
    { text: "Done." },
  ]);
  const { fullStream } = streamText({ model, tools: ptcTools(ptc), stopWhen, prompt });
  const parts: TextStreamPart<ToolSet>[] = [];
  for await (const part of fullStream) parts.push(part);
  const results = parts.flatMap((part) => (part.type === "tool-result" ? part : []));
  const progress = results.filter(({ preliminary }) => preliminary).map(({ output }) => output);
  expect(progress).toContainEqual({ progress: "calls mcp__functions__it" });
  expect(progress).toContainEqual({ progress: "halfway" });
  expect(results.at(-1)).toMatchObject({ output: { isError: false, run: { ok: true } } });
});

test("a question is put to who was named for this conversation", async () => {
  const ptc = await openPtc({ tools: { wipe }, approve: () => ({ allow: false }) });
  const tools = ptcTools(ptc, { principal: "ada", approve: () => ({ allow: true }) });
  const { steps } = await generateText({
    model: scripted([{ code: WIPE }, { text: "Done." }]),
    ...{ tools, stopWhen, prompt },
  });
  expect(steps[0]?.toolResults[0]?.output).toMatchObject({ run: { value: "gone" } });
});

test("a run that waits is continued by the model with its ticket", async () => {
  const ptc = await openPtc({ tools: { wipe } });
  const tools = ptcTools(ptc);
  const first = await generateText({
    model: scripted([{ code: WIPE }, { text: "Asked." }]),
    tools,
    stopWhen,
    prompt,
  });
  const { run } = first.steps[0]?.toolResults[0]?.output ?? {};
  await ptc.answer(run.waiting.ticket, { allow: true });
  const second = scripted([{ code: `ticket ${run.waiting.ticket}` }, { text: "Gone." }]);
  const { steps } = await generateText({ model: second, tools, stopWhen, prompt });
  expect(steps[0]?.toolResults[0]?.output).toMatchObject({ run: { ok: true, value: "gone" } });
});

test("a failed program is an error to the model", async () => {
  const ptc = await openPtc();
  const model = scripted([{ code: "throw new Error('no')" }, { text: "It failed." }]);
  await generateText({ model, tools: ptcTools(ptc), stopWhen, prompt });
  const output = JSON.stringify(model.doGenerateCalls[1]?.prompt);
  expect(output).toContain('"error-text"');
  expect(output).toContain("[Script execution failed]");
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
  const model = scripted([{ code: "await mcp__functions__slow({})" }]);
  const tools = ptcTools(ptc);
  await generateText({ model, tools, stopWhen, prompt, abortSignal: cancel.signal }).catch(() => {});
  await stopped.promise;
});

describe("the SDK's own approval", () => {
  /** Asks a model to pay, up to where the SDK asks its user, and lets that answer. */
  async function payAsking(
    approved: boolean,
    before: (ptc: Ptc, ticket: string) => Promise<void> = async () => {},
  ) {
    const { tools: functions, paid } = paying();
    const ptc = await openPtc({ tools: functions });
    const model = scripted([
      { code: PAY },
      { code: (told) => `ticket ${ticketIn(told)}` },
      { text: "Done." },
    ]);
    const options = { model, tools: ptcTools(ptc), toolApproval: ptcApproval(ptc), stopWhen };
    const messages: ModelMessage[] = [{ role: "user", content: prompt }];
    const first = await generateText({ ...options, messages });
    const [request] = first.content.flatMap((part) => (part.type === "tool-approval-request" ? [part] : []));
    const { approvalId = "", reason } = request ?? {};
    const soFar = [...paid];
    await before(ptc, (await ptc.approvals())[0]?.ticket ?? "");
    const answer = { type: "tool-approval-response" as const, approvalId, approved };
    messages.push(...first.responseMessages, { role: "tool", content: [answer] });
    const { text, responseMessages } = await generateText({ ...options, messages });
    return { ptc, model, text, reason, soFar, paid, told: JSON.stringify(responseMessages) };
  }

  test("is asked about the call with its arguments, and a yes has just that program go on", async () => {
    const { text, reason, soFar, paid, told } = await payAsking(true);
    expect(reason).toContain('mcp__functions__pay with\n{\n  "order": 7\n}');
    expect({ soFar, paid, text }).toEqual({ soFar: ["read"], paid: ["read", "pay 7"], text: "Done." });
    expect(told).toContain("paid 7");
  });

  test("streams the request, and a program with a second question asks again", async () => {
    const { tools: functions, paid } = paying();
    const ptc = await openPtc({ tools: functions });
    const code = "await mcp__functions__pay({ order: 1 }); await mcp__functions__pay({ order: 2 });";
    const goOn = { code: (told: string) => `ticket ${ticketIn(told)}` };
    const model = scripted([{ code }, goOn, goOn, { text: "Done." }]);
    const messages: ModelMessage[] = [{ role: "user", content: prompt }];
    const reasons: string[] = [];
    for (let asked = true; asked; ) {
      asked = false;
      const result = streamText({
        ...{ model, messages, stopWhen, tools: ptcTools(ptc), toolApproval: ptcApproval(ptc) },
      });
      for await (const part of result.fullStream) {
        if (part.type !== "tool-approval-request") continue;
        asked = true;
        reasons.push(part.reason ?? "");
        const { approvalId } = part;
        messages.push(...(await result.responseMessages), {
          role: "tool",
          content: [{ type: "tool-approval-response", approvalId, approved: true }],
        });
      }
    }
    expect(paid).toEqual(["pay 1", "pay 2"]);
    expect(reasons.map((reason) => /"order": (\d)/.exec(reason)?.[1])).toEqual(["1", "2"]);
  });

  test("leaves the program waiting after a no, and the model is told that nothing was called", async () => {
    const { ptc, paid, told, model } = await payAsking(false);
    expect(paid).toEqual(["read"]);
    expect(told).not.toContain("paid");
    expect(JSON.stringify(model.doGenerateCalls.at(-1)?.prompt)).toContain("execution-denied");
    expect(await ptc.approvals()).toHaveLength(1);
  });

  test.for<[string, string | ((told: string) => string), RegExp]>([
    ["goes on", (told) => `ticket ${ticketIn(told)}`, /ApprovalDenied.*not on Fridays/],
    ["begins another program", "globalThis.result = 'other'", /other/],
  ])(
    "answers the question with a no when the model then %s, without asking again",
    async ([, code, told]) => {
      const { tools: functions, paid } = paying();
      const ptc = await openPtc({ tools: functions });
      const goOn = { code: (said: string) => `ticket ${ticketIn(said)}` };
      const model = scripted([{ code: PAY }, goOn, { code }, { text: "Done." }]);
      const options = { model, tools: ptcTools(ptc), toolApproval: ptcApproval(ptc), stopWhen };
      const messages: ModelMessage[] = [{ role: "user", content: prompt }];
      const { content, responseMessages } = await generateText({ ...options, messages });
      const answers = content.flatMap((part) =>
        part.type === "tool-approval-request"
          ? [
              {
                ...{ type: "tool-approval-response" as const, approvalId: part.approvalId },
                ...{ approved: false, reason: "not on Fridays" },
              },
            ]
          : [],
      );
      messages.push(...responseMessages, { role: "tool", content: answers });
      const then = await generateText({ ...options, messages });
      expect(then.text).toBe("Done.");
      expect(JSON.stringify(then.responseMessages)).toMatch(told);
      expect((await ptc.approvals()).filter(({ isAnswered }) => !isAnswered)).toEqual([]);
      expect(paid).toEqual(["read"]);
    },
  );

  test("has no effect once somebody else has denied the call", async () => {
    const { told, paid } = await payAsking(true, (ptc, ticket) => ptc.answer(ticket, { allow: false }));
    expect(told).toContain("ApprovalDenied");
    expect(paid).toEqual(["read"]);
  });

  test("has no effect once the question has expired", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { told, paid } = await payAsking(true, async () => {
      vi.setSystemTime(Date.now() + 2 * DAY_MS);
    });
    expect(told).toContain("is over");
    expect(paid).toEqual(["read"]);
  });

  test("does not count for another call than the one that was shown", async () => {
    const { tools: functions, paid } = paying();
    const ptc = await openPtc({ tools: functions });
    const tools = ptcTools(ptc);
    const model = scripted([{ code: PAY }, { code: (told) => `ticket ${ticketIn(told)}` }]);
    const messages: ModelMessage[] = [{ role: "user", content: prompt }];
    const toolApproval = { execute_program: { type: "user-approval", reason: "runs a program" } } as const;
    const yes = async () => {
      const { content, responseMessages } = await generateText({ model, tools, toolApproval, messages });
      const approvals = content.flatMap((part) =>
        part.type === "tool-approval-request"
          ? [{ type: "tool-approval-response" as const, approvalId: part.approvalId, approved: true }]
          : [],
      );
      messages.push(...responseMessages, { role: "tool", content: approvals });
    };
    await yes();
    await yes();
    const cancel = AbortSignal.timeout(2_000);
    await generateText({ model, tools, toolApproval, messages, abortSignal: cancel }).catch(() => {});
    expect(paid).toEqual(["read"]);
  });
});
