import * as z from "zod/mini";

/**
 * What is kept of a run, as JSON on disk and in exports. Values that may be large or repeat are blobs, named here by the
 * digest of their JSON text, so that the digest of this record covers all of it.
 */

export const Digest = z.string().check(z.regex(/^sha256:[0-9a-f]{64}$/));
const RunId = z.string().check(z.regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/));

const text = (maxChars: number) => z.string().check(z.maxLength(maxChars));
const count = z.int().check(z.gte(0));
/** Milliseconds since 1970 that a `Date` can hold. */
const instant = z.int().check(z.gte(0), z.lte(8.64e15));
const milliseconds = z.number().check(z.gte(0));
const list = <T extends z.ZodMiniType>(item: T) => z.array(item).check(z.maxLength(100_000));

const callFacts = {
  /** Place among the calls of its run, by when it was made, from 0. */
  seq: count,
  /** Namespaced name, `mcp__<server_module>__<tool>`; what a program called it, where there is no such tool. */
  tool: text(512),
  server: text(512),
  /** Since the program was sent to its sandbox. */
  started_ms: milliseconds,
  duration_ms: milliseconds,
  /** What the broker decided about it, in the broker's words. */
  decision: text(64),
  /** Who approved or denied it, where anybody was asked. */
  approver: z.optional(text(256)),
  ok: z.boolean(),
  /** Size of what the server answered. */
  result_bytes: count,
  redactions: count,
};

/** What is known of a call besides its values. */
export const CallFacts = z.strictObject(callFacts);
export type CallFacts = z.infer<typeof CallFacts>;

const CallRecord = z.strictObject({ ...callFacts, arguments: Digest, outcome: Digest });
export type CallRecord = z.infer<typeof CallRecord>;

const runFacts = {
  run_id: RunId,
  trace_id: text(64),
  /** Whose run it was: `local` on stdio and the command line. */
  principal: text(256),
  source: z.enum(["run", "serve", "replay"]),
  started_at: instant,
  language: text(64),
  file_name: text(4096),
  input_digest: Digest,
  bundle_digest: z.nullable(Digest),
  sandbox_image: z.nullable(Digest),
  /** Definitions of the tools that it called. */
  tools: list(z.strictObject({ tool: text(512), digest: Digest })),
  versions: z.strictObject({ ptc: text(64), node: text(64), protocol: count }),
  servers: list(z.strictObject({ server: text(512), name: text(512), version: text(512) })),
  /** Limits and modes that it ran under. */
  options: z.json(),
  /** In everything that is kept of it. */
  redactions: count,
};

/** What is known of a run besides its values and its calls. */
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
  calls: list(CallRecord),
});
export type RunRecord = z.infer<typeof RunRecord>;

/** The parts of a record that are blobs of their own, in the order in which they are checked. */
const RUN_PARTS = ["code", "data", "console", "envelope", "environment"] as const;
export type RunPart = (typeof RUN_PARTS)[number];

/** The first call that does not come after the one before it, of calls that must be in order. */
export function findMisplaced(calls: readonly CallRecord[]): CallRecord | undefined {
  return calls.find(({ seq }, index) => seq <= (calls[index - 1]?.seq ?? -1));
}

/** Everything a record names, once each. */
export function digestsIn(record: RunRecord): Set<string> {
  return new Set([
    ...RUN_PARTS.map((part) => record[part]),
    ...record.modules.map(({ digest }) => digest),
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

/** What became of a call: what the program was given, with the MCP result where it is kept. */
export const ArchivedOutcome = z.discriminatedUnion("ok", [
  z.strictObject({ ok: z.literal(true), data: z.unknown(), raw: z.optional(z.unknown()) }),
  z.strictObject({ ok: z.literal(false), error: ArchivedError, raw: z.optional(z.unknown()) }),
]);
export type ArchivedOutcome = z.infer<typeof ArchivedOutcome>;
