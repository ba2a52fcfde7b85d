import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { Dispatcher } from "../../broker/dispatcher.ts";
import { Redactor } from "../../broker/redaction.ts";
import type { KnownTool } from "../../broker/tool-table.ts";
import {
  type ExecutedProgram,
  type ExecutionLimits,
  type ExecutionParts,
  executeProgram,
} from "../../execution/execute-program.ts";
import type { Language } from "../../execution/program.ts";
import type { ConsoleEntry } from "../../protocol/console-stream.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import { DockerEngine } from "../../sandbox/docker-engine.ts";
import { OWNER_LABEL } from "../../sandbox/leftovers.ts";
import { OnDemandSource } from "../../sandbox/on-demand-source.ts";
import { currentProcess, formatIdentity } from "../../sandbox/process-identity.ts";
import type { SandboxSource } from "../../sandbox/sandbox.ts";
import { StateDirectory } from "../../sandbox/state-directory.ts";

/** Answers a call of the in-memory server `desk`. */
export type DeskTool = (args: Record<string, unknown>) => unknown;

interface RunInput {
  data?: unknown;
  language?: Language;
  limits?: Partial<ExecutionLimits>;
  signal?: AbortSignal;
}

export interface Ran extends ExecutedProgram {
  result: Envelope["result"];
  /** What the program printed, by stream. */
  console: Record<ConsoleEntry["stream"], string>;
}

const LIMITS: ExecutionLimits = {
  timeoutMs: 60_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 262_144,
  maxParallelCalls: 10,
  maxToolCalls: 1_000,
};

/**
 * Opens real sandboxes for the tests of this `describe`, and has each test prove that it left nothing of them behind.
 * Returns the function that runs a program in one.
 */
export function useRealSandboxes(
  tools: Record<string, DeskTool> = {},
  options: { pids?: number } = {},
): RealSandboxes["run"] {
  let sandboxes: RealSandboxes;
  beforeAll(() => {
    sandboxes = new RealSandboxes(tools, options);
  });
  afterEach(async () => {
    expect(await sandboxes.leftovers()).toEqual([]);
  });
  afterAll(() => sandboxes.close());
  return (code, input) => sandboxes.run(code, input);
}

/** Real sandboxes for programs whose tools are functions in this process: server `desk`, module `servers/desk`. */
export class RealSandboxes {
  readonly #engine = new DockerEngine();
  readonly #base = mkdtempSync(join(tmpdir(), "ptc-walls-"));
  readonly #owner = formatIdentity(currentProcess());
  readonly #parts: ExecutionParts;

  /** @param over what is put over the source that starts each sandbox when it is asked for. */
  constructor(
    tools: Record<string, DeskTool> = {},
    { image = "ptc-runner", pids = 256, over = (source: OnDemandSource): SandboxSource => source } = {},
  ) {
    const source = new OnDemandSource({
      engine: this.#engine,
      state: new StateDirectory(this.#base, currentProcess()),
      owner: this.#owner,
      image,
      runtime: "runsc",
      limits: { memoryMb: 512, cpus: 1, pids },
    });
    this.#parts = {
      sandboxes: over(source),
      modules: deskModule(Object.keys(tools)),
      dispatcher: deskDispatcher(tools),
      approver: { ask: async () => ({ decision: "denied", by: "nobody" }) },
      redactor: new Redactor([]),
      clock: { nowMs: () => performance.now() },
      toolVersion: "0.0.0",
    };
  }

  /** Runs one program and waits until its sandbox is gone. */
  async run(
    code: string,
    { data = {}, language = "javascript", limits, signal }: RunInput = {},
  ): Promise<Ran> {
    const console = { out: "", err: "" };
    const executed = await executeProgram({ code, data, language, fileName: "program.js" }, this.#parts, {
      limits: { ...LIMITS, ...limits },
      typecheck: "off",
      onConsole: ({ stream, text }) => {
        console[stream] += text;
      },
      signal: signal ?? new AbortController().signal,
    });
    await executed.cleared;
    return { ...executed, result: executed.envelope.result, console };
  }

  /** Ids of this process's containers. */
  async containers(): Promise<string[]> {
    const containers = await this.#engine.listLabelled(OWNER_LABEL);
    return containers.filter(({ labels }) => labels[OWNER_LABEL] === this.#owner).map(({ id }) => id);
  }

  /** Containers of this process, and folders of sandboxes on its disk. */
  async leftovers(): Promise<string[]> {
    const folders = readdirSync(join(this.#base, this.#owner));
    return [...(await this.containers()), ...folders.filter((name) => name !== "empty" && name !== "groups")];
  }

  close(): void {
    rmSync(this.#base, { recursive: true, force: true });
  }
}

function deskModule(tools: string[]): ExecutionParts["modules"] {
  const exports = tools.map((name) => `export const ${name} = tool<any, any>("mcp__desk__${name}");`);
  const text = ['import { tool } from "../../runtime.js";', ...exports].join("\n");
  return {
    declarations: "",
    modules: () => ["desk"],
    load: async (module) => (module === "desk" ? text : undefined),
  };
}

function deskDispatcher(tools: Record<string, DeskTool>): Dispatcher {
  const known = Object.keys(tools).map((name): [string, KnownTool] => {
    const namespacedName = `mcp__desk__${name}`;
    const schema = { inputSchema: { type: "object" }, outputSchema: undefined };
    const rest = { server: "desk", name, definitionDigest: name, destructive: false };
    return [namespacedName, { namespacedName, ...rest, ...schema }];
  });
  return new Dispatcher({
    tools: new Map(known),
    policy: { allow: undefined, block: [], ask: [], neverAsk: [] },
    validator: { check: async () => undefined, close: async () => {} },
    servers: {
      connect: async () => ({
        definitionDigest: (tool) => tool,
        call: async (tool, args) => ({
          content: [],
          structuredContent: await tools[tool]?.(args as Record<string, unknown>),
        }),
      }),
    },
  });
}
