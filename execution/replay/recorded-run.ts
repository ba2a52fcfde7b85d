import * as z from "zod";
import type { ArchivedRun } from "../../archive/archived-run.ts";
import type { LanguagePrinter } from "../../codegen/language-printer.ts";
import { isLanguage } from "../../languages/languages.ts";
import type { SessionPlace } from "../../languages/program.ts";
import { CALL_DECISIONS } from "../../protocol/call-decision.ts";
import { MAX_FILE_RESULT_BYTES, MAX_FILE_RESULT_VALUES } from "../../protocol/limits.ts";
import { type ProgramEnvironment, Trace } from "../../protocol/messages.ts";
import { countriesWith, PII_KINDS } from "../../secrets/pii/pii-kinds.ts";
import type { RunLimits } from "../output/runner-output.ts";
import { RecordedModules } from "../recorded-modules.ts";
import type { RecordedRun } from "./replay-program.ts";

const count = (most: number) => z.int().min(1).max(most);

/** Options of a recorded run, with the bounds of a configuration, because anybody may have written the record. */
const Options = z.object({
  timeout_ms: count(86_400_000),
  max_output_bytes: count(33_554_432),
  /** Absent in records of earlier versions, which kept only what they showed. */
  max_kept_bytes: z.optional(count(33_554_432)),
  /** Present if the result was written to a file. */
  max_result: z.optional(
    z.object({ bytes: count(MAX_FILE_RESULT_BYTES), values: count(MAX_FILE_RESULT_VALUES) }),
  ),
  max_stderr_bytes: count(33_554_432),
  max_parallel_calls: count(1_000),
  max_tool_calls: count(1_000_000),
  typecheck: z.enum(["error", "warn", "off"]),
  /** The server modules that existed. Absent in records of older versions. */
  modules: z.optional(z.array(z.string().max(512)).max(1_000)),
  pii: z.optional(
    z.object({
      kinds: z.array(z.enum(PII_KINDS)).max(16),
      countries: z.array(z.enum(countriesWith("phone"))).max(32),
      shown: z.array(z.enum(PII_KINDS)).max(16),
    }),
  ),
});

/** The environment that a replay gives to a program again. */
export const RecordedEnvironment = z.object({
  seed: z.string().regex(/^[0-9a-f]{64}$/),
  time_zone: z.string().max(128).optional(),
  trace: z.optional(Trace),
});

const Decision = z.enum(CALL_DECISIONS);
const ErrorType = z.enum(["ToolError", "ApprovalDenied"]);

export interface Replayable {
  run: RecordedRun;
  /** The generated modules as they were at the time of the run. */
  modules: RecordedModules;
  limits: RunLimits;
  typecheck: "error" | "warn" | "off";
  /** Present for a run in a session. */
  session?: RecordedSession;
}

/** The session of a recorded run. */
export interface RecordedSession {
  place: SessionPlace;
  /** The earlier runs of the session, whose state the program found, oldest first. */
  before: readonly Replayable[];
}

/**
 * Reads what a replay needs from an archived run; `undefined` for a form that this version of ptc does not know.
 *
 * @param printer the printer of the run's language.
 */
export function toReplayable(archived: ArchivedRun, printer: LanguagePrinter): Replayable | undefined {
  const { record } = archived;
  const options = Options.safeParse(record.options).data;
  const environment = RecordedEnvironment.safeParse(archived.environment).data;
  const decisions = z.array(Decision).safeParse(record.calls.map(({ decision }) => decision)).data;
  if (!options || !environment || !isLanguage(record.language) || !decisions) return undefined;
  return {
    run: {
      program: {
        code: archived.code,
        data: archived.data,
        language: record.language,
        fileName: record.file_name,
        ...(archived.files.length === 0 ? {} : { files: archived.files }),
      },
      envelope: archived.envelope,
      consoleText: archived.consoleText,
      emitted: archived.emitted,
      calls: record.calls.map((call, index) => ({
        seq: call.seq + 1,
        tool: call.tool,
        argumentsDigest: call.arguments,
        decision: decisions[index] ?? "unanswered",
        bytes: call.result_bytes,
        arguments: () => archived.argumentsOf(call),
        outcome: async () => {
          const outcome = await archived.outcomeOf(call);
          if (outcome.ok) return call.warning === undefined ? outcome : { ...outcome, warning: call.warning };
          const type = ErrorType.catch("ToolError").parse(outcome.error.type);
          return { ...outcome, error: { ...outcome.error, type } };
        },
      })),
      environment: replayedEnvironment(environment, record.started_at),
      pii: options.pii,
      knowsModules: options.modules !== undefined,
    },
    modules: new RecordedModules(archived.modules, printer, options.modules),
    limits: {
      timeoutMs: options.timeout_ms,
      maxOutputBytes: options.max_output_bytes,
      maxKeptBytes: options.max_kept_bytes,
      maxResult: options.max_result,
      maxStderrBytes: options.max_stderr_bytes,
      maxParallelCalls: options.max_parallel_calls,
      maxToolCalls: options.max_tool_calls,
    },
    typecheck: options.typecheck,
    ...(record.session === undefined ? {} : { session: { place: record.session, before: [] } }),
  };
}

/** The environment of a replay. Without a trace, as after a killed program, it starts at the recorded time with the real clock. */
export function replayedEnvironment(
  { seed, time_zone, trace }: z.infer<typeof RecordedEnvironment>,
  startedAt: number,
): ProgramEnvironment {
  const { started_ms, clock, events } = trace ?? { started_ms: startedAt, clock: "", events: "" };
  return {
    seed,
    ...(time_zone === undefined ? {} : { time_zone }),
    replay: { started_ms, clock, events },
  };
}
