/** Runs the program that fetches packages, and says in one line why it failed. */

import { inheritedEnvironment } from "../../secrets/inherited-environment.ts";
import { failureLine } from "../mcp/failure-line.ts";
import { type GroupObserver, runCommand } from "../run-command.ts";
import type { PackageCommand } from "./package-command.ts";
import { PackageError } from "./package-error.ts";

const TIMEOUT_MS = 5 * 60_000;
const REST_MS = 1_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Fetches packages of one kind. Runs no code of them. */
export interface Install<Tree> {
  /** Finds the newest versions that fit, and everything that they need. @throws PackageError */
  resolve(command: PackageCommand, step: InstallStep): Promise<Tree>;
  /** Installs exactly these into the folder of the step. @throws PackageError also for a package with another digest. */
  install(tree: Tree, step: InstallStep): Promise<void>;
  /**
   * How the program of the command is started.
   *
   * @param folder where the packages are here.
   * @param inside where they are in the sandbox.
   * @throws PackageError if there is no such program.
   */
  start(command: PackageCommand, folder: string, inside: string): PackageStart;
}

/** What is started in the sandbox, before the arguments of the server's own. */
export interface PackageStart {
  command: string;
  args: readonly string[];
  /** `PATH` has the folders that come before the usual ones. */
  env: Readonly<Record<string, string>>;
}

export interface StepOptions {
  /** An empty folder. */
  folder: string;
  /** The folder of ptc.yaml. */
  directory: string;
  /** The sandbox's processor, as `process.arch` has it. */
  arch: string;
  /** The sandbox's version of Python, such as `3.11`. */
  python: string;
  /** Variables of the server that say where packages come from. */
  env: Readonly<Record<string, string>>;
  signal: AbortSignal;
  observer: GroupObserver;
}

/** One step of fetching packages, in a folder of its own. */
export class InstallStep {
  readonly folder: string;
  readonly directory: string;
  readonly arch: string;
  readonly python: string;
  readonly #options: StepOptions;

  constructor(options: StepOptions) {
    this.#options = options;
    ({ folder: this.folder, directory: this.directory, arch: this.arch, python: this.python } = options);
  }

  run(program: string, args: readonly string[]): Promise<void> {
    return this.runFirst([[program, args]]);
  }

  /** Runs the first of these programs that is there. */
  async runFirst(programs: readonly (readonly [string, readonly string[]])[]): Promise<void> {
    const { folder, env: own, signal, observer } = this.#options;
    const { UV_DEFAULT_INDEX, UV_INDEX_URL, ...inherited } = { ...inheritedEnvironment(), ...own };
    const index = UV_DEFAULT_INDEX ?? UV_INDEX_URL;
    const env = { ...(index === undefined ? {} : { PIP_INDEX_URL: index }), ...inherited };
    for (const [program, args] of programs) {
      const command = { program, args, env, cwd: folder, stdin: "" };
      const limits = { timeoutMs: TIMEOUT_MS, restMs: REST_MS, maxBytes: MAX_OUTPUT_BYTES, signal };
      const end = await runCommand(command, { ...limits, stderr: "end" }, observer);
      if (end.kind === "not_started" && end.error.code === "ENOENT") continue;
      if (end.kind === "aborted") throw new PackageError("cancelled while its packages were fetched");
      if (end.kind === "exited" && end.code === 0) return;
      if (end.kind === "exited" && /No module named '?pip\b/.test(end.stderr)) continue;
      throw new PackageError(`its packages cannot be fetched: ${whyFailed(program, end)}`);
    }
    const names = programs.map(([program]) => program).join(" or ");
    throw new PackageError(`its packages are fetched with ${names}, which is not on the PATH; install it`);
  }
}

function whyFailed(program: string, end: Awaited<ReturnType<typeof runCommand>>): string {
  if (end.kind === "not_started") return end.error.message;
  if (end.kind === "late") return `${program} took more than ${TIMEOUT_MS / 60_000} minutes`;
  if (end.kind !== "exited") return `${program} printed too much`;
  if (/\bEINTEGRITY\b|DO NOT MATCH THE HASHES/i.test(end.stderr))
    return `a package is not the one that ptc.packages.json names (${failureLine(end.stderr)}); if you trust it, run \`ptc generate\``;
  return failureLine(end.stderr) || `${program} ended with ${end.code ?? end.signal}`;
}
