import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import { parseIdentity } from "../../system/process-identity.ts";
import { openTestedEngine, TESTED_ENGINE } from "./tested-engine.ts";

/** An engine that only looks, and removes what a test has left. */
export const lookingEngine = openTestedEngine(join(tmpdir(), "ptc-looks"));

/** Ids of the sandboxes of a ptc process, running or not. */
export async function containersOf(pid: number): Promise<string[]> {
  const sandboxes = await lookingEngine.list();
  return sandboxes.filter(({ owner }) => parseIdentity(owner)?.pid === pid).map(({ id }) => id);
}

/** Kills a sandbox as somebody would who is not ptc. */
export async function killFromOutside(id: string): Promise<void> {
  if (TESTED_ENGINE === "docker") await new DockerEngine().docker.getContainer(id).kill();
  else for (const pid of kernelsOf(id)) process.kill(pid, "SIGKILL");
}

/** Pids of gVisor's kernels for a sandbox. */
export function kernelsOf(id: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [command = "", ...args] = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return command === "runsc-sandbox" && args.includes(id) ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}
