/**
 * Commands in this process, in folders of their own: for those that start no sandbox. `ptcIn` runs one command; a project
 * (`projectInProcess`) is a folder that is also its user's home, where no engine is. Commands as processes are in `ptc-process.ts`.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { onTestFinished } from "vitest";
import type { Surroundings } from "../../cli/command.ts";
import { main } from "../../cli/main.ts";
import { type Exited, Project } from "./ptc-process.ts";
import { surroundingsIn } from "./surroundings.ts";

const COMMAND = join(import.meta.dirname, "../../cli/start.ts");

/** Runs `ptc` with these arguments in a folder. @param more parts of the process, and the script that ptc is. */
export async function ptcIn(
  cwd: string,
  args: readonly string[],
  { script = "ptc", ...more }: Partial<Surroundings> & { script?: string } = {},
): Promise<Exited & { code: number }> {
  const surroundings = surroundingsIn(cwd, ["node", script, ...args]);
  const code = await main({ ...surroundings, ...more });
  return { code, stdout: surroundings.stdout.text, stderr: surroundings.stderr.text };
}

/** A folder in which `ptc` can be started as a process from its sources, without a build. The folder is also its user's home. */
export function projectFromSources(files: Record<string, string | object> = {}): Project & { env: Env } {
  const folder = mkdtempSync(join(tmpdir(), "ptc-sources-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const project = new Project(folder, COMMAND);
  for (const [name, content] of Object.entries(files)) project.write(name, content);
  const env = {
    HOME: folder,
    XDG_STATE_HOME: undefined,
    XDG_CONFIG_HOME: undefined,
    CLAUDE_CONFIG_DIR: undefined,
  };
  return Object.assign(project, { env });
}

type Env = Record<string, string | undefined>;

/** A folder with this configuration and these files, in which commands run in this process. */
export function projectInProcess(configuration: string | object, files: Record<string, string> = {}) {
  const project = projectFromSources({ "ptc.yaml": configuration, ...files });
  const { directory } = project;
  mkdirSync(`${directory}/run`, { mode: 0o700, recursive: true });
  const own = {
    ...project.env,
    PATH: process.env.PATH,
    PTC_KEYRING: "off",
    PTC_HOST: "off",
    XDG_RUNTIME_DIR: `${directory}/run`,
    DOCKER_HOST: "unix:///nowhere/docker.sock",
  };
  const ptc = (args: readonly string[], env: Env = {}, stdin = "") =>
    ptcIn(directory, args, {
      env: { ...own, ...env },
      stdin: Readable.from(stdin === "" ? [] : [Buffer.from(stdin)]),
    });
  /** Makes a call, and gives what it printed. */
  const call = (...args: string[]) => ptc(["call", ...args]);
  const auditLines = () =>
    project
      .read(".ptc/audit.jsonl")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { project, env: own, ptc, call, auditLines };
}
