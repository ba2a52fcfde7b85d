import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { eventually } from "../../eventually.ts";
import { type Exited, type Project, type PtcProcess, type StartOptions, usePtc } from "../ptc-process.ts";

interface Status {
  running: boolean;
  host?: { pid: number; running: number; served: number };
}

/** A project whose commands may use its background host. */
export class HostedProject {
  readonly project: Project;
  readonly #env: Record<string, string | undefined>;

  constructor(project: Project) {
    this.project = project;
    this.#env = {
      PTC_HOST: undefined,
      CI: undefined,
      XDG_STATE_HOME: join(project.directory, "state"),
      GREETING: "one",
      // Python, which makes terminals for tests, sets another variable where this is not set.
      LC_ALL: "C",
    };
  }

  /** The environment of a caller. */
  env(more: Record<string, string | undefined> = {}): Record<string, string | undefined> {
    return { ...this.#env, ...more };
  }

  start(args: readonly string[], { env, ...options }: StartOptions = {}): PtcProcess {
    return this.project.start(args, { ...options, env: this.env(env) });
  }

  /** The project as a terminal has it that a Python makes, whatever the shell's Python does to the path. */
  get onTerminal(): Pick<Project, "command" | "directory"> {
    const { directory } = this.project;
    const command = (args: readonly string[]) => [
      "env",
      `PATH=${process.env.PATH}`,
      ...this.project.command(args),
    ];
    return { directory, command };
  }

  ptc(args: readonly string[], options?: StartOptions): Promise<Exited> {
    return this.start(args, options).exited;
  }

  async status(options?: StartOptions): Promise<Status> {
    const { stdout } = await this.ptc(["host", "status", "--json"], options);
    return JSON.parse(stdout) as Status;
  }

  /** Runs a program, so that a host is started where there is none. Resolves with its process when it is in service. */
  async warmUp(): Promise<number> {
    await this.ptc(["run", "program.ts"]);
    return this.inService();
  }

  /** The process of the host in service, once there is one. */
  async inService(other?: number): Promise<number> {
    return eventually(async () => {
      const { host } = await this.status();
      expect(host?.pid ?? other).not.toBe(other);
      return (host as { pid: number }).pid;
    });
  }

  /** The folder that the host and its callers meet in. */
  get folder(): string {
    const hosts = join(this.project.directory, "run", `ptc-${process.getuid?.()}`, "hosts");
    const [name = ""] = existsSync(hosts) ? readdirSync(hosts) : [];
    return join(hosts, name);
  }

  get sockets(): string[] {
    return existsSync(this.folder) ? readdirSync(this.folder).filter((name) => /\d\.sock$/.test(name)) : [];
  }

  /** The processes of this project's hosts, where the system lists processes as files. */
  get processes(): number[] {
    const mark = `XDG_STATE_HOME=${join(this.project.directory, "state")}\0`;
    const read = (pid: string, file: string) => {
      try {
        return readFileSync(`/proc/${pid}/${file}`, "utf8");
      } catch {
        return "";
      }
    };
    return readdirSync("/proc")
      .filter((pid) => /^\d+$/.test(pid) && read(pid, "cmdline").includes("\0background-host\0"))
      .filter((pid) => read(pid, "environ").includes(mark))
      .map(Number);
  }

  /** The socket in service. */
  get socket(): string {
    return join(this.folder, readlinkSync(join(this.folder, "host.sock")));
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Returns the function that makes a project whose hosts end with the tests of this file. */
export function useHosts(): (files: Record<string, string | object>) => HostedProject {
  const project = usePtc();
  const hosted: HostedProject[] = [];
  afterAll(async () => {
    // Before the folders are removed, because a host is found by its files.
    for (const each of hosted) await each.ptc(["host", "stop"]);
  });
  return (files) => {
    const made = new HostedProject(project(files));
    hosted.push(made);
    return made;
  };
}
