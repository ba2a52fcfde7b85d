import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { openState } from "../../system/state-directory.ts";
import { sandboxOptions, USUAL_SANDBOX } from "./sandboxes.ts";

/** Whether programs can run in gVisor here when no configuration says otherwise. Asks the engine that there is. Never rejects. */
export async function hasGvisor(env: EnvironmentVariables): Promise<boolean> {
  const own = openState(env);
  try {
    const { engine, runtime } = sandboxOptions(USUAL_SANDBOX, own);
    const known = (await engine.describe()).runtimes.get(runtime);
    return known !== undefined && known.problem === undefined;
  } catch {
    return false;
  } finally {
    own.state.remove();
  }
}
