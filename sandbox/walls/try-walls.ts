import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import { messageOf } from "../../base/faults.ts";
import { parseForeignJson } from "../../base/json.ts";
import { settlesWithin } from "../../base/waiting.ts";
import { parseClaim } from "../../protocol/claim.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import type { ProgramMessage } from "../../protocol/messages.ts";
import { WaitingSandbox } from "../pool/waiting-sandbox.ts";
import type { Sandbox } from "../sandbox.ts";
import type { SandboxEngine, StartedSandbox } from "../sandbox-engine.ts";
import { SandboxError } from "../sandbox-error.ts";
import { SandboxStarter, type StarterOptions, type StartingEngine } from "../sandbox-starter.ts";
import { ProbeFacts, type WallEvidence } from "./judge-walls.ts";

/** The memory of the sandbox whose program tries to use twice as much. It is small to spare the machine. */
const MEMORY_MB = 192;
const PROBE_PATIENCE_MS = 60_000;
/** A sandbox should end immediately, but is slower on a busy machine. */
const END_PATIENCE_MS = 20_000;
const OUTPUT_LIMITS = { max_output_bytes: 65_536, max_stderr_bytes: 4_096 };
const CLAIM_LIMITS = { maxBytes: 1024 * 1024, maxDepth: 16 };

const GREEDY = `
  const held = [];
  for (let mb = 0; mb < data.mb; mb += 16) held.push(Buffer.alloc(16 * 1024 * 1024, 1));
  globalThis.result = held.length;
`;
const BUSY = "console.error('started'); for (;;) {}";
/** A program that does everything it can to stay alive. */
const CLINGING = `
  import { spawn } from "node:child_process";
  import { readdirSync } from "node:fs";
  const own = new Set(readdirSync("/proc/self/task"));
  for (let pid = 1; pid < 32; pid++) {
    if (!own.has(String(pid))) try { process.kill(pid, "SIGSTOP"); } catch {}
  }
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"]) process.on(name, () => {});
  process.exit = process.reallyExit = () => {};
  spawn(process.execPath, ["-e", "for (;;) {}"], { detached: true, stdio: "ignore" });
  setTimeout(() => { console.error("started"); for (;;) {} }, 100);
`;

export type WallOptions = StarterOptions & {
  /** The source of probe.js. */
  probe: string;
  /** Existing paths of the host that programs must not see. */
  hostPaths: readonly string[];
  /** How long to wait for a sandbox to end, in milliseconds. */
  endPatienceMs?: number;
};

/**
 * Tests the walls of a sandbox by experiment. Takes some seconds and several sandboxes, which are all removed. Failures of experiments
 * are part of the result.
 */
export async function tryWalls(options: WallOptions): Promise<WallEvidence> {
  const processors = { allowed: options.limits.cpus, present: availableParallelism() };
  try {
    processors.present = (await options.engine.describe()).processors ?? processors.present;
    const inside = await tryInside(options);
    const [memory, kill, owner] = await Promise.all([
      tryMemory(options),
      tryEnding(options, BUSY, (experiment) => experiment.sandbox.kill()),
      tryEnding(options, CLINGING, async (experiment) => experiment.started.leave()),
    ]);
    return { processors, ...inside, exceedsMemory: memory, survivesKill: kill, survivesOwner: owner };
  } catch (error) {
    return { processors, problem: messageOf(error) };
  }
}

async function tryInside(
  options: WallOptions,
): Promise<Pick<WallEvidence, "facts" | "keepsKernelUnprivileged" | "keepsOutput" | "remains" | "problem">> {
  const { engine, limits } = options;
  const listener = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  try {
    const address = listener.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const threads = Math.ceil(limits.cpus) + 1;
    const hostPaths = options.hostPaths.filter((path) => existsSync(path));
    const data = { port, threads, processors: limits.cpus, hostPaths };
    const { id, line, ...kept } = await inSandbox(options, async (experiment) => {
      const { id } = experiment.sandbox;
      const keepsOutput = await engine.keepsOutput(id);
      const keepsKernelUnprivileged = await engine.keepsKernelUnprivileged?.(id);
      const line = await experiment.run(options.probe, data, PROBE_PATIENCE_MS);
      return { id, line, keepsOutput, keepsKernelUnprivileged };
    });
    const left = await engine.list();
    const remains = left.some((sandbox) => sandbox.id === id);
    const { facts, problem } = readFacts(line);
    return {
      ...kept,
      remains,
      facts,
      ...(problem === undefined ? {} : { problem }),
    };
  } finally {
    listener.close();
  }
}

function readFacts(line: string): { facts?: ProbeFacts; problem?: string } {
  if (line === "") return { problem: "the program that tries the walls did not come to its end" };
  const claim = parseClaim(parseForeignJson(line, CLAIM_LIMITS));
  if (claim?.ok !== true) {
    return { problem: `the program that tries the walls failed: ${claim?.error.message ?? "no claim"}` };
  }
  const facts = ProbeFacts.safeParse(claim.data);
  if (!facts.success) return { problem: "the program that tries the walls returned something else" };
  return { facts: facts.data };
}

/** Whether a program can use twice its allowed memory. */
async function tryMemory(options: WallOptions): Promise<boolean> {
  const { engine = options.engine } = (await options.engine.settled?.()) ?? {};
  const memoryMb = engine.hasFixedLimits === true ? options.limits.memoryMb : MEMORY_MB;
  const limits = { ...options.limits, memoryMb };
  const line = await inSandbox({ ...options, limits }, (experiment) =>
    experiment.run(GREEDY, { mb: 2 * memoryMb }, PROBE_PATIENCE_MS),
  );
  return line !== "";
}

/** Whether a program still runs after it has been ended in the given way. */
function tryEnding(
  options: WallOptions,
  code: string,
  end: (experiment: Experiment) => Promise<void>,
): Promise<boolean> {
  return inSandbox(options, async (experiment) => {
    experiment.send(code, {});
    await experiment.wrote("started", PROBE_PATIENCE_MS);
    await end(experiment);
    return !(await settlesWithin(experiment.sandbox.exited, options.endPatienceMs ?? END_PATIENCE_MS));
  });
}

/** Makes an experiment in a sandbox of its own, which is removed however the experiment ends. */
async function inSandbox<T>(
  options: StarterOptions,
  make: (experiment: Experiment) => Promise<T>,
): Promise<T> {
  const experiment = await Experiment.start(options);
  try {
    return await make(experiment);
  } finally {
    await experiment.sandbox.dispose();
  }
}

/** One sandbox with the normal profile and one program. */
class Experiment {
  readonly sandbox: Sandbox;
  readonly started: StartedSandbox;
  readonly #output: Output;

  private constructor(sandbox: Sandbox, started: StartedSandbox, output: Output) {
    this.sandbox = sandbox;
    this.started = started;
    this.#output = output;
  }

  static async start(options: StarterOptions): Promise<Experiment> {
    const output = new Output();
    let observed = undefined as StartedSandbox | undefined;
    const { walls: _, ...rest } = options;
    const engine = observing(options.engine, (started) => {
      observed = started;
    });
    const source = new SandboxStarter({ ...rest, engine });
    const waiting = await WaitingSandbox.start(source, new AbortController().signal);
    const { sandbox } = waiting;
    if (!waiting.take(output) || observed === undefined) {
      await sandbox.dispose();
      throw new SandboxError("start_failed", "a sandbox ended before it had a program");
    }
    // Messages of the runner are not needed, but must be read.
    sandbox.channel.resume();
    return new Experiment(sandbox, observed, output);
  }

  /** Runs a program and resolves with its line of output; empty if the sandbox ends without one. */
  async run(code: string, data: object, patienceMs: number): Promise<string> {
    this.send(code, data);
    await settlesWithin(this.sandbox.exited, patienceMs);
    return this.#output.stdout;
  }

  send(bundle: string, data: object): void {
    const program: ProgramMessage = { type: "program", bundle, data, ...OUTPUT_LIMITS };
    this.sandbox.channel.write(encodeFrame(program, MAX_REPLY_FRAME_BYTES));
  }

  /** Waits until the program has written `text`, or has ended. */
  async wrote(text: string, patienceMs: number): Promise<void> {
    await settlesWithin(Promise.race([this.#output.shows(text), this.sandbox.exited]), patienceMs);
  }
}

class Output {
  stdout = "";
  #stderr = "";
  #look = () => {};

  onStdout(chunk: Buffer): void {
    if (this.stdout.length < CLAIM_LIMITS.maxBytes) this.stdout += chunk.toString("utf8");
  }

  onStderr(chunk: Buffer): void {
    if (this.#stderr.length < CLAIM_LIMITS.maxBytes) this.#stderr += chunk.toString("utf8");
    this.#look();
  }

  shows(text: string): Promise<void> {
    return new Promise((resolve) => {
      this.#look = () => {
        if (this.#stderr.includes(text)) resolve();
      };
      this.#look();
    });
  }
}

function observing(engine: SandboxEngine, onStarted: (started: StartedSandbox) => void): StartingEngine {
  return {
    describe: () => engine.describe(),
    findImage: (reference) => engine.findImage(reference),
    async start(request, output) {
      const started = await engine.start(request, output);
      onStarted(started);
      return started;
    },
  };
}
