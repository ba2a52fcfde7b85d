import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEngine } from "./container-engine.ts";
import { isAlive, type ProcessIdentity, parseIdentity, startTimeOf } from "./process-identity.ts";
import { GROUPS_FOLDER, parseGroupName } from "./state-directory.ts";

/** Label on every container: which ptc process owns it. */
export const OWNER_LABEL = "dev.ptc.owner";

/**
 * Clears up after ptc processes that are dead: their containers, their servers' process groups, their folders. Leaves
 * alone what belongs to a live process, to another machine or to another pid namespace.
 */
export async function sweepLeftovers(options: {
  engine: ContainerEngine;
  base: string;
  self: ProcessIdentity;
}): Promise<void> {
  const isDead = (text: string) => {
    const owner = parseIdentity(text);
    return owner !== undefined && owner.host === options.self.host && !isAlive(owner);
  };
  for (const name of listFolder(options.base).filter(isDead)) {
    const folder = join(options.base, name);
    for (const group of listFolder(join(folder, GROUPS_FOLDER))) killGroup(group);
    rmSync(folder, { recursive: true, force: true });
  }
  const containers = await options.engine.listLabelled(OWNER_LABEL);
  await Promise.all(
    containers
      .filter((container) => isDead(container.labels[OWNER_LABEL] ?? ""))
      .map((container) => options.engine.remove(container.id)),
  );
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function killGroup(name: string): void {
  const group = parseGroupName(name);
  if (group === undefined) return;
  const [pid, startTime] = group;
  if (pid <= 1 || startTimeOf(pid) !== startTime) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Gone in the meantime.
  }
}
