/** Reports anything that prevents a release of the sources, and exits 1 if there is something. `--tag` is the tag that it is made of. */
import { parseArgs } from "node:util";
import { releaseProblems } from "./release-problems.ts";

const { values } = parseArgs({ options: { tag: { type: "string" } } });
for (const problem of releaseProblems(values.tag)) {
  console.error(`release: ${problem}`);
  process.exitCode = 1;
}
