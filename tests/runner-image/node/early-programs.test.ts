import { beforeAll, expect, test } from "vitest";
import { runInProcess } from "../runner-process.ts";

const PROGRAM = `
  const drawn = Math.random();
  const began = Date.now() > 0;
  const said = await Promise.all([1, 2, 3].map((n) => callTool("mcp__demo__double", { n })));
  await new Promise((resolve) => setTimeout(resolve, 1));
  console.log("said", said.length);
  globalThis.result = { drawn, began, said, stack: new Error("here").stack };`;

const double = async (call: { arguments: unknown }) => 2 * (call.arguments as { n: number }).n;

const run = (afterHelloMs: number) => runInProcess("javascript", PROGRAM, { answer: double, afterHelloMs });

let late: Awaited<ReturnType<typeof run>>;
beforeAll(async () => {
  late = await run(1_000);
});

// The runner rehearses for some tens of milliseconds after its hello.
test.for([0, 8, 12, 16, 24, 40, 80, 160])(
  "a program that comes %i ms after hello comes to what one does that comes late",
  async (afterHelloMs) => {
    const early = await run(afterHelloMs);
    expect(late.claim).toMatchObject({ ok: true, data: { said: [2, 4, 6], began: true } });
    expect(early.claim).toStrictEqual(late.claim);
    expect(early.trace).toMatchObject({ complete: true, events: late.trace?.events });
  },
);
