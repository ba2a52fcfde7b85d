/** How `runsc` is found and called, and how a sandbox is launched as a child of this process. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, readFileSync, type Stats, statSync } from "node:fs";
import { cpus, release } from "node:os";
import { delimiter, join } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { SandboxError } from "../sandbox-error.ts";

/** The path of a program, as a shell would find it; undefined where there is none. */
export function findProgram(name: string, path = process.env.PATH ?? ""): string | undefined {
  const folders = name.includes("/") ? [""] : path.split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

const VERSION_PATIENCE_MS = 5_000;

/** A runsc on this machine. Another one at the same path is another runsc. */
export interface Runsc {
  path: string;
  /** Changes with the file. */
  identity: string;
}

/** Finds runsc anew each time: it may be replaced while ptc runs. @throws SandboxError `runtime_missing` */
export function findRunsc(runtime: string, missing: string): Runsc {
  const path = findProgram(runtime);
  if (path === undefined)
    throw new SandboxError("runtime_missing", `there is no ${runtime} on this machine; ${missing}`);
  return { path, identity: `${path} ${fileIdentity(statSync(path))}` };
}

/** A text that changes when a file is written to or replaced. */
export function fileIdentity({ dev, ino, size, mtimeMs }: Stats): string {
  return `${dev}:${ino}:${size}:${mtimeMs}`;
}

/** The first line of `runsc --version`. @throws SandboxError `start_failed` where it cannot be run. */
export async function runscVersion({ path }: Runsc): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: VERSION_PATIENCE_MS });
    return stdout.split("\n")[0]?.replace(/^runsc version /, "") ?? "";
  } catch (cause) {
    throw new SandboxError("start_failed", `${path} cannot be run`, { cause });
  }
}

/** A digest of the kernel and the processor, whose features a snapshot of memory may rely on. */
export function machineIdentity(): string {
  const flags = (() => {
    try {
      return /^(?:flags|Features)\s*:\s*(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1] ?? "";
    } catch {
      return "";
    }
  })();
  const described = [process.arch, release(), cpus()[0]?.model ?? "", flags];
  return createHash("sha256").update(JSON.stringify(described)).digest("hex");
}

/** gVisor's platform. `PTC_RUNSC_PLATFORM` names another, as for the set-up script. */
const platform = () => process.env.PTC_RUNSC_PLATFORM || "ptrace";

/**
 * Flags of every call. `--directfs=false` has the kernel of a sandbox be nobody on this machine. The cgroup is made by ptc, not by
 * runsc.
 */
export function runscFlags(rootFolder: string): string[] {
  return [
    `--root=${rootFolder}`,
    `--platform=${platform()}`,
    "--network=none",
    "--host-uds=none",
    "--overlay2=none",
    "--directfs=false",
    "--ignore-cgroups",
  ];
}

/** Whether ptc runs as root. runsc restores nothing for anybody else. */
export const isRoot = process.getuid?.() === 0;

/** What an ordinary user puts before runsc: root of a namespace of their own, which maps no other user. */
const AS_ROOT_OF_OWN_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"];

/** The command line that calls runsc on behalf of this user. */
export function runscCommand(runsc: Runsc, args: readonly string[]): string[] {
  return isRoot ? [runsc.path, ...args] : [...AS_ROOT_OF_OWN_NAMESPACE, runsc.path, "--rootless", ...args];
}

/** The last that runsc itself says. */
const MAX_COMPLAINT_CHARS = 2_000;

/**
 * Enters the cgroups, has the channel, the control socket and the complaints as stdin, stdout and stderr, and becomes the command.
 * The arguments are the files to write to, `--`, and the command.
 */
const LAUNCHER = `while [ "$1" != -- ]; do echo 0 >"$1" || exit 126; shift; done
shift
exec "$@" <&3 >&4 2>&5 3<&- 4<&- 5<&-`;

/** A sandbox as a process of this machine: `runsc run` or `runsc restore` in the foreground. With it, the sandbox ends. */
export class LaunchedSandbox {
  readonly process: ChildProcess;
  /** What the guard gives to the runner as its channel. */
  readonly channel: Duplex;
  /** Frames between ptc and the guard. */
  readonly control: Duplex;
  #complaint = "";

  /** @param entrances files of cgroups (cgroups.ts). */
  constructor(command: readonly string[], entrances: readonly string[]) {
    this.process = spawn("/bin/sh", ["-c", LAUNCHER, "sh", ...entrances, "--", ...command], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe", "pipe"],
      // The interrupt key of a terminal is for ptc, which ends its sandboxes itself.
      detached: true,
      env: { PATH: process.env.PATH ?? "" },
    });
    // It is reported by `exited`.
    this.process.on("error", () => {});
    const [, , , channel, control, complaints] = this.process.stdio as unknown as Duplex[];
    if (channel === undefined || control === undefined || complaints === undefined)
      throw new SandboxError("start_failed", "no process can be started on this machine");
    this.channel = channel;
    this.control = control;
    // An error before anyone reads must not end the process. The reader learns of the end from `close`.
    for (const stream of [channel, control, complaints]) stream.on("error", () => {});
    complaints.on("data", (chunk: Buffer) => {
      this.#complaint = (this.#complaint + chunk.toString()).slice(-MAX_COMPLAINT_CHARS);
    });
    complaints.on("close", () => complaints.destroy());
  }

  /** What runsc or the guard has complained of, as one line. */
  get complaint(): string {
    return this.#complaint.replaceAll(/\s+/g, " ").trim();
  }

  /** Resolves with the exit code, which is null where a signal has ended the process. */
  ended(): Promise<number | null> {
    return new Promise((resolve) => {
      if (this.process.pid === undefined) this.process.once("error", () => resolve(null));
      else if (this.process.exitCode !== null || this.process.signalCode !== null)
        resolve(this.process.exitCode);
      else this.process.once("exit", (code) => resolve(code));
    });
  }

  /** Kills runsc and all that it has started. Does nothing when they have ended. */
  kill(): void {
    const { pid } = this.process;
    if (pid === undefined || this.process.exitCode !== null || this.process.signalCode !== null) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}
