import fc from "fast-check";
import { expect, it, test } from "vitest";
import { type PlannedCall, planOf } from "../../../broker/approvals/plan.ts";
import { PlanInForce } from "../../../broker/approvals/plan-in-force.ts";
import type { ApprovalQuestion } from "../../../library/ptc.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import { useNoWalls, usePtcOfFile } from "../../library/open.ts";
import { anew } from "./anew.ts";
import { useNoHaste } from "./patient.ts";
import { world } from "./suite/world.ts";

useNoWalls();
useNoHaste();

const { tools, begin } = anew({ make: world, first: [] });
const opened = usePtcOfFile({ tools, config: { approvals: { mode: "plan" }, sandbox: { warm: 0 } } });

/** Statements of generated programs. `real` is true in a run and false in its rehearsal: a created number tells. */
const SIMPLE = fc.oneof(
  fc.constantFrom("a", "b").map((to) => `await send({ to: "${to}", text: "x" });`),
  fc
    .constantFrom("s", "t")
    .map((title) => `last = (await create({ title: "${title}" })).number; real = last < 1000;`),
  fc.constantFrom("x", "y").map((text) => `await comment({ number: last, text: "${text}" });`),
  fc.constant(`await log({ text: "note" });`),
  fc.constant(`for (const to of (await people({})).people) await send({ to, text: "loop" });`),
  fc.constant(`await request_code({ to: "ann" });`),
  fc.constant(
    `{ const { mails } = await search({ query: "code" }); await enter({ code: /\\d{6}/.exec(mails[0].text)[0] }); }`,
  ),
  fc.constant(`{ const { value } = await unstable({}); await send({ to: "a", text: value }); }`),
  fc
    .constantFrom("good", "bad")
    .map(
      (title) => `if ((await create({ title: "${title}" })).ok) await send({ to: "a", text: "went well" });`,
    ),
  fc.constant(`try { await flaky({ text: "f" }); } catch { await flaky({ text: "f" }); }`),
);
/** What a hostile program does otherwise once it is real. */
const STATEMENT = fc.oneof(
  { weight: 4, arbitrary: SIMPLE },
  { weight: 1, arbitrary: fc.constant(`if (real) await send({ to: "eve", text: "real" });`) },
  { weight: 1, arbitrary: fc.constant(`await send({ to: real ? "eve" : "ann", text: "x" });`) },
  { weight: 1, arbitrary: fc.constant(`await comment({ number: real ? 7 : last, text: "x" });`) },
  { weight: 1, arbitrary: SIMPLE.map((inner) => `try { ${inner} } catch {}`) },
);

/** What the server in memory answers in the real run, in the place of what the plan leaves open. */
function filledIn(planned: string, all: readonly string[]): string {
  const before = (count: number, tool: string) =>
    all.slice(0, count).filter((each) => each.startsWith(`${tool} `)).length;
  const codeAfter = (requests: number) => (requests === 0 ? "104466" : `${582_802 + 111 * requests}`);
  return planned
    .replaceAll(
      /"<number of what call (\d+) answers>"/g,
      (_, call) => `${41 + before(Number(call), "create")}`,
    )
    .replaceAll(/<from search after call (\d+), mails\[0\]\.text, six digits>/g, (_, call) =>
      codeAfter(before(Number(call), "request_code")),
    );
}

/** Whether a made call is a planned one. A text in angle brackets that is left stands for what comes. */
function isPlanned(planned: string, made: string): boolean {
  const pattern = planned.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/"?<[^<>]*>"?/g, ".+?");
  return new RegExp(`^${pattern}$`).test(made);
}

test("what happens after an approval is exactly the plan, or ends before the difference", async () => {
  let whole = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(STATEMENT, { minLength: 2, maxLength: 4 }), async (statements) => {
      const made = begin();
      const questions: ApprovalQuestion[] = [];
      const program = `let last = (await create({ title: "first" })).number; let real = last < 1000;\n${statements.join("\n")}`;
      const code = program.replaceAll(
        new RegExp(`(?<![\\w.])(${Object.keys(tools).join("|")})\\(`, "g"),
        "mcp__functions__$1(",
      );
      const run = await opened().run(code, {
        typecheck: "off",
        approve: (question) => {
          questions.push(question);
          return questions.length === 1 ? { allow: true, for: "plan" } : { allow: false, for: "plan" };
        },
      });
      // Calls that need no approval are made as without a plan.
      const isAsked = (name: string) => !name.endsWith("log");
      const calls = questions[0]?.plan?.calls ?? [];
      const told = calls.map((call) =>
        `${call.tool} ${JSON.stringify(call.arguments)}`.replaceAll("mcp__functions__", ""),
      );
      const planned = told.flatMap((each, index) =>
        calls[index]?.isApprovable === true
          ? [{ call: filledIn(each, told), isAgain: calls[index].notes.includes("again once if it fails") }]
          : [],
      );
      const changes = made
        .filter(({ tool }) => isAsked(tool))
        .map(({ tool, arguments: args }) => `${tool} ${JSON.stringify(args)}`);
      let next = 0;
      let again: string | undefined;
      for (const change of changes) {
        const isRepeated = again !== undefined && isPlanned(again, change);
        again = undefined;
        if (isRepeated) continue;
        const { call = "nothing", isAgain = false } = planned[next++] ?? {};
        expect(isPlanned(call, change), `${change} is not ${call}`).toBe(true);
        if (isAgain) again = call;
      }
      if (questions.length > 1 || !run.ok || questions[0]?.plan?.more !== undefined) return;
      expect(next).toBe(planned.length);
      whole++;
    }),
    // One is whole in any case; of those by chance it is one of five.
    {
      numRuns: 15,
      examples: [[[`await send({ to: "a", text: "x" });`, `await request_code({ to: "ann" });`]]],
    },
  );
  expect(whole).toBeGreaterThan(0);
});

const CALL = fc.record({
  tool: fc.constantFrom("a", "b"),
  arguments: fc.record({ x: fc.constantFrom(1, 2) }),
});
const PLANNED = fc.record({ call: CALL, again: fc.constantFrom(undefined, 1) });
const MADE = fc.record({ call: CALL, fails: fc.boolean() });

it("lets no sequence of calls through that is not in the plan, each call once, and once again where the plan has it so and it has failed", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(PLANNED, { minLength: 1, maxLength: 6 }),
      fc.array(MADE, { maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 6 })),
      async (planned, calls, approved) => {
        const plan = planOf(
          planned.map(
            ({ call, again }, index): PlannedCall => ({
              ...{ ...call, server: "s", definitionDigest: "d", open: [], undecided: [], asks: true },
              ...{ argumentsDigest: digestOf(call.arguments), after: index, again },
            }),
          ),
        );
        const force = new PlanInForce({ plan, approved, used: [], ended: [], by: "ann" });
        const through: string[] = [];
        const failed = new Set<number>();
        for (const { call, fails } of calls) {
          const matched = await force.match({ ...call, definitionDigest: "d", asks: true });
          if (matched.kind === "unplanned") continue;
          const { number } = matched;
          force.end(number, fails ? "failed" : { answer: {} });
          if (matched.kind !== "approved") continue;
          const text = `${number} ${JSON.stringify(call)}`;
          if (through.includes(text)) {
            expect(planned[number - 1]?.again).toBe(1);
            expect(failed.delete(number)).toBe(true);
          } else {
            through.push(text);
            if (fails) failed.add(number);
          }
        }
        const allowed = planned.flatMap(({ call }, index) =>
          approved.includes(index + 1) ? [`${index + 1} ${JSON.stringify(call)}`] : [],
        );
        expect(through).toEqual(allowed.slice(0, through.length));
      },
    ),
    { numRuns: 500 },
  );
});
