import childProcess, { type ChildProcess, type SpawnOptions } from "node:child_process";

/**
 * Bounds the bundler's process. A program that nests too deep or grows without end can crash that process, and what it then
 * prints must not reach a terminal.
 */

/** The address space of the process. A large program needs a tenth of it. */
const MAX_MEMORY_KIB = 2 * 1024 * 1024;

/** The most bytes of one answer. A larger one would fit neither into one string nor into a frame for a sandbox. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** A shell command that starts the bundler, `$0`, under the limit, or without it where the limit cannot be set. */
const CONTAINED = `ulimit -v ${MAX_MEMORY_KIB} 2>/dev/null; exec "$0" "$@" 2>/dev/null`;

/** Counts the bytes of the answer that the process is sending. */
export class AnswerMeter {
  #bytes = 0;

  /** Kills the process when one answer grows too large. */
  watch(child: ChildProcess): void {
    child.stdout?.prependListener("data", (chunk: Buffer) => {
      this.#bytes += chunk.length;
      if (this.#bytes > MAX_ANSWER_BYTES) child.kill("SIGKILL");
    });
  }

  reset(): void {
    this.#bytes = 0;
  }
}

/**
 * Calls `start` and contains the processes that it spawns. esbuild starts its process in the first call that needs it, with
 * the stderr of this process, and has no option to change that.
 */
export function startContained<T>(start: () => T, meter: AnswerMeter): T {
  const { spawn } = childProcess;
  const contained = (command: string, args: readonly string[], options: SpawnOptions) => {
    const child = spawn("/bin/sh", ["-c", CONTAINED, command, ...args], options);
    meter.watch(child);
    return child;
  };
  childProcess.spawn = contained as typeof spawn;
  try {
    return start();
  } finally {
    childProcess.spawn = spawn;
  }
}
