import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll } from "vitest";
import { SandboxConnection } from "../../../broker/sandbox-connection.ts";
import { bundleProgram } from "../../../languages/typescript/bundling/bundle.ts";
import { type Claim, parseClaim } from "../../../protocol/claim.ts";
import { ConsoleDecoder } from "../../../protocol/console-stream.ts";
import type { Call, ProgramEnvironment, Trace } from "../../../protocol/messages.ts";
import { encodePythonBundle, type RunnerName } from "../../../protocol/runners.ts";
import type { SandboxEngine } from "../../../sandbox/sandbox-engine.ts";
import { SandboxStarter } from "../../../sandbox/sandbox-starter.ts";
import { currentProcess, formatIdentity } from "../../../system/process-identity.ts";
import { openTestedEngine } from "../tested-engine.ts";

/** Answers a call; one that throws fails it. */
type Answer = (call: { tool: string; args: Record<string, unknown> }) => Promise<unknown>;

interface ProgramRecord {
  claim: Claim | undefined;
  console: string;
  /** The program's calls in its own order, with what they were answered. */
  calls: { tool: string; args: unknown; data: unknown }[];
  trace: Trace | undefined;
  environment: ProgramEnvironment;
}

export interface RecordedPrograms {
  /** Runs a program live, its calls answered by `answer`. */
  record(code: string, answer?: Answer, environment?: Partial<ProgramEnvironment>): Promise<ProgramRecord>;
  /** Runs it again with everything as it was recorded, and each call answered at once. */
  replay(code: string, record: ProgramRecord): Promise<ProgramRecord>;
}

/** Answers after a time that is another in every run. */
export const unsteady = async ({ args }: { args: Record<string, unknown> }) => {
  await sleep(Math.random() * 40);
  return { echo: args };
};

const LIMITS = { maxParallelCalls: 100, maxToolCalls: 1_000, maxOutputBytes: 65_536, maxStderrBytes: 65_536 };

/**
 * Sandboxes in which a test speaks the host's side of the protocol itself. @param engine opens another engine than the tested one, for
 * sandboxes with their files in a folder. @param image its image @param runner of the programs
 */
export function useRecordedPrograms(
  engine: (folder: string) => SandboxEngine = openTestedEngine,
  image = "ptc-runner",
  runner: RunnerName = "javascript",
): RecordedPrograms {
  const base = mkdtempSync(join(tmpdir(), "ptc-replay-"));
  let opened: RecordedPrograms;
  beforeAll(() => {
    opened = recordedPrograms(engine(base), image, runner);
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));
  return {
    record: (...args) => opened.record(...args),
    replay: (...args) => opened.replay(...args),
  };
}

async function javascriptBundle(code: string): Promise<string> {
  const program = { code, data: {}, language: "javascript", fileName: "program.js" } as const;
  const bundled = await bundleProgram(program, { modules: () => [], load: async () => undefined });
  if (!bundled.ok) throw new Error(bundled.message);
  return bundled.bundle;
}

/** Of a program that awaits its calls. */
const pythonBundle = (source: string) =>
  encodePythonBundle({ mode: "async", source, file_name: "program.py", modules: {} });

/** The same outside a test, with an engine that is open. */
export function recordedPrograms(
  engine: SandboxEngine,
  image: string,
  runner: RunnerName = "javascript",
): RecordedPrograms {
  const source = new SandboxStarter({
    engine,
    owner: formatIdentity(currentProcess()),
    image,
    runtime: "runsc",
    runner,
    limits: { memoryMb: 512, cpus: 1, pids: 256 },
  });

  async function run(code: string, answer: Answer, environment: ProgramEnvironment): Promise<ProgramRecord> {
    const calls: ProgramRecord["calls"] = [];
    const stdout: Buffer[] = [];
    const decoder = new ConsoleDecoder(LIMITS.maxOutputBytes);
    let printed = "";
    const sandbox = await source.acquire({
      onStdout: (chunk) => void stdout.push(chunk),
      onStderr(chunk) {
        for (const { stream, text } of decoder.push(chunk)) printed += `${stream} ${text}`;
      },
    });
    try {
      const connection = new SandboxConnection(sandbox.channel, LIMITS, async (call: Call) => {
        const { tool } = call;
        const args = call.arguments as Record<string, unknown>;
        const entry = { tool, args, data: undefined as unknown };
        calls[call.id] = entry;
        entry.data = await answer({ tool, args });
        return { ok: true, data: entry.data, raw: null, bytes: 0 };
      });
      await connection.ready;
      connection.sendProgram({
        type: "program",
        bundle: runner === "python" ? pythonBundle(code) : await javascriptBundle(code),
        data: {},
        max_output_bytes: LIMITS.maxOutputBytes,
        max_stderr_bytes: LIMITS.maxStderrBytes,
        environment,
      });
      await connection.ended;
      await sandbox.exited;
      const claim = parseClaim(JSON.parse(Buffer.concat(stdout).toString() || "null"));
      return { claim, console: printed, calls, trace: connection.trace, environment };
    } finally {
      await sandbox.dispose();
    }
  }

  return {
    record: (code, answer = async () => null, environment = {}) =>
      run(code, answer, { seed: randomBytes(32).toString("hex"), ...environment }),
    replay(code, { calls, trace, environment }) {
      if (trace === undefined) throw new Error("the run left no trace");
      const left = [...calls];
      const recorded: Answer = async ({ tool, args }) => {
        const key = JSON.stringify(args);
        const at = left.findIndex((call) => call?.tool === tool && JSON.stringify(call.args) === key);
        const [call] = left.splice(at, 1);
        if (at === -1 || call === undefined) throw new Error(`${tool} ${key} was not recorded`);
        return call.data;
      };
      return run(code, recorded, { ...environment, replay: trace });
    },
  };
}
