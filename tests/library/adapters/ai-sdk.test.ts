import { generateText, isStepCount, streamText, type TextStreamPart, type ToolSet } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { expect, test } from "vitest";
import { ptcTools } from "../../../library/adapters/ai-sdk.ts";
import { tool } from "../../../library/ptc.ts";
import { openPtc, useNoWalls } from "../open.ts";

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

type Turn = { code: string } | { text: string };

/** A model that says these turns, in order. */
function scripted(turns: readonly Turn[]): MockLanguageModelV4 {
  let turn = 0;
  const next = () => {
    const said = turns[turn++] ?? { text: "" };
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
            input: JSON.stringify({ code: said.code }),
          },
          finishReason: { unified: "tool-calls", raw: "tool_calls" },
        } as const);
  };
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const { content, finishReason } = next();
      return { content: [content], finishReason, usage: USAGE, warnings: [] };
    },
    doStream: async () => {
      const { content, finishReason } = next();
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
