import * as z from "zod/mini";
import { Digest } from "../protocol/digest.ts";
import type { EmittedBlock } from "../protocol/emitted.ts";
import { EmittedBlocks } from "../protocol/emitted.ts";
import { Envelope } from "../protocol/envelope.ts";
import { FailureType } from "../protocol/failure.ts";
import { MAX_PROGRAM_FILES, ProgramFileName } from "../protocol/program-files.ts";
import { RUN_SOURCES } from "../protocol/run-context.ts";
import { openToMore } from "./archived-json.ts";
import { Count, Duration, Instant, MAX_CALLS } from "./bounds.ts";

/**
 * The record of a run, as JSON on disk and in exports. Values that may be large or repeated are blobs, which the record
 * names by the digest of their JSON text. The digest of the record therefore covers everything.
 */

export const RunId = z
  .string()
  .check(z.regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/));

const text = (maxChars: number) => z.string().check(z.maxLength(maxChars));
const list = <T extends z.ZodMiniType>(item: T) => z.array(item).check(z.maxLength(100_000));

/** Where a value of a call came from, and its labels, for runs that followed values. It does not contain the value. */
const ValueFlow = z.strictObject({
  /** In the notation of rules: `to`, `message.subject`, `items[0].id`. */
  path: text(512),
  origins: list(
    z.strictObject({
      kind: z.enum(["user", "program", "data", "result"]),
      /** For a result: the namespaced tool, and the number of the call within its run, from 0. */
      tool: z.optional(text(512)),
      call: z.optional(Count),
      /** Set for a value from an earlier run of the conversation. */
      earlier: z.optional(z.literal(true)),
      labels: list(text(64)),
    }),
  ),
  labels: list(text(64)),
  /** Labels that it may have, because its content does not show where it came from. */
  undecided: z.optional(list(text(64))),
});
export type ValueFlow = z.infer<typeof ValueFlow>;

const callFacts = {
  /** The number of the call within its run, from 0, in the order in which calls began. */
  seq: Count,
  /** Namespaced name, `mcp__<server_module>__<tool>`, or the program's text if there is no such tool. */
  tool: text(512),
  server: text(512),
  /** Milliseconds since the program was sent to its sandbox. */
  started_ms: Duration,
  duration_ms: Duration,
  /** The part of the duration that a person took to answer, if somebody was asked. */
  waited_ms: z.optional(Duration),
  /** The part of the duration in which its server was started or connected to, and listed its tools. */
  connect_ms: z.optional(Duration),
  /** The broker's decision about the call. */
  decision: text(64),
  /** Who approved or denied the call, if anybody was asked. */
  approver: z.optional(text(256)),
  /** The rule that decided about the call, and its reason, if known. */
  rule: z.optional(text(512)),
  reason: z.optional(text(512)),
  /** Where its values came from, if that is informative. */
  values: z.optional(list(ValueFlow)),
  ok: z.boolean(),
  /** Why the server's answer differs from what its tool promises, if the program received it nevertheless. */
  warning: z.optional(text(512)),
  /** Size of the server's answer, in bytes. */
  result_bytes: Count,
  redactions: Count,
  /** Why the values of the call could not be archived. `null`, or an error that says so, replaces them. */
  unkept: z.optional(text(512)),
};

/** The facts about a call, without its values. */
export const CallFacts = z.strictObject(callFacts);
export type CallFacts = z.infer<typeof CallFacts>;

const CallRecord = z.strictObject({ ...callFacts, arguments: Digest, outcome: Digest });
export type CallRecord = z.infer<typeof CallRecord>;

const runFacts = {
  run_id: RunId,
  trace_id: text(64),
  /** For whom the program ran: `local` on stdio and the command line. */
  principal: text(4_096),
  /** What the principal is called, the groups of its login, and the client to which its token was given, where a login says so. */
  principal_name: z.optional(text(256)),
  groups: z.optional(z.array(text(256)).check(z.maxLength(1_000))),
  /** Groups of the person whose token was used that the token does not have. */
  bound_groups: z.optional(z.array(text(256)).check(z.maxLength(1_000))),
  client_id: z.optional(text(256)),
  source: z.enum(RUN_SOURCES),
  /** The client's name for the conversation that the run belongs to. */
  client_session: z.optional(text(128)),
  /** The account and the machine, as the system names them. Missing in runs of earlier versions. */
  actor: z.optional(z.strictObject({ user: text(256), uid: z.optional(Count), host: text(256) })),
  /** Where the run came from: the name that an MCP client gives itself, or the command of ptc. */
  client: z.optional(z.strictObject({ name: text(128), version: z.optional(text(128)) })),
  started_at: Instant,
  language: text(64),
  file_name: text(4096),
  input_digest: Digest,
  bundle_digest: z.nullable(Digest),
  sandbox_image: z.nullable(Digest),
  /** The engine, if it isolates programs less than a kernel of their own does. */
  sandbox_engine: z.optional(z.literal("wasm")),
  /** Definitions of the tools that it called. */
  tools: list(z.strictObject({ tool: text(512), digest: Digest })),
  versions: z.strictObject({
    ptc: text(64),
    node: text(64),
    protocol: Count,
    /** The interpreter in the sandbox and its packages, each with its version. */
    runtime: z.optional(text(4096)),
  }),
  servers: list(z.strictObject({ server: text(512), name: text(512), version: text(512) })),
  /** Limits and modes that it ran under. */
  options: z.json(),
  /**
   * The session that it ran in, its place there from 1, and the run of the previous program. A replay needs the state that
   * earlier programs have left.
   */
  session: z.optional(z.strictObject({ id: RunId, position: Count, after: z.optional(RunId) })),
  /** How many secrets were replaced in everything that is archived of the run. */
  redactions: Count,
};

/** The facts about a run, without its values and calls. */
export const RunFacts = z.strictObject(runFacts);
export type RunFacts = z.infer<typeof RunFacts>;

/** One run. Its digest is the SHA-256 of its canonical JSON. */
export const RunRecord = z.strictObject({
  format: z.literal(1),
  ...runFacts,
  code: Digest,
  data: Digest,
  console: Digest,
  envelope: Digest,
  environment: Digest,
  /** Texts of the generated modules that the program imported. */
  modules: list(z.strictObject({ module: text(512), digest: Digest })),
  calls: z.array(CallRecord).check(z.maxLength(MAX_CALLS)),
  /**
   * The files that the program received, with the digests of their bytes, and of the blobs that contain them as base64. Runs
   * without files lack this member.
   */
  files: z.optional(
    z
      .array(z.strictObject({ name: ProgramFileName, bytes: Count, digest: Digest, content: Digest }))
      .check(z.minLength(1), z.maxLength(MAX_PROGRAM_FILES)),
  ),
  /** Output that is neither in the console nor in the envelope. Runs without such output lack this member. */
  kept: z.optional(
    z.strictObject({
      /** What the program wrote to stderr. */
      stderr: z.optional(Digest),
      /** The blocks that it emitted for the client. */
      emitted: z.optional(Digest),
      /** Everything that it printed, if the console has a bounded form of it. */
      console: z.optional(Digest),
      /** Its result, if the envelope has a bounded form of it. */
      result: z.optional(Digest),
    }),
  ),
});
export type RunRecord = z.infer<typeof RunRecord>;

/** The parts of a record that are separate blobs, in the order in which they are checked. */
const RUN_PARTS = ["code", "data", "console", "envelope", "environment"] as const;
export type RunPart = (typeof RUN_PARTS)[number];

/** The first call whose number is not greater than that of the previous call. */
export function findMisplaced(calls: readonly CallRecord[]): CallRecord | undefined {
  return calls.find(({ seq }, index) => seq <= (calls[index - 1]?.seq ?? -1));
}

/** The distinct digests of everything that a record names. */
export function digestsIn(record: RunRecord): Set<string> {
  return new Set([
    ...RUN_PARTS.map((part) => record[part]),
    ...record.modules.map(({ digest }) => digest),
    ...(record.files ?? []).map(({ content }) => content),
    // A later version may have kept more.
    ...Object.values(record.kept ?? {}).flatMap((digest) => Digest.safeParse(digest).data ?? []),
    ...record.calls.flatMap((call) => [call.arguments, call.outcome]),
  ]);
}

const ArchivedError = z.strictObject({
  type: text(64),
  server: text(512),
  tool: text(512),
  message: z.string(),
  retryable: z.boolean(),
});

/**
 * The outcome of a call: the value that the program received, with the raw MCP result if that was kept. A failure has `data`
 * if the answer differs from what its tool promises.
 */
export const ArchivedOutcome = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), data: z.unknown(), raw: z.optional(z.unknown()) }),
  z.strictObject({
    ok: z.literal(false),
    error: ArchivedError,
    data: z.optional(z.unknown()),
    raw: z.optional(z.unknown()),
  }),
]);
export type ArchivedOutcome = z.infer<typeof ArchivedOutcome>;

/** The written form of a run: the schemas of its record and of its other parts. */
export interface RunForm {
  record: z.ZodMiniType<RunRecord>;
  envelope: z.ZodMiniType<Envelope>;
  outcome: z.ZodMiniType<ArchivedOutcome>;
  emitted: z.ZodMiniType<EmittedBlock[]>;
}

/** The form that this ptc writes. */
export const WRITTEN: RunForm = {
  record: RunRecord,
  envelope: Envelope,
  outcome: ArchivedOutcome,
  emitted: EmittedBlocks,
};

const Counted = z.int().check(z.gte(0));
const MetricsOfFormat1 = z.looseObject({
  duration_ms: Counted,
  tool_calls: Counted,
  tool_result_bytes: Counted,
});
const FailureOfFormat1 = z.looseObject({ type: FailureType, message: z.string(), retryable: z.boolean() });

/** The envelope of runs of format 1, as every version of ptc has written it. */
const EnvelopeOfFormat1 = z.looseObject({
  run_id: z.string(),
  trace_id: z.string(),
  tool_name: z.string(),
  tool_version: z.string(),
  input_digest: Digest,
  output_digest: Digest,
  sandbox_image: z.nullable(Digest),
  duration_ms: Counted,
  approval_state: z.enum(["NOT_REQUIRED", "APPROVED", "DENIED"]),
  result: z.discriminatedUnion("ok", [
    z.looseObject({ ok: z.literal(true), data: z.unknown(), metrics: MetricsOfFormat1 }),
    z.looseObject({ ok: z.literal(false), error: FailureOfFormat1, metrics: MetricsOfFormat1 }),
  ]),
});

/**
 * The forms for reading archived runs, by the `format` of their record. A version may add a member without another format if
 * older readers may ignore it. They then read the rest of the run, and the digests show whether it was changed. A change that
 * older readers would misread needs another format, which they refuse by its number.
 */
export const FORMS: ReadonlyMap<number, RunForm> = new Map([
  [
    1,
    {
      record: openToMore(RunRecord),
      envelope: EnvelopeOfFormat1,
      outcome: openToMore(ArchivedOutcome),
      emitted: openToMore(EmittedBlocks, "drop"),
    },
  ],
]);
