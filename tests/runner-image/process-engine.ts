import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { SandboxOutput } from "../../sandbox/sandbox.ts";
import type { SandboxEngine, SandboxRequest, StartedSandbox } from "../../sandbox/sandbox-engine.ts";
import { ADVICE } from "../sandbox/in-process-engine.ts";
import { RUNNER_COMMANDS, RUNNER_VARIABLES } from "./runner-process.ts";

/** Before the command of a process, takes the network away from it. */
const WITHOUT_NETWORK = ["unshare", "--user", "--net", "--map-root-user"];

/** Whether processes can be started without a network here. */
export const canDoWithoutNetwork = () => {
  const [command = "", ...args] = WITHOUT_NETWORK;
  return spawnSync(command, [...args, "true"]).status === 0;
};

/** Starts sandboxes without a wall: the runners as processes of this machine, each in a folder of its own. */
export class ProcessEngine implements SandboxEngine {
  readonly #before: readonly string[];

  /** @param hasNetwork whether programs have this machine's network. */
  constructor({ hasNetwork = true }: { hasNetwork?: boolean } = {}) {
    this.#before = hasNetwork ? [] : WITHOUT_NETWORK;
  }

  readonly name = "Processes";
  readonly advice = ADVICE;
  /** Those that still run, and how many were started. */
  readonly live = new Map<string, ChildProcess>();
  started = 0;
  /** With what a sandbox ends whose runner was killed. */
  killedCode = 137;
  readonly #owners = new Map<string, string>();

  describe = async () => ({
    version: "1",
    identity: "processes",
    profile: "none",
    endpoint: "here",
    runtimes: new Map(),
  });
  /** Has images of all names but one. */
  findImage = async (name: string) =>
    name === "ptc-there-is-no-such-image" ? undefined : { digest: `sha256:${"0".repeat(64)}` };
  list = async () => [...this.live.keys()].map((id) => ({ id, owner: this.#owners.get(id) ?? "" }));
  keepsOutput = async () => false;
  remove = async (id: string) => void this.live.get(id)?.kill("SIGKILL");

  async start({ runner, owner }: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    const folder = mkdtempSync(join(tmpdir(), "ptc-session-"));
    const [command, main] = RUNNER_COMMANDS[runner];
    const env = { ...RUNNER_VARIABLES, NODE_OPTIONS: "--enable-source-maps --no-warnings" };
    const stdio = ["ignore", "pipe", "pipe", "pipe"] as const;
    const [first = command, ...args] = [...this.#before, command, main, "--channel=3"];
    const child = spawn(first, args, { cwd: folder, env, stdio: [...stdio] });
    const id = `process-${++this.started}`;
    this.live.set(id, child);
    this.#owners.set(id, owner);
    child.stdout?.on("data", (chunk: Buffer) => output.onStdout(chunk));
    child.stderr?.on("data", (chunk: Buffer) => output.onStderr(chunk));
    const exited = once(child, "close").then(([code]) => {
      this.live.delete(id);
      rmSync(folder, { recursive: true, force: true });
      return { code: (code as number | null) ?? this.killedCode };
    });
    const kill = async () => void child.kill("SIGKILL");
    return {
      id,
      connected: Promise.resolve(child.stdio[3] as Duplex),
      exited,
      pause: () => void child.kill("SIGSTOP"),
      clear: async () => void child.kill("SIGSTOP"),
      resume: () => void child.kill("SIGCONT"),
      leave: () => void kill(),
      kill,
      removed: async () => void (await exited),
      release() {},
    };
  }
}
