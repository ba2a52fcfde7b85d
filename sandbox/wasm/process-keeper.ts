import { type ChildProcess, spawn } from "node:child_process";

/**
 * Reads `+ PID` and `- PID`, a line each. At the end of its input, which comes with the end of ptc however ptc ends, it kills the
 * processes that are left.
 */
const SCRIPT = `
live=" "
while read -r change pid; do
  case $change in
    +) live="$live$pid " ;;
    -) live="\${live% $pid *} \${live##* $pid }" ;;
  esac
done
for pid in $live; do kill -9 "$pid"; done
`;

/**
 * Ends processes with ptc, even if ptc is killed and they are busy. On Windows, Node.js puts the children of a process into a job that
 * ends with it, so nothing is needed there.
 */
export class ProcessKeeper {
  #shell: ChildProcess | undefined;

  /** From now until it ends, a process ends with this one. */
  watch(child: ChildProcess): void {
    if (process.platform === "win32" || child.pid === undefined) return;
    const { pid } = child;
    this.#tell(`+ ${pid}`);
    child.once("exit", () => this.#tell(`- ${pid}`));
  }

  /** Ends the processes that are left. */
  close(): void {
    this.#shell?.stdin?.end();
    this.#shell = undefined;
  }

  #tell(line: string): void {
    if (this.#shell === undefined) {
      const shell = spawn("/bin/sh", ["-c", SCRIPT], {
        env: {},
        stdio: ["pipe", "ignore", "ignore"],
        // A signal from the terminal must not end it before it has done its work.
        detached: true,
      });
      shell.on("error", () => {});
      shell.stdin?.on("error", () => {});
      shell.unref();
      this.#shell = shell;
    }
    this.#shell.stdin?.write(`${line}\n`);
  }
}
