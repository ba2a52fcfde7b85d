import { Dispatcher } from "../../broker/dispatcher.ts";
import { PolicyAuthorizer } from "../../broker/policy/authorizer.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import type { Tool } from "../../catalog/tool.ts";
import type { RunLimits } from "../../execution/output/runner-output.ts";
import type { Program } from "../../languages/program.ts";
import { TYPESCRIPT } from "../../languages/typescript/language.ts";
import { openTypeScript } from "../../languages/typescript/typescript.ts";
import { SandboxStarter } from "../../sandbox/sandbox-starter.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { toolOf } from "../../tests/catalog/tool-of.ts";
import type { ProgramParts } from "../../tests/execution/program-parts.ts";
import type { ToolCall } from "../../upstream/upstream.ts";
import type { SandboxedBench } from "./brokered-call.ts";

export const LIMITS: RunLimits = {
  timeoutMs: 60_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 262_144,
  maxParallelCalls: 10,
  maxToolCalls: 1_000,
};

const TOOL = toolOf("bench", "page", {
  definitionDigest: `sha256:${"0".repeat(64)}`,
  inputSchema: { type: "object", properties: { page: { type: "number" } }, required: ["page"] },
});

export const BENCH_TOOLS: ReadonlyMap<string, Tool> = new Map([[TOOL.namespacedName, TOOL]]);

/** Opens what programs of a benchmark need: real sandboxes, and a server that answers at once with a kilobyte. */
export function openBench({ engine, image }: SandboxedBench) {
  const limits = { memoryMb: 512, cpus: 1, pids: 256 };
  const source = new SandboxStarter({ engine, owner: "bench", image, runtime: "runsc", limits });
  const validator = new IsolatingValidator();
  const call = async ({ arguments: args }: ToolCall) => ({
    content: [
      { type: "text", text: JSON.stringify({ ...(args as object), text: "lorem ipsum ".repeat(80) }) },
    ],
  });
  const server = { definitionDigest: () => TOOL.definitionDigest, call };
  const parts: Omit<ProgramParts, "sandboxes"> = {
    languages: [{ ...TYPESCRIPT, ...openTypeScript() }],
    modules: { modules: () => [], load: async () => undefined },
    dispatcher: new Dispatcher({
      context: { principal: "local", source: "run" },
      tools: BENCH_TOOLS,
      authorizer: new PolicyAuthorizer({
        allow: undefined,
        block: [],
        ask: [],
        neverAsk: [],
        byDefault: "annotated",
      }),
      servers: { connect: async () => server },
      validator,
    }),
    approver: { ask: async () => ({ decision: "denied", by: "nobody" }) },
    redactor: new Redactor([]),
    clock: { monotonicMs: () => performance.now() },
    toolVersion: "bench",
  };
  return { source, parts, close: () => validator.close() };
}

export function benchProgram(code: string): Program {
  return { code, data: {}, language: "javascript", fileName: "bench.js" };
}
