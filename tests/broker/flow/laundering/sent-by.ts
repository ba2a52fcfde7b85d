import { RunApprovals } from "../../../../broker/approvals/approvals.ts";
import type { CallOutcome } from "../../../../broker/dispatcher.ts";
import { Conversation } from "../../../../broker/flow/conversation.ts";
import { RunFlow } from "../../../../broker/flow/run-flow.ts";
import { DataFlow, refusedValues } from "../../../../broker/policy/data-flow.ts";
import { type ExperimentParts, Experiments } from "../../../../execution/experiment/experiments.ts";
import { RunnerOutput } from "../../../../execution/output/runner-output.ts";
import { runInside } from "../../../../execution/run-inside.ts";
import { TimeLimit } from "../../../../execution/time-limit.ts";
import { encodePythonBundle } from "../../../../protocol/runners.ts";
import type { SandboxOutput } from "../../../../sandbox/sandbox.ts";
import type { SandboxRequest } from "../../../../sandbox/sandbox-engine.ts";
import { SandboxStarter } from "../../../../sandbox/sandbox-starter.ts";
import { Redactor } from "../../../../secrets/redaction.ts";
import { LIMITS } from "../../../execution/program-parts.ts";
import { ProcessEngine } from "../../../runner-image/process-engine.ts";
import { InProcessEngine } from "../../../sandbox/in-process-engine.ts";

export type ProgramLanguage = "javascript" | "python";

/** Programs of one conversation, and what their tools answer. */
export interface Played {
  readonly language: ProgramLanguage;
  readonly programs: readonly string[];
  /** What the labelled tool answers. */
  readonly data: unknown;
  readonly said: string;
}

const FLOW = new DataFlow(
  new Map([
    ["mail", { labels: ["untrusted"], tools: { send: { accepts: { to: [], "*": ["untrusted"] } } } }],
    ["contacts", { tools: {} }],
    ["texts", { tools: {} }],
  ]),
  { isSticky: true },
);
const CONTACTS = [{ name: "Carol", email: "carol@partner.test" }];
const TIMEOUT_MS = 60_000;
const AsyncFunction = (async () => {}).constructor as new (
  ...words: string[]
) => (...args: unknown[]) => Promise<unknown>;

/** Runs a program in JavaScript as a function of this process, and one in Python in a runner of its own. */
class LaundryEngine extends InProcessEngine {
  readonly #python = new ProcessEngine();

  constructor(code: string) {
    super(async ({ call, print }) => {
      const callTool = async (tool: string, args: unknown) => {
        const reply = await call(`mcp__${tool.replace(".", "__")}`, args);
        if (!reply.ok) throw new Error(reply.error.message);
        return reply.data;
      };
      await new AsyncFunction("callTool", "print", code)(callTool, print).catch(() => {});
      return null;
    });
  }

  override async start(request: SandboxRequest, output: SandboxOutput) {
    return request.runner === "python" ? this.#python.start(request, output) : super.start(request, output);
  }
}

/** Runs the programs of a conversation. Returns the values that were sent in `to`. */
export async function sentBy({ language, data, programs, said }: Played): Promise<unknown[]> {
  const conversation = new Conversation();
  conversation.say(said);
  const sent: unknown[] = [];
  for (const [index, code] of programs.entries()) {
    const flow = new RunFlow({ conversation, runId: `${index}`, isSticky: true, program: [code] });
    const parts = partsOf(code, language, flow);
    const experiments = new Experiments(parts, 0);
    flow.experimentWith(experiments.try);
    const shown: string[] = [];
    const call = async (tool: string, args: unknown, seq: number): Promise<CallOutcome> => {
      const [, server = "", name = ""] = tool.split("__");
      const called = { tool, server, seq };
      let values = await flow.follow({ ...called, arguments: args });
      let refused = refusedValues(FLOW, { server, name }, values);
      if (refused.length > 0 && refused[0]?.isUndecided === true) {
        values = await values.settle(refused.map(({ leaf, labels }) => ({ path: leaf.path, labels })));
        refused = refusedValues(FLOW, { server, name }, values);
      }
      if (refused.length > 0)
        return {
          ok: false,
          error: { kind: "denied", message: "refused" },
          decision: "denied",
          bytes: 0,
        } as never;
      if (tool === "mcp__mail__send") sent.push((args as { to: unknown }).to);
      const answer = answerOf(tool, args, data);
      flow.answered(called, FLOW.labelsOf({ server, name }) ?? [], values, [answer]);
      return {
        ok: true,
        data: structuredClone(answer),
        raw: { content: [] },
        decision: "allowed",
        bytes: 10,
      };
    };
    await runOnce(parts, experiments, call, (text) => void shown.push(text));
    await flow.show(shown);
  }
  return sent;
}

function partsOf(code: string, language: ProgramLanguage, flow: RunFlow): ExperimentParts {
  const source = { mode: "sync", source: code, file_name: "p.py", modules: {} } as const;
  const bundle = language === "python" ? encodePythonBundle(source) : "1";
  return {
    scope: {
      limits: { ...LIMITS, maxParallelCalls: 10, maxToolCalls: 1_000 },
      clock: { monotonicMs: () => 0 },
      redactor: new Redactor([]),
    },
    program: { code, data: {}, language, fileName: language === "python" ? "p.py" : "p.js" },
    prepared: {
      ...{ ok: true, bundle, runner: language, hints: [] },
      idioms: { output: "say", value: "value" },
    } as unknown as ExperimentParts["prepared"],
    environment: { seed: "5e".repeat(32), time_zone: "UTC" },
    sandboxes: new SandboxStarter({
      ...{ engine: new LaundryEngine(code), owner: "me", image: "none", runtime: "none", runner: language },
      limits: { memoryMb: 512, cpus: 1, pids: 64 },
    }),
    flow,
    signal: new AbortController().signal,
  };
}

async function runOnce(
  { scope, program, prepared, environment, sandboxes, signal }: ExperimentParts,
  experiments: Experiments,
  call: (tool: string, args: unknown, seq: number) => Promise<CallOutcome>,
  onPrinted: (text: string) => void,
): Promise<void> {
  const { limits, clock, redactor } = scope;
  const output = new RunnerOutput(limits, 100_000, ({ text }) => onPrinted(text), redactor);
  const sandbox = await sandboxes.acquire(
    { onStdout: (chunk) => output.onStdout(chunk), onStderr: (chunk) => output.onStderr(chunk) },
    signal,
  );
  let seq = 0;
  try {
    await runInside(sandbox, {
      scope: {
        dispatcher: {
          dispatch: (requested, run) => {
            const own = ++seq;
            const around = experiments.aroundCalls(() => call(requested.tool, requested.arguments, own));
            return around(requested, { ...run, seq: own });
          },
        },
        ...{ limits, clock, program },
      },
      run: {
        ...{ approvals: new RunApprovals("", NOBODY), recording: undefined, suspension: undefined },
        ...{ observers: [], signal, faulted: signal, elapsedMs: () => 0 },
      },
      ...{ prepared, output, environment, timeLimit: new TimeLimit(TIMEOUT_MS, clock) },
    });
  } finally {
    await sandbox.dispose();
  }
}

const NOBODY = { ask: async () => ({ decision: "denied" as const, by: "nobody" }) };

function answerOf(tool: string, args: unknown, data: unknown): unknown {
  if (tool === "mcp__mail__read") return data;
  if (tool === "mcp__contacts__list") return CONTACTS;
  if (tool === "mcp__texts__reverse") return [...String((args as { text: unknown }).text)].reverse().join("");
  return { ok: true };
}
