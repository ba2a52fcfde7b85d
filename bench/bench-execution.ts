import { Dispatcher } from "../broker/dispatcher.ts";
import { Redactor } from "../broker/redaction.ts";
import { IsolatingValidator } from "../broker/schema-validator.ts";
import type { KnownTool, ToolTable } from "../broker/tool-table.ts";
import type { ExecutionLimits, ExecutionParts } from "../execution/execute-program.ts";
import type { Program } from "../execution/program.ts";
import { OnDemandSource } from "../sandbox/on-demand-source.ts";
import type { SandboxedBench } from "./brokered-call.ts";

export const LIMITS: ExecutionLimits = {
  timeoutMs: 60_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 262_144,
  maxParallelCalls: 10,
  maxToolCalls: 1_000,
};

const TOOL: KnownTool = {
  namespacedName: "mcp__bench__page",
  server: "bench",
  name: "page",
  definitionDigest: `sha256:${"0".repeat(64)}`,
  inputSchema: { type: "object", properties: { page: { type: "number" } }, required: ["page"] },
  outputSchema: undefined,
  destructive: false,
};

export const TOOLS: ToolTable = new Map([[TOOL.namespacedName, TOOL]]);

/** What programs of a benchmark run with: real sandboxes, and one server that answers at once, a kilobyte a call. */
export function openBench({ engine, state, image }: SandboxedBench) {
  const limits = { memoryMb: 512, cpus: 1, pids: 256 };
  const source = new OnDemandSource({ engine, state, owner: "bench", image, runtime: "runsc", limits });
  const validator = new IsolatingValidator();
  const call = async (_tool: string, args: unknown) => ({
    content: [
      { type: "text", text: JSON.stringify({ ...(args as object), text: "lorem ipsum ".repeat(80) }) },
    ],
  });
  const server = { definitionDigest: () => TOOL.definitionDigest, call };
  const parts: Omit<ExecutionParts, "sandboxes"> = {
    modules: { declarations: "", modules: () => [], load: async () => undefined },
    dispatcher: new Dispatcher({
      tools: TOOLS,
      policy: { allow: undefined, block: [], ask: [], neverAsk: [] },
      servers: { connect: async () => server },
      validator,
    }),
    approver: { ask: async () => ({ decision: "denied", by: "nobody" }) },
    redactor: new Redactor([]),
    clock: { nowMs: () => performance.now() },
    toolVersion: "bench",
  };
  return { source, parts, close: () => validator.close() };
}

export function benchProgram(code: string): Program {
  return { code, data: {}, language: "javascript", fileName: "bench.js" };
}
