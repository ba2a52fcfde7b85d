import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { type Approver, UNASKED } from "../../broker/approvals/approvals.ts";
import { Dispatcher } from "../../broker/dispatcher.ts";
import { PolicyAuthorizer } from "../../broker/policy/authorizer.ts";
import type { ExecutedProgram } from "../../execution/output/executed-run.ts";
import type { RunLimits } from "../../execution/output/runner-output.ts";
import { executeProgram } from "../../execution/program.ts";
import type { RunRecorder } from "../../execution/record/run-recorder.ts";
import type { ProgramSession } from "../../languages/program.ts";
import { TYPESCRIPT } from "../../languages/typescript/language.ts";
import { openTypeScript } from "../../languages/typescript/typescript.ts";
import type { ConsoleEntry } from "../../protocol/console-stream.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import type { ProgramEnvironment } from "../../protocol/messages.ts";
import type { SandboxSource } from "../../sandbox/sandbox.ts";
import type { ChannelPreference, SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { SandboxStarter } from "../../sandbox/sandbox-starter.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { currentProcess, formatIdentity } from "../../system/process-identity.ts";
import { toolOf } from "../catalog/tool-of.ts";
import type { ProgramParts } from "../execution/program-parts.ts";
import { modulesOf } from "../languages/module-texts.ts";
import { PYTHON_AS_IT_IS } from "../languages/python-as-it-is.ts";
import { ProcessEngine } from "../runner-image/process-engine.ts";
import { openTestedEngine } from "./tested-engine.ts";

/** Answers a call of the in-memory server `desk`. */
export type DeskTool = (args: Record<string, unknown>) => unknown;

interface RunInput {
  data?: unknown;
  language?: string;
  limits?: Partial<RunLimits>;
  signal?: AbortSignal;
  /** What the program is told about the world. */
  environment?: ProgramEnvironment;
  /** The session that it runs in. */
  session?: ProgramSession;
}

export interface Ran extends ExecutedProgram {
  result: Envelope["result"];
  /** What the program printed, by stream. */
  console: Record<ConsoleEntry["stream"], string>;
}

const LIMITS: RunLimits = {
  timeoutMs: 60_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 262_144,
  maxParallelCalls: 10,
  maxToolCalls: 1_000,
};

const REMOVAL_MS = 10_000;

interface RealSandboxesOptions {
  /** Opens another engine than the tested one, for sandboxes with their files in a folder. */
  open?: (folder: string) => SandboxEngine;
  image?: string;
  pids?: number;
  channel?: ChannelPreference;
  /** Put over the source that starts each sandbox when it is asked for. */
  over?: (source: SandboxStarter) => SandboxSource;
  /** Patterns of tools that need an approval, and who is asked. */
  ask?: string[];
  approver?: Approver;
  recorder?: RunRecorder;
}

/** `PTC_TEST_CHANNEL=attached` has every test use that channel that names none. */
function channelFromEnvironment(): ChannelPreference {
  const { PTC_TEST_CHANNEL: channel } = process.env;
  return channel === "attached" || channel === "socket" ? channel : "auto";
}

/**
 * Opens real sandboxes for the tests of this `describe`, and has each test prove that it left nothing of them behind.
 * Returns the function that runs a program in one.
 */
export function useRealSandboxes(
  tools: Record<string, DeskTool> = {},
  options: RealSandboxesOptions = {},
): RealSandboxes["run"] {
  let sandboxes: RealSandboxes;
  beforeAll(() => {
    sandboxes = new RealSandboxes(tools, options);
  });
  afterEach(async () => {
    // On a busy machine the engine may list for a moment what it has removed.
    await expect.poll(() => sandboxes.leftovers(), { timeout: REMOVAL_MS }).toEqual([]);
  });
  afterAll(() => sandboxes.close());
  return (code, input) => sandboxes.run(code, input);
}

/** Opens runners as processes of this machine, without a wall, for claims about what runners do. */
export function useRunnerProcesses(tools: Record<string, DeskTool> = {}): RealSandboxes["run"] {
  return useRealSandboxes(tools, { open: () => new ProcessEngine() });
}

/** Real sandboxes for programs whose tools are functions in this process: server `desk`, module `servers/desk`. */
export class RealSandboxes {
  readonly #engine: SandboxEngine;
  readonly #base = mkdtempSync(join(tmpdir(), "ptc-walls-"));
  readonly #owner = formatIdentity(currentProcess());
  readonly #parts: ProgramParts;

  constructor(tools: Record<string, DeskTool> = {}, options: RealSandboxesOptions = {}) {
    const {
      image = process.env.PTC_TEST_IMAGE ?? "ptc-runner",
      pids = 256,
      channel = channelFromEnvironment(),
      over = (source) => source,
      ask = [],
      approver,
      recorder,
      open = (folder) => openTestedEngine(folder, channel),
    } = options;
    this.#engine = open(this.#base);
    const source = new SandboxStarter({
      engine: this.#engine,
      owner: this.#owner,
      image,
      runtime: "runsc",
      limits: { memoryMb: 512, cpus: 1, pids },
    });
    this.#parts = {
      sandboxes: over(source),
      languages: [{ ...TYPESCRIPT, ...openTypeScript() }, PYTHON_AS_IT_IS],
      modules: deskModule(Object.keys(tools)),
      dispatcher: deskDispatcher(tools, ask),
      approver: approver ?? { ask: async () => UNASKED },
      redactor: new Redactor([]),
      recorder,
      clock: { monotonicMs: () => performance.now() },
      toolVersion: "0.0.0",
    };
  }

  /** Runs one program and waits until its sandbox is gone. */
  async run(
    code: string,
    { data = {}, language = "javascript", limits, signal, environment, session }: RunInput = {},
  ): Promise<Ran> {
    const console = { out: "", err: "" };
    const fileName = language === "python" ? "program.py" : "program.js";
    const executed = await executeProgram({
      ...this.#parts,
      program: { code, data, language, fileName },
      limits: { ...LIMITS, ...limits },
      typecheck: "off",
      onConsole: ({ stream, text }) => {
        console[stream] += text;
      },
      signal: signal ?? new AbortController().signal,
      ...(environment === undefined ? {} : { environment }),
      session,
    });
    await executed.cleared;
    return { ...executed, result: executed.envelope.result, console };
  }

  /** Ids of this process's containers. */
  async containers(): Promise<string[]> {
    const sandboxes = await this.#engine.list();
    return sandboxes.filter(({ owner }) => owner === this.#owner).map(({ id }) => id);
  }

  /** Containers of this process, and folders of sandboxes on its disk. */
  async leftovers(): Promise<string[]> {
    return [...(await this.containers()), ...readdirSync(this.#base)];
  }

  close(): void {
    rmSync(this.#base, { recursive: true, force: true });
  }
}

function deskModule(tools: string[]): ProgramParts["modules"] {
  const exports = tools.map((name) => `export const ${name} = tool<any, any>("mcp__desk__${name}");`);
  const text = ['import { tool } from "../../runtime.js";', ...exports].join("\n");
  return modulesOf({ desk: text });
}

function deskDispatcher(tools: Record<string, DeskTool>, ask: string[]): Dispatcher {
  const known = Object.keys(tools).map((name) => toolOf("desk", name));
  return new Dispatcher({
    context: { principal: "local", source: "run" },
    tools: new Map(known.map((tool) => [tool.namespacedName, tool])),
    authorizer: new PolicyAuthorizer({
      allow: undefined,
      block: [],
      ask,
      neverAsk: [],
      byDefault: "annotated",
    }),
    validator: { check: async () => undefined, close: async () => {} },
    servers: {
      connect: async () => ({
        definitionDigest: (tool) => tool,
        call: async ({ tool, arguments: args }) => ({
          content: [],
          structuredContent: await tools[tool]?.(args as Record<string, unknown>),
        }),
      }),
    },
  });
}
