import { UNASKED } from "../../broker/approvals/approvals.ts";
import type { CallDispatcher } from "../../broker/dispatcher.ts";
import type { ExecutedProgram } from "../../execution/output/executed-run.ts";
import { executeProgram, type ProgramScope } from "../../execution/program.ts";
import type { Program } from "../../languages/program.ts";
import { TYPESCRIPT } from "../../languages/typescript/language.ts";
import { openTypeScript } from "../../languages/typescript/typescript.ts";
import { KeptSandbox } from "../../sandbox/kept-sandbox.ts";
import { SandboxStarter } from "../../sandbox/sandbox-starter.ts";
import { Redactor } from "../../secrets/redaction.ts";
import { modulesOf } from "../languages/module-texts.ts";
import { PYTHON_AS_IT_IS } from "../languages/python-as-it-is.ts";
import { ProcessEngine } from "./process-engine.ts";
import type { RunnerLanguage } from "./runner-process.ts";

const LIMITS = {
  timeoutMs: 20_000,
  maxOutputBytes: 65_536,
  maxStderrBytes: 65_536,
  maxParallelCalls: 10,
  maxToolCalls: 5,
};

/** A session without a wall, whose tools are one function. */
export class SessionOfPrograms {
  readonly engine = new ProcessEngine();
  readonly kept: KeptSandbox;
  /** The tools that were called, by program. */
  readonly called: string[][] = [];
  readonly #language: RunnerLanguage;
  readonly #earlier: Program[] = [];

  constructor(language: RunnerLanguage) {
    this.#language = language;
    this.kept = new KeptSandbox(
      new SandboxStarter({
        engine: this.engine,
        owner: "me",
        image: "none",
        runtime: "none",
        runner: language,
        limits: { memoryMb: 512, cpus: 1, pids: 64 },
      }),
    );
  }

  async run(
    code: string,
    options: Partial<Pick<ProgramScope, "environment" | "limits">> = {},
  ): Promise<ExecutedProgram> {
    const calls: string[] = [];
    this.called.push(calls);
    const dispatcher: CallDispatcher = {
      async dispatch(call) {
        calls.push(call.tool);
        return { ok: true, data: call.arguments, raw: null, bytes: 1, decision: "allowed" } as never;
      },
    };
    const fileName = this.#language === "python" ? "program.py" : "program.ts";
    const language = this.#language === "python" ? "python" : "typescript";
    const program: Program = { code, data: {}, language, fileName };
    const executed = await executeProgram({
      program,
      sandboxes: this.kept,
      languages: [{ ...TYPESCRIPT, ...openTypeScript() }, PYTHON_AS_IT_IS],
      modules: modulesOf({}),
      dispatcher,
      approver: { ask: async () => UNASKED },
      redactor: new Redactor([]),
      clock: { monotonicMs: () => performance.now() },
      toolVersion: "0.0.0",
      limits: LIMITS,
      typecheck: "off",
      session: {
        place: { id: "0", position: this.#earlier.length + 1 },
        earlier: [...this.#earlier],
      },
      signal: new AbortController().signal,
      ...options,
    });
    await executed.cleared;
    this.#earlier.push(program);
    return executed;
  }

  /** What a program comes to: its value, or its failure. */
  async value(code: string): Promise<unknown> {
    const { result } = (await this.run(code)).envelope;
    return result.ok ? result.data : `${result.error.type}: ${result.error.message}`;
  }
}
