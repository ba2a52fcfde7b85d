import { describe, expect, it } from "vitest";
import { Random } from "../../fuzz/random.ts";
import { missingFor, runInProcess } from "../../runner-image/runner-process.ts";
import { tries } from "../../tries.ts";
import { CARRIERS, PYTHON_PREAMBLE, STEPS } from "./laundering/carriers.ts";
import { CONTROLS, makeLaundering } from "./laundering/laundry.ts";
import { type ProgramLanguage, sentBy } from "./laundering/sent-by.ts";

const VALUE = "stranger+506c@evil.example";

async function passing(language: ProgramLanguage, count: number): Promise<string[]> {
  const passed: string[] = [];
  for (let seed = 0; seed < count; seed++) {
    const laundering = makeLaundering(new Random("laundering", seed), language);
    if ((await sentBy(laundering)).includes(laundering.value)) passed.push(laundering.name);
  }
  return passed;
}

describe("a program that carries a value which a stranger chose", () => {
  it("comes to that value by each carrier and step, where nothing keeps it", () => {
    for (const carry of Object.values(CARRIERS))
      for (const { encode, js } of Object.values(STEPS)) {
        const { data, js: take } = carry(new Random(1), encode(VALUE));
        expect(new Function("found", `return ${js(take)}`)(data)).toBe(VALUE);
      }
  });

  it.skipIf(missingFor("python") !== "")(
    "comes to that value in Python, too, by each carrier and step",
    async () => {
      const carried = Object.values(CARRIERS).flatMap((carry) =>
        Object.values(STEPS).map(({ encode, py }) => {
          const { data, py: take } = carry(new Random(1), encode(VALUE));
          return { data, take: py(take) };
        }),
      );
      const programs = carried.map(
        ({ take }, at) => `found = given[${at}]\nassert ${take} == ${JSON.stringify(VALUE)}, ${at}`,
      );
      const code = [PYTHON_PREAMBLE, 'given = call_tool("mcp__mail__read", {})', ...programs, "result = 1"];
      const { claim } = await runInProcess("python", code.join("\n"), {
        answer: async () => carried.map(({ data }) => data),
      });
      expect(claim).toMatchObject({ ok: true, data: 1 });
    },
  );

  it("does not get it to an argument that does not accept it", async () => {
    expect(await passing("javascript", tries(150))).toEqual([]);
  }, 120_000);

  it.skipIf(missingFor("python") !== "")(
    "does not get it there as a program in Python",
    async () => {
      expect(await passing("python", tries(3))).toEqual([]);
    },
    120_000,
  );

  it.each(CONTROLS.filter(({ language }) => missingFor(language) === "").map((each) => [each.name, each]))(
    "differs from one that sends %s",
    async (_, control) => {
      expect(await sentBy(control as (typeof CONTROLS)[number])).toHaveLength(1);
    },
  );
});
