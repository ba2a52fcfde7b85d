import * as z from "zod";
import type { ArchivedRun } from "../archive/read-run.ts";
import { CALL_DECISIONS } from "../broker/dispatcher.ts";
import { RUNTIME_DECLARATIONS } from "../codegen/print-runtime.ts";
import type { RecordedRun } from "../execution/replay-program.ts";
import type { InsideLimits } from "../execution/run-inside.ts";
import type { CheckedModules } from "../execution/type-check.ts";
import type { ProgramEnvironment } from "../protocol/messages.ts";
import { Trace } from "../protocol/messages.ts";

const count = (most: number) => z.int().min(1).max(most);

/** A record may come from a file that somebody sent: it asks for no more than a configuration could. */
const Options = z.object({
  timeout_ms: count(86_400_000),
  max_output_bytes: count(33_554_432),
  max_stderr_bytes: count(33_554_432),
  max_parallel_calls: count(1_000),
  max_tool_calls: count(1_000_000),
  typecheck: z.enum(["error", "warn", "off"]),
});

const Environment = z.object({
  seed: z.string().regex(/^[0-9a-f]{64}$/),
  time_zone: z.string().max(128).optional(),
  trace: z.optional(Trace),
});

const Language = z.enum(["typescript", "javascript"]);
const Decision = z.enum(CALL_DECISIONS);
const ErrorType = z.enum(["ToolError", "ApprovalDenied"]);

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
  const language = Language.safeParse(record.language).data;
  const decisions = z.array(Decision).safeParse(record.calls.map(({ decision }) => decision)).data;
  if (!options || !environment || !language || !decisions) return undefined;
  return {
    run: {
      program: {
        code: archived.code,
        data: archived.data,
        language,
        fileName: record.file_name,
      },
      envelope: archived.envelope,
      consoleText: archived.consoleText,
      calls: record.calls.map((call, index) => ({
        seq: call.seq + 1,
        tool: call.tool,
        argumentsDigest: call.arguments,
        decision: decisions[index] ?? "unanswered",
        bytes: call.result_bytes,
        arguments: () => archived.argumentsOf(call),
        outcome: () => {
          const outcome = archived.outcomeOf(call);
          if (outcome.ok) return outcome;
          const type = ErrorType.catch("ToolError").parse(outcome.error.type);
          return { ...outcome, error: { ...outcome.error, type } };
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
