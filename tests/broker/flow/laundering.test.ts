import { describe, expect, it } from "vitest";
import { Random } from "../../fuzz/random.ts";
import { tries } from "../../tries.ts";
import { CARRIERS, PYTHON_PREAMBLE, STEPS } from "./laundering/carriers.ts";
import { CONTROLS, makeLaundering, sentBy } from "./laundering/laundry.ts";

describe("a program that carries a value which a stranger chose", () => {
  it("comes to that value by each carrier and step, where nothing keeps it", async () => {
    const value = "stranger+506c@evil.example";
    for (const carry of Object.values(CARRIERS))
      for (const { encode, js } of Object.values(STEPS)) {
        const { data, js: take } = carry(new Random(1), encode(value));
        expect(new Function("found", `return ${js(take)}`)(data)).toBe(value);
      }
  });

  it("does not get it to an argument that does not accept it", async () => {
    const passed: string[] = [];
    for (let seed = 0; seed < tries(150); seed++) {
      const laundering = makeLaundering(new Random("laundering", seed));
      if ((await sentBy(laundering)).includes(laundering.value)) passed.push(laundering.name);
    }
    expect(passed).toEqual([]);
  }, 120_000);

  it.each(CONTROLS.map((each) => [each.name, each] as const))(
    "differs from one that sends %s",
    async (_, control) => {
      expect(await sentBy(control)).toHaveLength(1);
    },
  );
});
