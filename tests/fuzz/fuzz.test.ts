import { describe, test } from "vitest";
import { loadTargets } from "./targets-here.ts";

const SEED = 1;

/** A few seconds of each on a machine with nothing else to do; `npm run fuzz` goes on for hours. */
const ITERATIONS: Readonly<Record<string, number>> = {
  archive: 60,
  claims: 3_000,
  "client-messages": 1_000,
  configuration: 400,
  console: 800,
  definitions: 300,
  frames: 3_000,
  "http-server": 100,
  "imported-servers": 1_000,
  json: 4_000,
  names: 800,
  redaction: 700,
  runs: 150,
  series: 2_000,
  "server-lines": 150,
  session: 300,
  "terminal-text": 2_500,
  "tool-results": 1_500,
};
const ITERATIONS_OF_OTHERS = 500;
/** Counted in inputs and not in time: a busy machine takes longer and fails nothing. */
const TIMEOUT_MS = 900_000;

describe("nothing that comes from outside breaks the parser of", async () => {
  for (const target of await loadTargets()) {
    test(target.name, { timeout: TIMEOUT_MS }, () =>
      target.run(SEED, ITERATIONS[target.name] ?? ITERATIONS_OF_OTHERS),
    );
  }
});
