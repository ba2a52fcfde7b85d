import { existsSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ForeignJsonError, parseForeignJson, writeJson } from "../base/json.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import {
  RecordedEnvironment,
  type Replayable,
  replayedEnvironment,
} from "../execution/replay/recorded-run.ts";
import type { RecordedRun } from "../execution/replay/replay-program.ts";
import type { Program } from "../languages/program.ts";
import { CALL_DECISIONS } from "../protocol/call-decision.ts";
import { digestOf } from "../protocol/canonical-json.ts";
import { EmittedBlocks } from "../protocol/emitted.ts";
import { Envelope } from "../protocol/envelope.ts";
import { exampleFile, readText, shownFile } from "./program-folder.ts";
import { programsDirectory } from "./programs-directory.ts";

/** The largest file of a recorded example, in bytes. A larger one does not belong in a repository. */
export const MAX_EXAMPLE_BYTES = 8 * 1024 * 1024;

const VERSION = 1;
const MAX_DEPTH = 1_000;

const CallError = z.strictObject({
  type: z.enum(["ToolError", "ApprovalDenied"]),
  server: z.string().max(512),
  tool: z.string().max(512),
  message: z.string(),
  retryable: z.boolean(),
});

const Outcome = z.discriminatedUnion("ok", [
  z.strictObject({
    ok: z.literal(true),
    data: z.unknown(),
    raw: z.unknown().optional(),
    warning: z.string().optional(),
  }),
  z.strictObject({
    ok: z.literal(false),
    error: CallError,
    data: z.unknown().optional(),
    raw: z.unknown().optional(),
  }),
]);

const ExampleCall = z.strictObject({
  tool: z.string().max(512),
  decision: z.enum(CALL_DECISIONS),
  bytes: z.int().min(0),
  arguments: z.unknown(),
  outcome: Outcome,
});

/**
 * `programs/<name>.example.json`: one run of a saved program, with everything needed to run it again without any server. All of it
 * comes from the archive and is therefore without secrets.
 */
const Example = z.strictObject({
  version: z.literal(VERSION, `must be ${VERSION}, the only version that this ptc reads`),
  /** The id of the run, and the version of ptc that ran it. */
  run: z.string().max(64),
  ptc: z.string().max(64),
  /** When it began, in milliseconds since 1970. */
  started_ms: z.int().min(0),
  /** Digest of the program's text and the texts of the saved programs that it calls. */
  program: z.string().max(128),
  /** Whether the program was run by its name, so that its first call lets it begin. */
  by_name: z.boolean(),
  /** Digests of the definitions of the tools that it called. */
  tools: z.array(z.strictObject({ tool: z.string().max(512), digest: z.string().max(128) })).max(10_000),
  data: z.unknown(),
  calls: z.array(ExampleCall).max(100_000),
  envelope: Envelope,
  emitted: EmittedBlocks,
  environment: RecordedEnvironment,
});
export type Example = z.infer<typeof Example>;

/**
 * Reads the text of a recorded example.
 *
 * @param file the name of the file in messages.
 * @throws ConfigurationError in one line.
 */
function parseExample(text: string, file: string): Example {
  let value: unknown;
  try {
    value = parseForeignJson(text, { maxBytes: MAX_EXAMPLE_BYTES, maxDepth: MAX_DEPTH });
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    throw new ConfigurationError("invalid", `${file}: ${error.message}`);
  }
  const parsed = Example.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = issue?.path.map(String).join(".") || "the file";
  throw new ConfigurationError(
    "invalid",
    `${file}: ${where}: ${issue?.message ?? "is wrong"}; record it again with \`ptc save\``,
  );
}

/** The recorded example of a saved program; `undefined` where there is none. @throws ConfigurationError for an invalid one. */
export function readExample(
  { name }: { readonly name: string },
  configuration: Pick<Configuration, "directory">,
): Example | undefined {
  const directory = programsDirectory(configuration);
  const file = exampleFile(name);
  if (!existsSync(join(directory, file))) return undefined;
  return parseExample(readText(directory, file, MAX_EXAMPLE_BYTES), shownFile(file));
}

export function renderExample(example: Example): string {
  return `${writeJson(example, 1)}\n`;
}

/**
 * Makes an example of an archived run.
 *
 * @param facts the archive's facts about the run and about the program that is saved.
 */
export async function buildExample(
  { run }: Pick<Replayable, "run">,
  facts: Pick<Example, "run" | "ptc" | "started_ms" | "program" | "by_name" | "tools"> & {
    environment: unknown;
  },
): Promise<Example> {
  const calls = await Promise.all(
    run.calls.map(async (call) => ({
      tool: call.tool,
      decision: call.decision,
      bytes: call.bytes,
      arguments: await call.arguments(),
      outcome: await call.outcome(),
    })),
  );
  const { environment, ...rest } = facts;
  return Example.parse({
    version: VERSION,
    ...rest,
    data: run.program.data,
    calls,
    envelope: run.envelope,
    emitted: run.emitted,
    environment,
  });
}

/** The run of an example in the form that replays take. @param program runs instead of the recorded program. */
export function recordedRun(example: Example, program: Program): RecordedRun {
  return {
    program,
    envelope: example.envelope,
    consoleText: "",
    emitted: example.emitted,
    calls: example.calls.map((call, index) => ({
      seq: index + 1,
      tool: call.tool,
      argumentsDigest: digestOf(call.arguments ?? null),
      decision: call.decision,
      bytes: call.bytes,
      arguments: async () => call.arguments,
      outcome: async () => call.outcome,
    })),
    environment: replayedEnvironment(example.environment, example.started_ms),
    knowsModules: true,
  };
}
