import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { buildSync } from "esbuild";
import { writeJson } from "../../base/json.ts";
import { SandboxConnection } from "../../broker/sandbox-connection.ts";
import { bundleProgram } from "../../languages/typescript/bundling/bundle.ts";
import { type Claim, parseClaim } from "../../protocol/claim.ts";
import { FrameDecoder } from "../../protocol/frames.ts";
import { MAX_CALL_FRAME_BYTES } from "../../protocol/limits.ts";
import type { Call, ProgramEnvironment, Trace } from "../../protocol/messages.ts";
import { PYTHON_AS_IT_IS } from "../languages/python-as-it-is.ts";

const RUNNERS = join(import.meta.dirname, "../../runner-image");
const LIMITS = { maxParallelCalls: 100, maxToolCalls: 1_000 };
const MAX_BYTES = 65_536;

const IS_NEW_ENOUGH =
  "import sys; print(sys.executable); sys.exit(sys.version_info < (3, 11) or sys.platform != 'linux')";
const foundPython = spawnSync("python3", ["-c", IS_NEW_ENOUGH], { encoding: "utf8" });
const hasPython = foundPython.status === 0;
/** The interpreter itself. What the search path names may be a script that looks for it, and takes longer than the interpreter. */
const PYTHON = hasPython ? foundPython.stdout.trim() : "python3";

/** Why the runner of a language cannot be run on this machine itself; empty when it can. */
export const missingFor = (language: RunnerLanguage) =>
  language === "python" && !hasPython ? " (skipped: there is no python3 for Linux, 3.11 or newer)" : "";

export type RunnerLanguage = "javascript" | "python";
export type Answer = (call: Call, connection: SandboxConnection) => Promise<unknown>;

interface RunnerEnd {
  /** What the program came to; `undefined` when its runner was killed. */
  claim: Claim | undefined;
  trace: Trace | undefined;
  /** How many traces came. */
  traces: number;
}

interface RunnerOptions {
  /** What the program is told about the world: always the same, where nothing else is said. */
  environment?: ProgramEnvironment;
  /** Answers each call; with null, where nothing else is said. */
  answer?: Answer;
  /** Kills the runner. */
  signal?: AbortSignal;
  /** How long after the runner's hello the program is sent. */
  afterHelloMs?: number;
}

const ENVIRONMENT: ProgramEnvironment = { seed: "5e".repeat(32), time_zone: "UTC" };

/** Runs a program in a runner that is a process of this machine, without any wall. */
export async function runInProcess(
  language: RunnerLanguage,
  code: string,
  { environment = ENVIRONMENT, answer = async () => null, signal, afterHelloMs = 0 }: RunnerOptions = {},
): Promise<RunnerEnd> {
  const child = startRunner(language);
  const kill = () => void child.kill("SIGKILL");
  signal?.addEventListener("abort", kill);
  const exited = once(child, "close");
  const printed = text(child.stdout as NonNullable<typeof child.stdout>);
  child.stderr?.resume();
  try {
    const channel = child.stdio[3] as Duplex;
    const connection: SandboxConnection = new SandboxConnection(channel, LIMITS, async (call) => {
      const data = await answer(call, connection);
      return { ok: true, data, raw: null, bytes: Buffer.byteLength(writeJson(data) ?? "") };
    });
    const decoder = new FrameDecoder(MAX_CALL_FRAME_BYTES);
    let traces = 0;
    channel.on("data", (chunk: Buffer) => {
      for (const frame of decoder.push(chunk))
        traces += JSON.parse(frame.toString()).type === "trace" ? 1 : 0;
    });
    const bundle = await bundleOf(language, code);
    await connection.ready;
    if (afterHelloMs > 0) await delay(afterHelloMs);
    const caps = { max_output_bytes: MAX_BYTES, max_stderr_bytes: MAX_BYTES };
    connection.sendProgram({ type: "program", bundle, data: {}, ...caps, environment });
    await connection.ended;
    const line = (await printed).trim();
    return { claim: line === "" ? undefined : parseClaim(JSON.parse(line)), trace: connection.trace, traces };
  } finally {
    signal?.removeEventListener("abort", kill);
    kill();
    await exited;
  }
}

/** What runs each runner: a command, and the path of its program. */
export const RUNNER_COMMANDS: Readonly<Record<RunnerLanguage, readonly [command: string, main: string]>> = {
  javascript: [process.execPath, builtRunner()],
  python: [PYTHON, join(RUNNERS, "python/main.py")],
};

/**
 * The runner of JavaScript in one file, as an image has it. A process from that takes half the time of one from the sources, which
 * mutants are in. All processes of the tests have the same file, so that Node.js finds what it has compiled.
 */
function builtRunner(): string {
  const main = join(RUNNERS, "node/main.ts");
  if (process.env.PTC_MUTATED !== undefined) return main;
  const options = { bundle: true, format: "esm", platform: "node", target: "node22", write: false } as const;
  const text = buildSync({ ...options, entryPoints: [main] }).outputFiles[0]?.text ?? "";
  const file = join(
    tmpdir(),
    `ptc-runner-${createHash("sha256").update(text).digest("hex").slice(0, 16)}.mjs`,
  );
  // Others of the same sources may write it at the same time.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, text);
  renameSync(draft, file);
  return file;
}

const { NODE_COMPILE_CACHE, PATH } = process.env;
/** The environment of a runner. Node.js takes what it has compiled for earlier ones. */
export const RUNNER_VARIABLES: NodeJS.ProcessEnv = {
  ...(NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }),
  ...{ PATH, TZ: "UTC", PYTHONDONTWRITEBYTECODE: "1" },
};

/** Starts a runner, whose channel is its fourth stream. */
export function startRunner(language: RunnerLanguage): ChildProcess {
  const [command, main] = RUNNER_COMMANDS[language];
  const env = { ...RUNNER_VARIABLES, NODE_NO_WARNINGS: "1" };
  return spawn(command, [main, "--channel=3"], {
    cwd: tmpdir(),
    env,
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
}

/** A program as its runner takes it. */
export async function bundleOf(language: RunnerLanguage, code: string): Promise<string> {
  const none = { modules: () => [], load: async () => undefined };
  const prepared =
    language === "python"
      ? await PYTHON_AS_IT_IS.prepare({ code, data: {}, language, fileName: "program.py" }, none as never, {
          mode: "off",
        })
      : await bundleProgram({ code, data: {}, language, fileName: "program.js" }, none);
  if (!prepared.ok) throw new Error(JSON.stringify(prepared));
  return prepared.bundle;
}
