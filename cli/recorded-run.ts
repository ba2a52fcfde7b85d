import * as z from "zod";
import type { ArchivedRun } from "../archive/read-run.ts";
import type { CallDecision } from "../broker/dispatcher.ts";
import { RUNTIME_DECLARATIONS } from "../codegen/print-runtime.ts";
import type { Language } from "../execution/program.ts";
import type { RecordedRun } from "../execution/replay-program.ts";
import type { InsideLimits } from "../execution/run-inside.ts";
import type { CheckedModules } from "../execution/type-check.ts";
import type { CallError, ProgramEnvironment } from "../protocol/messages.ts";
import { Trace } from "../protocol/messages.ts";

const Options = z.object({
  timeout_ms: z.int().min(1),
  max_output_bytes: z.int().min(1),
  max_stderr_bytes: z.int().min(1),
  max_parallel_calls: z.int().min(1),
  max_tool_calls: z.int().min(1),
  typecheck: z.enum(["error", "warn", "off"]),
});

const Environment = z.object({
  seed: z.string().regex(/^[0-9a-f]{64}$/),
  time_zone: z.string().max(128).optional(),
  trace: z.optional(Trace),
});

export interface Replayable {
  run: RecordedRun;
  /** The generated modules as they were. */
  modules: CheckedModules;
  limits: InsideLimits;
  typecheck: "error" | "warn" | "off";
}

/** Reads what a replay needs of an archived run; `undefined` when another version of ptc archived it in another form. */
export function toReplayable(archived: ArchivedRun): Replayable | undefined {
  const { record } = archived;
  const options = Options.safeParse(record.options).data;
  const environment = Environment.safeParse(archived.environment).data;
  if (options === undefined || environment === undefined) return undefined;
  return {
    run: {
      program: {
        code: archived.code,
        data: archived.data,
        language: record.language as Language,
        fileName: record.file_name,
      },
      envelope: archived.envelope,
      consoleText: archived.consoleText,
      calls: record.calls.map((call) => ({
        seq: call.seq + 1,
        tool: call.tool,
        argumentsDigest: call.arguments,
        decision: call.decision as CallDecision,
        bytes: call.result_bytes,
        arguments: () => archived.argumentsOf(call),
        outcome: () => {
          const outcome = archived.outcomeOf(call);
          return outcome.ok ? outcome : { ...outcome, error: outcome.error as CallError };
        },
      })),
      environment: replayedEnvironment(environment, record.started_at),
    },
    modules: new RecordedModules(archived.modules),
    limits: {
      timeoutMs: options.timeout_ms,
      maxOutputBytes: options.max_output_bytes,
      maxStderrBytes: options.max_stderr_bytes,
      maxParallelCalls: options.max_parallel_calls,
      maxToolCalls: options.max_tool_calls,
    },
    typecheck: options.typecheck,
  };
}

/** A program that did not live to send its trace starts at the same time, and goes on by the clock. */
function replayedEnvironment(
  { seed, time_zone, trace }: z.infer<typeof Environment>,
  startedAt: number,
): ProgramEnvironment {
  const { started_ms, clock, events } = trace ?? { started_ms: startedAt, clock: "", events: "" };
  return {
    seed,
    ...(time_zone === undefined ? {} : { time_zone }),
    replay: { started_ms, clock, events },
  };
}

class RecordedModules implements CheckedModules {
  readonly declarations = RUNTIME_DECLARATIONS;
  readonly #modules: ReadonlyMap<string, string>;

  constructor(modules: ReadonlyMap<string, string>) {
    this.#modules = modules;
  }

  modules(): readonly string[] {
    return [...this.#modules.keys()].sort();
  }

  async load(module: string): Promise<string | undefined> {
    return this.#modules.get(module);
  }
}
