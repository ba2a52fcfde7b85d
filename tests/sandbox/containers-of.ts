import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseIdentity } from "../../system/process-identity.ts";
import { openTestedEngine } from "./tested-engine.ts";

/** An engine that only looks, and removes what a test has left. */
export const lookingEngine = openTestedEngine(join(tmpdir(), "ptc-looks"));

/** Ids of the sandboxes of a ptc process, running or not. */
export async function containersOf(pid: number): Promise<string[]> {
  const sandboxes = await lookingEngine.list();
  return sandboxes.filter(({ owner }) => parseIdentity(owner)?.pid === pid).map(({ id }) => id);
}
