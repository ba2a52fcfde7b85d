import { describe, test } from "vitest";
import { tries } from "../tries.ts";
import { loadTargets } from "./targets-here.ts";

const SEED = 1;

/** A second or two of each on a machine with nothing else to do; `npm run fuzz` goes on for hours. */
const ITERATIONS: Readonly<Record<string, number>> = {
  archive: 20,
  callbacks: 100,
  claims: 1_000,
  "client-messages": 330,
  configuration: 130,
  console: 270,
  definitions: 100,
  frames: 1_000,
  "http-server": 30,
  "imported-servers": 330,
  json: 1_330,
  names: 270,
  redaction: 230,
  runs: 50,
  series: 670,
  "server-lines": 50,
  session: 100,
  "terminal-text": 830,
  "tool-results": 500,
};
const ITERATIONS_OF_OTHERS = 160;
/** Counted in inputs and not in time: a busy machine takes longer and fails nothing. */
const TIMEOUT_MS = 900_000;

describe("nothing that comes from outside breaks the parser of", async () => {
  for (const target of await loadTargets()) {
    test(target.name, { timeout: TIMEOUT_MS }, () =>
      target.run(SEED, tries(ITERATIONS[target.name] ?? ITERATIONS_OF_OTHERS)),
    );
  }
});
