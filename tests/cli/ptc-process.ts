import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { Readable, type Writable } from "node:stream";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, expect, inject } from "vitest";
import type { Surroundings } from "../../project/surroundings.ts";
import { Envelope } from "../../protocol/envelope.ts";
import { withStorage } from "./project-storage.ts";
import { surroundingsIn } from "./surroundings.ts";

/**
 * The real `ptc`, built from this checkout's sources, in folders of its own. A command runs in the process of the test
 * (`Project.ptc`), which spares the start of one, or as a process (`Project.start`), where a claim is about that.
 */

const REPOSITORY = join(import.meta.dirname, "../..");
const FIXTURES = join(REPOSITORY, "tests/fixtures/servers");

/** What the build does not need, or makes itself. */
const NOT_SOURCES = new Set([".git", "dist", "generated", "node_modules", "tests"]);

export interface Exited {
  code: number | null;
  stdout: string;
  /** Without what ptc says only on a busy machine. */
  stderr: string;
}

/** Leaves out the lines that ptc prints where a check of types, or the start of a server, takes seconds. */
export function withoutSlowness(printed: string): string {
  return printed.replace(
    /^ptc: (?:checking types \.\.\.|warning: server '[^']+' is still starting after .*)\n/gm,
    "",
  );
}

export interface StartOptions {
  stdin?: string;
  env?: Record<string, string | undefined>;
}

/** Builds ptc once for all files of a run. Returns the function that makes a folder with some files to run it in. */
export function usePtc(): (files?: Record<string, string | object>) => Project {
  const folder = mkdtempSync(join(tmpdir(), "ptc-"));
  const built = join(inject("buildFolder"), "ptc");
  let projects = 0;
  beforeAll(() => buildOnce(built));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return (files = {}) => {
    const command = join(built, "dist/cli/ptc.js");
    const shared = { store: join(built, "generated-once"), main: () => builtMain(command) };
    const project = new Project(join(folder, String(projects++)), command, shared);
    for (const [name, content] of Object.entries(files)) project.write(name, content);
    return project;
  };
}

/** Of two files that build at once, one comes first, and the other one's build is dropped. */
function buildOnce(folder: string): void {
  if (existsSync(folder)) return;
  const own = `${folder}-${process.pid}`;
  build(own);
  try {
    renameSync(own, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(own, { recursive: true, force: true });
  }
}

function build(folder: string): void {
  for (const name of readdirSync(REPOSITORY)) {
    if (NOT_SOURCES.has(name)) continue;
    cpSync(join(REPOSITORY, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
  const built = spawnSync(process.execPath, ["scripts/build.ts"], { cwd: folder, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`ptc does not build: ${built.stdout}${built.stderr}`);
}

type Main = (surroundings: Surroundings) => Promise<number>;

/** What a process of ptc calls, loaded as Node.js loads it: Vitest would transform what it imports. */
function builtMain(command: string): Main {
  const { main } = createRequire(command)("./main.js") as { main: Main };
  return main;
}

let isBusy = false;

/** Runs a command with an environment that is this process's until the command has ended. */
async function withEnvironment<T>(env: NodeJS.ProcessEnv, command: () => Promise<T>): Promise<T> {
  if (isBusy) throw new Error("a command runs in this process already; start the others as processes");
  isBusy = true;
  const before = { ...process.env };
  try {
    setEnvironment(env);
    return await command();
  } finally {
    setEnvironment(before);
    isBusy = false;
  }
}

function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (env[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}

/** A folder that somebody uses ptc in. What ptc keeps while it runs is in `run/` below it. */
export class Project {
  readonly directory: string;
  readonly #command: string;
  readonly #store: string | undefined;
  readonly #main: (() => Main) | undefined;
  readonly #node: string;

  /**
   * @param store where what was generated is kept for other folders; nowhere, if there is none
   * @param main runs commands in this process; without it, they are processes
   * @param node the Node.js that runs ptc
   */
  constructor(
    directory: string,
    command: string,
    { store, main, node = process.execPath }: { store?: string; main?: () => Main; node?: string } = {},
  ) {
    this.directory = directory;
    this.#command = command;
    this.#store = store;
    this.#main = main;
    this.#node = node;
    mkdirSync(join(directory, "run"), { recursive: true });
  }

  /** Writes a file: text as it is, anything else as JSON, which is YAML too. */
  write(name: string, content: string | object): void {
    const whole = name === "ptc.yaml" ? withStorage(content, this.directory) : content;
    const text = typeof whole === "string" ? whole : JSON.stringify(whole);
    writeFileSync(join(this.directory, name), text);
  }

  read(name: string): string {
    return readFileSync(join(this.directory, name), "utf8");
  }

  /** A command line that is ptc with these arguments. */
  command(args: readonly string[]): string[] {
    return [this.#node, this.#command, ...args];
  }

  start(args: readonly string[], { stdin = "", env = {} }: StartOptions = {}): PtcProcess {
    const child = spawn(this.#node, [this.#command, ...args], {
      cwd: this.directory,
      env: this.#env(env),
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
    return new PtcProcess(child);
  }

  /** Starts `ptc serve` with the v1 SDK's client in front of it, and what it says on stderr. */
  async serve({
    env = {},
    client = new Client({ name: "test", version: "1" }),
  }: {
    env?: Record<string, string>;
    client?: Client;
  } = {}): Promise<{ client: Client; pid: number; stderr: () => string }> {
    const transport = new StdioClientTransport({
      command: this.#node,
      args: [this.#command, "serve"],
      cwd: this.directory,
      env: {
        PATH: process.env.PATH ?? "",
        XDG_RUNTIME_DIR: join(this.directory, "run"),
        ...Object.fromEntries(
          ["DOCKER_HOST", "PTC_ENGINE"].flatMap((name) =>
            process.env[name] === undefined ? [] : [[name, process.env[name]]],
          ),
        ),
        ...env,
      },
      stderr: "pipe",
    });
    let stderr = "";
    transport.stderr?.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    await client.connect(transport);
    return { client, pid: transport.pid ?? 0, stderr: () => stderr };
  }

  /** Runs a command to its end. No signal reaches it, and no background host runs it. One runs at a time. */
  async ptc(args: readonly string[], options: StartOptions = {}): Promise<Exited> {
    if (this.#main === undefined) return this.start(args, options).exited;
    const main = this.#main();
    const surroundings = surroundingsIn(this.directory, this.command(args));
    const env = this.#env(options.env);
    const stdin = Readable.from(options.stdin ? [Buffer.from(options.stdin)] : []);
    const code = await withEnvironment(env, () => main({ ...surroundings, env, stdin }));
    return { code, stdout: surroundings.stdout.text, stderr: withoutSlowness(surroundings.stderr.text) };
  }

  #env(more: StartOptions["env"] = {}): NodeJS.ProcessEnv {
    return { ...process.env, XDG_RUNTIME_DIR: join(this.directory, "run"), ...more };
  }

  /** Runs a program that is given as text, and returns the envelope too. */
  async run(
    code: string,
    args: readonly string[] = [],
    options?: StartOptions,
  ): Promise<Exited & { envelope: Envelope }> {
    this.write("program.ts", code);
    const exited = await this.ptc(["run", "program.ts", ...args], options);
    return { ...exited, envelope: envelopeOf(exited) };
  }

  /** Writes the modules of the configured servers, which is work once for all folders with the same files. */
  async generate(): Promise<void> {
    const generate = async () => {
      const { code, stderr } = await this.ptc(["generate"]);
      expect({ code, stderr }).toMatchObject({ code: 0 });
    };
    if (this.#store === undefined) await generate();
    else await generateOnce(this.directory, this.#store, generate);
  }

  /** Folders of ptc processes, alive or dead, in what ptc keeps while it runs. */
  state(): string[] {
    const base = join(this.directory, "run", `ptc-${process.getuid?.() ?? 0}`);
    return existsSync(base) ? readdirSync(base) : [];
  }
}

export class PtcProcess {
  readonly exited: Promise<Exited>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #stdout = "";
  #stderr = "";

  constructor(child: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.#child = child;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr += text;
    });
    this.exited = once(child, "close").then(([code]) => ({
      code: code as number | null,
      stdout: this.#stdout,
      stderr: withoutSlowness(this.#stderr),
    }));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Waits for the first line on stdout. */
  async line(): Promise<string> {
    while (!this.#stdout.includes("\n")) await once(this.#child.stdout, "data");
    return this.#stdout.slice(0, this.#stdout.indexOf("\n"));
  }

  /** Waits until stderr matches, and returns the match. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.#stderr);
      if (match !== null) return match;
      const ended = this.exited.then(({ code, stderr }) => {
        throw new Error(`ptc ended with ${code} before it printed ${pattern}: ${stderr}`);
      });
      await Promise.race([once(this.#child.stderr, "data"), ended]);
    }
  }
}

/** A fixture program as a server in the configuration. */
export function fixtureServer(name: string, file: string, args: readonly string[] = []) {
  const transport = "stdio" as const;
  return { name, transport, command: process.execPath, args: [join(FIXTURES, file), ...args] };
}

/** The envelope on stdout, which must be one line and nothing else. */
export function envelopeOf({ stdout, stderr }: Exited): Envelope {
  if (!/^[^\n]+\n$/.test(stdout)) throw new Error(`stdout is not one line: ${stdout}\n${stderr}`);
  return Envelope.parse(JSON.parse(stdout));
}

/** What ptc keeps while it runs is no input of what it generates. */
const NO_INPUTS = "run";

/**
 * Has the modules of a folder that nothing was generated in generated, or copies what came of that in a folder with the
 * same files. What is generated does not depend on where the folder is.
 *
 * @param store where what came of it is kept for all files of a run
 */
async function generateOnce(folder: string, store: string, generate: () => Promise<void>): Promise<void> {
  const before = new Set(filesIn(folder));
  const kept = keyOf(folder, before);
  if (kept === undefined) return generate();
  const path = join(store, kept);
  if (existsSync(path)) return cpSync(path, folder, { recursive: true });
  await generate();
  const own = `${path}-${process.pid}`;
  for (const file of filesIn(folder)) {
    if (!before.has(file)) cpSync(join(folder, file), join(own, file), { recursive: true });
  }
  try {
    renameSync(own, path);
  } catch (error) {
    if (!existsSync(path)) throw error;
    rmSync(own, { recursive: true, force: true });
  }
}

/** A digest of all files; `undefined` where something was generated before, or where a server of the network could say something else later. */
function keyOf(folder: string, files: ReadonlySet<string>): string | undefined {
  const hash = createHash("sha256");
  for (const file of [...files].sort()) {
    if (file.startsWith("generated/")) return undefined;
    const text = readFileSync(join(folder, file), "utf8").replaceAll(folder, ".");
    if (/https?:/.test(text)) return undefined;
    hash.update(`${JSON.stringify([file, text])}\n`);
  }
  return hash.digest("hex");
}

function filesIn(folder: string, below = folder): string[] {
  return readdirSync(below).flatMap((name) => {
    const path = join(below, name);
    const file = relative(folder, path);
    if (file === NO_INPUTS) return [];
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return filesIn(folder, path);
    return found?.isFile() ? [file] : [];
  });
}
