/**
 * Commands in this process, in folders of their own: for those that start no sandbox. `ptcIn` runs one command. A project
 * (`projectInProcess`) is a folder that is also its user's home, where no engine is; `userProject` has a home of its own.
 * Commands as processes are in `ptc-process.ts`.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { main } from "../../cli/main.ts";
import { ENGINE } from "../../project/sandboxes/engine.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import type { SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { ProcessEngine } from "../runner-image/process-engine.ts";
import { newFolder } from "../temporary-folder.ts";
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

/** Expects that a command was refused: nothing on stdout, and one line on stderr that has this. */
export function expectRefusal({ code, stdout, stderr }: Exited, message: string | RegExp, wanted = 2): void {
  expect({ code, stdout }).toEqual({ code: wanted, stdout: "" });
  expect(stderr).toMatch(/^ptc: [^\n]+\n$/);
  if (typeof message === "string") expect(stderr).toContain(message);
  else expect(stderr).toMatch(message);
}

/** An empty folder, without links on the way to it, that is removed with the test. */
export function folderOfTest(): string {
  return realpathSync(newFolder());
}

type Env = Record<string, string | undefined>;

/** A project's folder and the home of its user, to which names of files that begin with `~/` lead. */
export function userProject(files: Record<string, string> = {}) {
  const [folder, home] = [folderOfTest(), folderOfTest()];
  // A shell finds this ptc by its name.
  const script = join(home, "bin/ptc");
  const env: Env = { HOME: home, PATH: join(home, "bin"), PTC_KEYRING: "off" };
  const path = (file: string) => (file.startsWith("~/") ? join(home, file.slice(2)) : join(folder, file));
  const run = (args: string[], more: Partial<Surroundings> = {}) =>
    ptcIn(folder, args, { script, env, ...more });
  const write = (file: string, text: string) => {
    mkdirSync(dirname(path(file)), { recursive: true });
    writeFileSync(path(file), text);
    return path(file);
  };
  for (const [file, text] of Object.entries({ "~/bin/ptc": "", ...files })) write(file, text);
  return {
    ...{ folder, home, env, path, write },
    read: (file: string) => readFileSync(path(file), "utf8"),
    has: (file: string) => existsSync(path(file)),
    ptc: (...args: string[]) => run(args),
    /** The same for somebody who sits at a terminal. */
    atTerminal: ({ stdin, stderr }: Pick<Surroundings, "stdin" | "stderr">, ...args: string[]) =>
      run(args, { stdin, stderr }),
  };
}

/** A folder in which `ptc` can be started as a process from its sources, without a build. The folder is also its user's home. */
export function projectFromSources(files: Record<string, string | object> = {}): Project & { env: Env } {
  const folder = folderOfTest();
  const project = new Project(folder, COMMAND);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    project.write(name, content);
  }
  const none = { XDG_STATE_HOME: undefined, XDG_CONFIG_HOME: undefined, CLAUDE_CONFIG_DIR: undefined };
  return Object.assign(project, { env: { HOME: folder, ...none } });
}

/** A folder with this configuration and these files, in which commands run in this process. */
export function projectInProcess(
  configuration: string | object,
  files: Record<string, string | object> = {},
) {
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
  const generate = async () => expect(await ptc(["generate"])).toMatchObject({ code: 0 });
  const auditLines = () =>
    project
      .read(".ptc/audit.jsonl")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { project, env: own, ptc, call, generate, auditLines };
}

/**
 * Folders in which commands run in this process, and programs in runners that are processes of this machine, without a wall:
 * for claims about commands that run programs. Returns the function that makes one with some files.
 */
export function usePtcWithoutWalls(
  engine: SandboxEngine = new ProcessEngine(),
): (files?: Record<string, string | object>) => Project {
  const folder = mkdtempSync(join(tmpdir(), "ptc-without-walls-"));
  const store = join(folder, "generated-once");
  let projects = 0;
  beforeAll(() => {
    const opened = vi.spyOn(ENGINE, "open").mockReturnValue(engine);
    return () => opened.mockRestore();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return (files = {}) => {
    const project = new Project(join(folder, String(projects++)), COMMAND, { store, main: () => main });
    for (const [name, content] of Object.entries(files)) project.write(name, content);
    return project;
  };
}
