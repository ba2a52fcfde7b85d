/** Finds and calls `runsc`, and launches a sandbox as a child of this process. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import type { Socket } from "node:net";
import { cpus, release } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { promisify } from "node:util";
import { GUARD_STDIO_FILES } from "../../protocol/guard.ts";
import type { ServerStdio } from "../sandbox.ts";
import { SandboxError } from "../sandbox-error.ts";

/** The path of a program, found like a shell would; undefined if there is none. */
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

/** A runsc on this machine. Another file at the same path counts as another runsc. */
export interface Runsc {
  path: string;
  /** Changes with the file. */
  identity: string;
  /** The program that makes a namespace for it, where it must not be the first one in `PATH`. */
  unshare?: string;
}

/** Where a system has its programs, whatever `PATH` says. */
const SYSTEM_FOLDERS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/**
 * Finds runsc again each time, because it may be replaced while ptc runs.
 *
 * @param which as in `EngineOptions.runsc`.
 * @throws SandboxError `runtime_missing`, also for one that is to be trusted and that others than root could have written.
 */
export function findRunsc(which: string | undefined, missing: string): Runsc {
  const path =
    which === undefined
      ? findProgram("runsc")
      : which === "system"
        ? findSystemProgram("runsc")
        : isExecutable(which)
          ? which
          : undefined;
  if (path === undefined) {
    const where =
      which === undefined
        ? "on this machine"
        : which === "system"
          ? `in ${SYSTEM_FOLDERS.join(", ")}`
          : `at ${which}`;
    throw new SandboxError("runtime_missing", `there is no runsc ${where}; ${missing}`);
  }
  if (which === undefined) return { path, identity: `${path} ${fileIdentity(statSync(path))}` };
  const real = realpathSync(path);
  const open = whoseIsOpen(real);
  if (open !== undefined)
    throw new SandboxError(
      "runtime_missing",
      `${path} is not used, because managed settings require isolation and others than root could have written ${open}`,
    );
  const unshare = findSystemProgram("unshare") ?? "/usr/bin/unshare";
  return { path: real, identity: `${real} ${fileIdentity(statSync(real))}`, unshare };
}

function findSystemProgram(name: string): string | undefined {
  return findProgram(name, SYSTEM_FOLDERS.join(delimiter));
}

const WRITABLE_BY_OTHERS = 0o022;

/** The file or the folder on the way to it that others than root can write. */
function whoseIsOpen(path: string): string | undefined {
  for (let at = path; ; at = dirname(at)) {
    const { uid, mode } = statSync(at);
    if (uid !== 0 || (mode & WRITABLE_BY_OTHERS) !== 0) return at;
    if (at === dirname(at)) return undefined;
  }
}

/** A text that changes when a file is written to or replaced. */
export function fileIdentity({ dev, ino, size, mtimeMs }: Stats): string {
  return `${dev}:${ino}:${size}:${mtimeMs}`;
}

/** The first line of `runsc --version`. @throws SandboxError `start_failed` if it cannot be run. */
export async function runscVersion({ path }: Runsc): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: VERSION_PATIENCE_MS });
    return stdout.split("\n")[0]?.replace(/^runsc version /, "") ?? "";
  } catch (cause) {
    throw new SandboxError("start_failed", `${path} cannot be run`, { cause });
  }
}

/** A digest of the kernel and the processor, on whose features a memory snapshot may rely. */
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

/**
 * Flags of every call. `--directfs=false` makes the kernel of a sandbox run as user nobody on this machine. ptc, not runsc, creates
 * the cgroup.
 */
export function runscFlags(rootFolder: string, platform: string): string[] {
  return [
    `--root=${rootFolder}`,
    `--platform=${platform}`,
    "--network=none",
    "--host-uds=none",
    "--overlay2=none",
    "--directfs=false",
    "--ignore-cgroups",
  ];
}

/** Whether ptc runs as root. */
export const isRoot = process.getuid?.() === 0;

/** Options of `unshare` before the runsc command of ordinary users: they make them root of their own namespace, which maps no other user. */
const AS_ROOT_OF_OWN_NAMESPACE = ["--user", "--map-root-user", "--mount"];

/**
 * The command line that calls runsc on behalf of this user. For an ordinary user runsc refuses to restore a sandbox with `--rootless`.
 * Without it, and with `--directfs=false`, it needs user nobody, which the user's own namespace does not have.
 */
export function runscCommand(runsc: Runsc, args: readonly string[], asRoot = isRoot): string[] {
  const { path, unshare = "unshare" } = runsc;
  if (asRoot) return [path, ...args];
  const own = args.includes("restore")
    ? args.filter((each) => each !== "--directfs=false")
    : ["--rootless", ...args];
  return [unshare, ...AS_ROOT_OF_OWN_NAMESPACE, path, ...own];
}

/** The maximum length of runsc's own last messages. */
const MAX_COMPLAINT_CHARS = 2_000;

/** The numbers under which runsc has the sockets that are the stdin and stdout of a server. */
const STDIO_FILES = [6, 7] as const;

/** The options of `runsc run` that pass these sockets into the sandbox, under the numbers that the guard knows. */
export const PASS_STDIO: readonly string[] = STDIO_FILES.map(
  (file, index) => `--pass-fd=${file}:${GUARD_STDIO_FILES[index]}`,
);

/**
 * Enters the cgroups, makes the channel, the control socket and the complaints its stdin, stdout and stderr, and becomes the command.
 * The arguments are the files to write to, `--`, and the command.
 */
const LAUNCHER = `while [ "$1" != -- ]; do echo 0 >"$1" || exit 126; shift; done
shift
exec "$@" <&3 >&4 2>&5 3<&- 4<&- 5<&-`;

/**
 * Has a socket read what is there before an error of writing destroys it. Where the other end is gone, a write fails, and Node.js
 * closes the socket at once: the guard's last frames, which say how the program ended, would be lost with a command that comes too late.
 */
function readBeforeDestroy(socket: Socket): void {
  const destroy = socket.destroy.bind(socket);
  let isEnding = false;
  socket.destroy = (error?: Error) => {
    if (error === undefined) return destroy();
    if (isEnding) return socket;
    isEnding = true;
    // A stream with an error drops what is read from then on.
    (socket as unknown as { _readableState: { errored: unknown } })._readableState.errored = null;
    // All that the other end has sent is in the kernel by now. Each turn of the loop reads some of it.
    const look = (seen: number, quiet: number) => {
      const isQuiet = socket.bytesRead === seen;
      if (isQuiet && quiet >= QUIET_TURNS) destroy(error);
      else setImmediate(look, socket.bytesRead, isQuiet ? quiet + 1 : 0);
    };
    setImmediate(look, socket.bytesRead, 0);
    return socket;
  };
}

const QUIET_TURNS = 2;

/** A sandbox as a process of this machine: `runsc run` or `runsc restore` in the foreground. The sandbox ends with it. */
export class LaunchedSandbox {
  readonly process: ChildProcess;
  /** The socket that the guard gives to the runner as its channel. */
  readonly channel: Duplex;
  /** Frames between ptc and the guard. */
  readonly control: Duplex;
  /** The stdin and stdout of a server. */
  readonly stdio: ServerStdio | undefined;
  #complaint = "";

  /**
   * @param entrances files of cgroups (cgroups.ts).
   * @param hasStdio whether the command has {@link PASS_STDIO}.
   */
  constructor(command: readonly string[], entrances: readonly string[], hasStdio = false) {
    this.process = spawn("/bin/sh", ["-c", LAUNCHER, "sh", ...entrances, "--", ...command], {
      stdio: [
        "ignore",
        "ignore",
        "ignore",
        "pipe",
        "pipe",
        "pipe",
        ...(hasStdio ? STDIO_FILES.map(() => "pipe" as const) : []),
      ],
      // A terminal's interrupt should reach only ptc, which ends its sandboxes itself.
      detached: true,
      env: { PATH: process.env.PATH ?? "" },
    });
    // It is reported by `exited`.
    this.process.on("error", () => {});
    const [, , , channel, control, complaints, stdin, stdout] = this.process.stdio as unknown as Duplex[];
    if (channel === undefined || control === undefined || complaints === undefined)
      throw new SandboxError("start_failed", "no process can be started on this machine");
    this.channel = channel;
    this.control = control;
    this.stdio = stdin && stdout && { stdin, stdout };
    // An error before anything reads must not end the process. The reader notices the end by `close`.
    for (const stream of [channel, control, complaints, stdin, stdout]) stream?.on("error", () => {});
    readBeforeDestroy(control as Socket);
    complaints.on("data", (chunk: Buffer) => {
      this.#complaint = (this.#complaint + chunk.toString()).slice(-MAX_COMPLAINT_CHARS);
    });
    complaints.on("close", () => complaints.destroy());
  }

  /** The complaints of runsc or the guard, as one line. */
  get complaint(): string {
    return this.#complaint.replaceAll(/\s+/g, " ").trim();
  }

  /** Resolves with the exit code, which is null if a signal ended the process. */
  ended(): Promise<number | null> {
    return new Promise((resolve) => {
      if (this.process.pid === undefined) this.process.once("error", () => resolve(null));
      else if (this.process.exitCode !== null || this.process.signalCode !== null)
        resolve(this.process.exitCode);
      else this.process.once("exit", (code) => resolve(code));
    });
  }

  /** Kills runsc and everything it has started. Does nothing if they have ended. */
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
