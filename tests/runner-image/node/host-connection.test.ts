import { expect, it } from "vitest";
import { runInProcess } from "../runner-process.ts";

it("carries more than a socket takes at once, both ways and beside small messages, and what is sent together", async () => {
  const code = `
    const echo = (text) => callTool("mcp__demo__echo", { text });
    const large = [3_000_000, 1, 70_000, 0].map((length) => "\\u00e9".repeat(length));
    const small = Array.from({ length: 50 }, (_, i) => String(i));
    const texts = [...large, ...small];
    const echoed = await Promise.all(texts.map(echo));
    globalThis.result = echoed.flatMap((text, i) => (text === texts[i] + "!" ? [] : [i]));`;
  const answer = async (call: { arguments: unknown }) => `${(call.arguments as { text: string }).text}!`;
  const { claim } = await runInProcess("javascript", code, { answer });
  expect(claim).toMatchObject({ ok: true, data: [] });
});

it("gives a program each answer in a turn of its own, those too that come together", async () => {
  const code = `
    const seen = [];
    const follow = async (i) => {
      await callTool("mcp__demo__wait", { i });
      seen.push(i);
      for (let step = 0; step < 20; step++) await null;
      seen.push(i);
    };
    await Promise.all([follow(0), follow(1), follow(2)]);
    globalThis.result = seen.every((i, at) => at % 2 === 0 || i === seen[at - 1]);`;
  const waiting: ((data: null) => void)[] = [];
  const answer = () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 3) for (const each of waiting.splice(0)) each(null);
    });
  const { claim } = await runInProcess("javascript", code, { answer });
  expect(claim).toMatchObject({ ok: true, data: true });
});
