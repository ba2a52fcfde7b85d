import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { SandboxError } from "../sandbox-error.ts";

/** Runs a program on the host and waits for its end. Its stdin is empty unless `input` is given. Throws `build_failed`. */
export async function runProcess(
  command: string,
  args: readonly string[],
  options: { cwd?: string; input?: Readable } = {},
): Promise<void> {
  const { output, ended } = streamProcess(command, args, options);
  output.resume();
  await ended;
}

/** Starts a program on the host whose stdout is read while it runs. `ended` rejects if the program fails. */
export function streamProcess(
  command: string,
  args: readonly string[],
  options: { cwd?: string; input?: Readable } = {},
): { output: Readable; ended: Promise<void> } {
  const child = spawn(command, args, {
    cwd: options.cwd,
    stdio: [options.input ? "pipe" : "ignore", "pipe", "pipe"],
    env: { ...process.env, LC_ALL: "C" },
  });
  if (child.stdin && options.input) options.input.pipe(child.stdin).on("error", () => {});
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new SandboxError("build_failed", `${command} has no output.`);
  let complaint = "";
  stderr.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-2_000);
  });
  return { output: stdout, ended: waitForEnd() };

  async function waitForEnd(): Promise<void> {
    let exitCode: unknown;
    try {
      [exitCode] = await once(child, "close");
    } catch (cause) {
      throw new SandboxError("build_failed", `${command} could not be started; is it installed?`, { cause });
    }
    if (exitCode === 0) return;
    const lastLines = complaint.trim().split("\n").slice(-2).join("; ");
    throw new SandboxError(
      "build_failed",
      `${command} ${args[0] ?? ""} failed (exit ${exitCode}): ${lastLines}`,
    );
  }
}

/**
 * Packs a directory into a tar stream. The same files give the same bytes: entries are sorted, owned by root, dated 1970 and readable
 * for everybody, whatever the umask, and setuid bits are removed. Needs GNU tar. `ended` rejects if it fails.
 */
export function packDirectory(directory: string): { tar: Readable; ended: Promise<void> } {
  const { output, ended } = streamProcess("tar", [
    "--create",
    "--format=gnu",
    "--sort=name",
    "--mtime=@0",
    "--owner=0",
    "--group=0",
    "--numeric-owner",
    "--mode=ug-s,a+rX",
    `--directory=${directory}`,
    ".",
  ]);
  return { tar: output, ended };
}
