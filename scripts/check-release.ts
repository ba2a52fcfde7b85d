/** Reports anything that prevents a release of the sources, and exits 1 if there is something. */
import { releaseProblems } from "./release-problems.ts";

for (const problem of releaseProblems()) {
  console.error(`release: ${problem}`);
  process.exitCode = 1;
}
