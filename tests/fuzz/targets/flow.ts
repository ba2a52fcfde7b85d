import assert from "node:assert/strict";
import { makeLaundering } from "../../broker/flow/laundering/laundry.ts";
import { sentBy } from "../../broker/flow/laundering/sent-by.ts";
import { missingFor } from "../../runner-image/runner-process.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { Random } from "../random.ts";

/** Each of the programs in Python is run by processes of its own, so that there are fewer of them. */
const PYTHON_SHARE = missingFor("python") === "" ? 0.03 : 0;

/** Programs that carry a value which a stranger chose to an argument that does not accept it: none arrives. */
export const target = fuzzTarget({
  name: "flow",
  iterations: 60,
  samples: 20,
  generate: (random) => random.bytes(8),
  async check(input) {
    const random = new Random(input);
    const laundering = makeLaundering(random, random.chance(PYTHON_SHARE) ? "python" : "javascript");
    const sent = await sentBy(laundering);
    assert(!sent.includes(laundering.value), `${laundering.name}: ${laundering.programs.join("\n---\n")}`);
  },
});
