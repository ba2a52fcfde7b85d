/** Says what keeps the sources from being released, and exits 1 where something does. */
import { releaseProblems } from "./release-problems.ts";

for (const problem of releaseProblems()) {
  console.error(`release: ${problem}`);
  process.exitCode = 1;
}
