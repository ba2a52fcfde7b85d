import { signalGroup, spawnGroup } from "../system/process-group.ts";

const MAX_STDERR_BYTES = 16 * 1024;

export interface Command {
  program: string;
  args: readonly string[];
  /** All variables that it sees. */
  env: Readonly<Record<string, string>>;
  /** Absolute. */
  cwd: string;
  /** Its input on stdin. */
  stdin: string;
}

export interface CommandLimits {
  timeoutMs: number;
  /** How long to read on after it has ended: a process that left its group may hold the pipe open. */
  restMs: number;
  /** The maximum number of bytes that it may print to stdout. */
  maxBytes: number;
  /** Ends it. */
  signal: AbortSignal;
  /** Which 16 KiB of its stderr are kept. */
  stderr: "beginning" | "end";
}

/** Receives the process group of a command, so that a later ptc can end it if this one is killed. */
export interface GroupObserver {
  onSpawn?: ((pid: number) => void) | undefined;
  onExit?: ((pid: number) => void) | undefined;
}

/** How a command ended. */
export type CommandEnd =
  | { kind: "exited"; code: number | null; signal: NodeJS.Signals | null; stdout: Buffer; stderr: string }
  | { kind: "late" | "aborted" | "too_much" }
  /** It was never started. */
  | { kind: "not_started"; error: NodeJS.ErrnoException };

/**
 * Runs a command to its end, without a shell, in its own process group. Whatever ends the command ends the whole group: the time
 * limit, the size limit, the signal, and its own exit. Never rejects.
 */
export function runCommand(
  { program, args, env, cwd, stdin }: Command,
  { timeoutMs, restMs, maxBytes, signal, stderr: kept }: CommandLimits,
  { onSpawn, onExit }: GroupObserver = {},
): Promise<CommandEnd> {
  if (signal.aborted) return Promise.resolve({ kind: "aborted" });
  return new Promise((resolve) => {
    let child: ReturnType<typeof spawnGroup>;
    try {
      child = spawnGroup(program, args, { cwd, env: { ...env } });
    } catch (error) {
      resolve({ kind: "not_started", error: error as NodeJS.ErrnoException });
      return;
    }
    const { pid } = child;
    if (pid !== undefined) onSpawn?.(pid);
    const stdout: Buffer[] = [];
    let bytes = 0;
    let stderr = Buffer.alloc(0);
    let stopped: "late" | "aborted" | "too_much" | undefined;
    const stop = (why: typeof stopped) => {
      stopped ??= why;
      if (pid !== undefined) signalGroup(pid, "SIGKILL");
    };
    const timer = setTimeout(() => stop("late"), timeoutMs);
    const abort = () => stop("aborted");
    signal.addEventListener("abort", abort, { once: true });
    let rest: NodeJS.Timeout | undefined;
    const settle = (end: CommandEnd) => {
      clearTimeout(timer);
      clearTimeout(rest);
      signal.removeEventListener("abort", abort);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(end);
    };
    // A command need not read its input.
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
    child.stdout.on("error", () => {});
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) stdout.push(chunk);
      else stop("too_much");
    });
    child.stderr.on("error", () => {});
    child.stderr.on("data", (chunk: Buffer) => {
      const all = Buffer.concat([stderr, chunk]);
      stderr = kept === "end" ? all.subarray(-MAX_STDERR_BYTES) : all.subarray(0, MAX_STDERR_BYTES);
    });
    child.once("error", (error: NodeJS.ErrnoException) => settle({ kind: "not_started", error }));
    const finish = (code: number | null, killedBy: NodeJS.Signals | null) => {
      const printed = { stdout: Buffer.concat(stdout), stderr: stderr.toString() };
      settle(stopped ? { kind: stopped } : { kind: "exited", code, signal: killedBy, ...printed });
    };
    child.once("close", finish);
    child.once("exit", (code, killedBy) => {
      if (pid !== undefined) onExit?.(pid);
      rest = setTimeout(() => finish(code, killedBy), restMs);
    });
  });
}
