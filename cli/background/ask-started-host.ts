import { setTimeout as delay } from "node:timers/promises";
import { type Asked, askHost } from "./ask-host.ts";
import type { CallersProcess } from "./callers-process.ts";
import { startHost } from "./start-host.ts";

const LOOK_EVERY_MS = 100;
const START_PATIENCE_MS = 30_000;

/**
 * Has the background host of this project run the command of this process, for a command that only a host can run: one is
 * started where there is none, and waited for.
 *
 * @param config the value of `--config`.
 */
export async function askStartedHost(caller: CallersProcess, config: string | undefined): Promise<Asked> {
  const deadline = performance.now() + START_PATIENCE_MS;
  let asked: Asked = await askHost(caller);
  let isToStart = true;
  while (
    asked.kind === "alone" &&
    asked.mayStart &&
    asked.lostRun === undefined &&
    asked.stdin === undefined
  ) {
    if (performance.now() > deadline)
      return { ...asked, why: asked.why ?? "the background host did not start" };
    // One that was refused has another configuration, and gives way.
    if (isToStart || asked.why !== undefined) startHost(caller, config);
    isToStart = false;
    await delay(LOOK_EVERY_MS);
    asked = await askHost(caller);
  }
  return asked;
}
