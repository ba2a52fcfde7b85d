import type { SandboxEngine } from "./sandbox-engine.ts";

/**
 * Removes the sandboxes of dead ptc processes.
 *
 * @param isDead whether the owner of this name is dead; false when that is not known.
 * @throws SandboxError `engine_unreachable`
 */
export async function sweepSandboxes(
  engine: Pick<SandboxEngine, "list" | "remove">,
  isDead: (owner: string) => boolean,
): Promise<void> {
  const sandboxes = await engine.list();
  const orphans = sandboxes.filter(({ owner }) => isDead(owner));
  await Promise.all(orphans.map(({ id }) => engine.remove(id)));
}
