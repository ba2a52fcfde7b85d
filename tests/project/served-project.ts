import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { FollowedConfiguration } from "../../configuration/follow.ts";
import type { ProgramRequest } from "../../execution/run-request.ts";
import { Project, type ProjectOptions } from "../../project/open-project.ts";
import { openServing, type ServingOptions } from "../../project/serving.ts";
import { MemoryStore } from "../archive/memory-store.ts";
import { InProcessEngine, type ProgramFunction } from "../sandbox/in-process-engine.ts";

const ECHO = join(import.meta.dirname, "../fixtures/servers/echo-v1.mjs");

/** A configured server that echoes. It has two tools. */
export function echoServer(name: string, more: object = {}) {
  return { name, command: process.execPath, args: [ECHO], ...more };
}

export const PROGRAM = { code: "1", data: {}, language: "javascript", fileName: "p.js" } as const;

interface Opening extends Partial<Omit<ServingOptions, "engine">>, Pick<ProjectOptions, "archive"> {
  program?: ProgramFunction;
  /** Runs programs, in the place of `program`. */
  engine?: ReturnType<NonNullable<ServingOptions["engine"]>>;
  /** How many tools there are once the servers were listed, which it waits for. */
  tools?: number;
  /** How long a session may be idle, in the place of the minutes of the configuration. */
  idleMs?: number | undefined;
}

/** A folder with a configuration, which ptc is opened in as `ptc serve` opens it: all in this process, but the servers. */
export function servedProject(settings: object, files: Record<string, string> = {}) {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-served-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);
  const configure = (to: object) => write("ptc.yaml", JSON.stringify(to));
  configure(settings);
  for (const [name, text] of Object.entries(files)) write(name, text);
  const env: { XDG_RUNTIME_DIR: string; XDG_STATE_HOME: string; [name: string]: string } = {
    XDG_RUNTIME_DIR: join(cwd, "run"),
    XDG_STATE_HOME: join(cwd, "state"),
  };

  /** Opens ptc as one process does. Its runs are in `store` unless it is given an archive, and it is closed with the test. */
  async function open({ program, engine = new InProcessEngine(program), tools, idleMs, ...given }: Opening) {
    const edits: string[] = [];
    const warnings: string[] = [];
    const store = new MemoryStore();
    const { archive, ...seams } = { archive: () => store, ...given };
    const onEdit = (edit: string) => void edits.push(edit);
    const following = await FollowedConfiguration.open({ flag: undefined, env, cwd, onEdit });
    const { current } = following;
    const sessions = current.sessions && idleMs !== undefined && { ...current.sessions, idleMs };
    const project = new Project(
      { ...current, ...(sessions && { sessions }) },
      { env, archive, onWarning: (line) => void warnings.push(line) },
    );
    const opened = await openServing(project, {
      following,
      principal: "local",
      ...seams,
      engine: () => engine,
    });
    const { host } = opened;
    onTestFinished(() => host.close());
    await host.warm();
    if (tools !== undefined)
      await expect.poll(async () => (await host.currentTools()).all.names().length).toBe(tools);
    /** Runs a program for somebody who approves each call. Resolves when it is recorded. */
    const run = async (more: Partial<ProgramRequest> = {}) => {
      const executed = await host.run({
        program: PROGRAM,
        context: { principal: "local", source: "serve" },
        approver: { ask: async () => ({ decision: "once", by: "a person" }) },
        signal: new AbortController().signal,
        ...more,
      });
      await executed.recorded;
      return executed;
    };
    return { ...opened, following, run, store, edits, warnings };
  }

  return { cwd, env, write, configure, open };
}
