import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** The processes that have started a process, the nearest first, at most so many. Empty where the system does not say. */
export function ancestorsOf(pid: number, levels: number): number[] {
  const ancestors: number[] = [];
  for (let at = parentOf(pid); at > 1 && ancestors.length < levels; at = parentOf(at)) ancestors.push(at);
  return ancestors;
}

/** The process that has started another; 0 where nobody knows. */
function parentOf(pid: number): number {
  if (pid === process.pid) return process.ppid;
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The name of the program stands in parentheses, and may have any characters.
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) || 0;
    }
    const told = execFileSync("/bin/ps", ["-o", "ppid=", "-p", String(pid)], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 2_000,
    });
    return Number(told.trim()) || 0;
  } catch {
    return 0;
  }
}
