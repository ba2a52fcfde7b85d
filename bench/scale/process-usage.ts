import { readdirSync, readFileSync } from "node:fs";

/** What a process and those below it use, by Linux's `/proc`. */
export interface Usage {
  memoryMb: number;
  cpuSeconds: number;
}

const TICKS_PER_SECOND = 100;
const KB_PER_MB = 1_024;

/** Resident memory and processor time of a process and all below it, and the time of those that have ended. */
export function usageOf(pid: number): Usage {
  const processes = listProcesses();
  const total = { memoryMb: 0, cpuSeconds: 0 };
  const add = (each: number) => {
    const found = processes.get(each);
    if (found === undefined) return;
    total.memoryMb += found.memoryMb;
    total.cpuSeconds += found.cpuSeconds;
    for (const [child, { parent }] of processes) if (parent === each) add(child);
  };
  add(pid);
  return total;
}

/** Processor time that everything on this machine has used, in seconds. */
export function machineCpuSeconds(): number {
  const [first = ""] = readFileSync("/proc/stat", "utf8").split("\n");
  const [user = 0, nice = 0, system = 0] = first.split(/\s+/).slice(1).map(Number);
  return (user + nice + system) / TICKS_PER_SECOND;
}

function listProcesses(): Map<number, Usage & { parent: number }> {
  const found = new Map<number, Usage & { parent: number }>();
  for (const name of readdirSync("/proc")) {
    if (!/^[0-9]+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const [, parent] = fields;
      const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
      const [, kb] = /VmRSS:\s+([0-9]+)/.exec(readFileSync(`/proc/${name}/status`, "utf8")) ?? [];
      found.set(Number(name), {
        parent: Number(parent),
        memoryMb: Number(kb ?? 0) / KB_PER_MB,
        cpuSeconds: ticks / TICKS_PER_SECOND,
      });
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}
