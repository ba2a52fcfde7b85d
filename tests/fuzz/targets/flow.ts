import assert from "node:assert/strict";
import { makeLaundering, sentBy } from "../../broker/flow/laundering/laundry.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { Random } from "../random.ts";

/** Programs that carry a value which a stranger chose to an argument that does not accept it: none arrives. */
export const target = fuzzTarget({
  name: "flow",
  iterations: 60,
  samples: 20,
  generate: (random) => random.bytes(8),
  async check(input) {
    const laundering = makeLaundering(new Random(input));
    const sent = await sentBy(laundering);
    assert(!sent.includes(laundering.value), `${laundering.name}: ${laundering.programs.join("\n---\n")}`);
  },
});
