import { messageOf } from "../../base/faults.ts";
import type { LearnedTypes } from "../../catalog/learned/learned-types.ts";
import type { StoredCatalog } from "../../catalog/store/stored-catalog.ts";
import type { Configuration } from "../../configuration/configuration.ts";

/** How long `ptc generate` reads the archive. What is left of it is read the next time. */
const BUDGET_MS = 5_000;

/**
 * What the modules of a folder are to be printed with: what this machine's archive shows of results. It is no reason not to
 * generate when that cannot be had; then `onWarning` is told why. `undefined` where nothing is to be learned.
 */
export function learnForGeneration(
  configuration: Configuration,
  onWarning: (message: string) => void,
): ((stored: StoredCatalog | undefined) => Promise<LearnedTypes | undefined>) | undefined {
  if (!configuration.learn) return undefined;
  return async (stored) => {
    try {
      const { learningTask, learnTypes } = await import("./learn-types.ts");
      return await learnTypes(learningTask(configuration, stored, BUDGET_MS));
    } catch (error) {
      onWarning(`the types of results could not be learned: ${messageOf(error)}`);
      return undefined;
    }
  };
}
