import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** The ancestors of a process, nearest first, at most `levels` of them. Empty if the system does not tell. */
export function ancestorsOf(pid: number, levels: number): number[] {
  const ancestors: number[] = [];
  for (let at = parentOf(pid); at > 1 && ancestors.length < levels; at = parentOf(at)) ancestors.push(at);
  return ancestors;
}

/** The parent of a process, or 0 if it is unknown. */
function parentOf(pid: number): number {
  if (pid === process.pid) return process.ppid;
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The name of the program is in parentheses, and may contain any characters.
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) || 0;
    }
    const output = execFileSync("/bin/ps", ["-o", "ppid=", "-p", String(pid)], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      timeout: 2_000,
    });
    return Number(output.trim()) || 0;
  } catch {
    return 0;
  }
}
