import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ContainerEngine } from "./container-engine.ts";
import { isAlive, type ProcessIdentity, parseIdentity, startTimeOf } from "./process-identity.ts";
import { GROUPS_FOLDER, parseGroupName } from "./state-directory.ts";

/** Label on every container: which ptc process owns it. */
export const OWNER_LABEL = "dev.ptc.owner";

/**
 * Clears up after ptc processes of this user that are dead: the process groups of their servers, and their folders.
 * Leaves alone what belongs to a live process or to another pid namespace.
 */
export function sweepProcesses(base: string, self: ProcessIdentity): void {
  for (const name of listFolder(base).filter((folder) => isDead(folder, self))) {
    const folder = join(base, name);
    killGroups(join(folder, GROUPS_FOLDER));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Ends at once every process that a state folder notes. */
export function killGroups(folder: string): void {
  for (const group of listFolder(folder)) killGroup(group);
}

/** Removes the containers of ptc processes that are dead. */
export async function sweepContainers(engine: ContainerEngine, self: ProcessIdentity): Promise<void> {
  const containers = await engine.listLabelled(OWNER_LABEL);
  const orphans = containers.filter(({ labels }) => isDead(labels[OWNER_LABEL] ?? "", self));
  await Promise.all(orphans.map(({ id }) => engine.remove(id)));
}

function isDead(identity: string, self: ProcessIdentity): boolean {
  const owner = parseIdentity(identity);
  return owner !== undefined && owner.host === self.host && !isAlive(owner);
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
  // Servers lead a group of their own; other processes that ptc starts are in its group.
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
      return;
    } catch {
      // There is no such group, or it is gone in the meantime.
    }
  }
}
