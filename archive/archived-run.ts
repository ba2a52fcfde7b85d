import * as z from "zod/mini";
import { visibleLine } from "../base/visible-text.ts";
import { canonicalJson } from "../protocol/canonical-json.ts";
import type { EmittedBlock } from "../protocol/emitted.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { bytesDigest, type ProgramFile } from "../protocol/program-files.ts";
import { ArchiveError } from "./archive-error.ts";
import { parseJson } from "./archived-json.ts";
import { Count, Sum, WholeDuration } from "./bounds.ts";
import type { ChainEntry } from "./chain.ts";
import {
  type ArchivedOutcome,
  type CallRecord,
  FORMS,
  findMisplaced,
  type RunForm,
  type RunPart,
  type RunRecord,
} from "./run-record.ts";

/** Returns the JSON text with a digest after checking it, or what is wrong with it. */
export type ReadText = (digest: string) => Promise<TextRead>;
export type TextRead = { ok: true; json: string } | { ok: false; problem: string };

export interface RunContents {
  code: string;
  data: unknown;
  /** The files that the program received. */
  files: readonly ProgramFile[];
  consoleText: string;
  /** What the program wrote to stderr. */
  stderrText: string;
  /** What the program emitted for the client. */
  emitted: readonly EmittedBlock[];
  /** The complete texts where `consoleText` or the envelope contains only a part. */
  whole: { consoleText: string | undefined; resultJson: string | undefined };
  envelope: Envelope;
  environment: unknown;
  /** Texts of generated modules, by server module. */
  modules: Map<string, string>;
}

/** A run that was checked against its digests. The values of its calls, which may be large, are read on demand. */
export interface ArchivedRun extends RunContents, ChainEntry {
  record: RunRecord;
  /** @throws ArchiveError `tampered` when it was changed since the run was read. */
  argumentsOf(call: CallRecord): Promise<unknown>;
  /** @throws ArchiveError `tampered` when it was changed since the run was read. */
  outcomeOf(call: CallRecord): Promise<ArchivedOutcome>;
  /** The JSON text that the record names by this digest. @throws ArchiveError `tampered` when it was changed since. */
  textOf(digest: string): Promise<string>;
}

/** A problem of a record. The message is a clause that follows the name of the run. */
export class RecordProblem extends Error {
  override readonly name = "RecordProblem";
  /** Whether only a newer ptc can read the record. */
  readonly isNewer: boolean;

  constructor(message: string, { isNewer = false } = {}) {
    super(message);
    this.isNewer = isNewer;
  }
}

/**
 * Reads a record by the given form, or else by the format that the record states. A record may have members that this ptc
 * does not know, if its form allows them.
 *
 * @throws RecordProblem
 */
export function parseRecord(json: string, form?: RunForm): RunRecord {
  const value = parseJson(z.unknown(), json);
  const { format } = Object(value) as { format?: unknown };
  if (typeof format === "number" && format > Math.max(...FORMS.keys()))
    throw new RecordProblem(`it has format ${format}, which only a newer ptc reads`, { isNewer: true });
  const { record: schema } = form ?? formOf({ format });
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new RecordProblem(describeIssue(value, parsed.error.issues[0]?.path));
  const record = parsed.data;
  if (canonicalJson(record) !== json) throw new RecordProblem(NO_RECORD);
  const misplaced = findMisplaced(record.calls);
  if (misplaced !== undefined) throw new RecordProblem(`${nameCall(misplaced)} is out of order`);
  return record;
}

/** The form by which a record's run is read. @throws RecordProblem for a format that no ptc has written. */
function formOf({ format }: { format?: unknown }): RunForm {
  const form = FORMS.get(Number(format));
  if (form === undefined) throw new RecordProblem(NO_RECORD);
  return form;
}

const NO_RECORD = "the record is not one that ptc writes";

function describeIssue(value: unknown, path: readonly PropertyKey[] | undefined): string {
  if (typeof value !== "object" || value === null || path === undefined || path.length === 0)
    return NO_RECORD;
  return `${NO_RECORD}: a wrong ${visibleLine(path.join(".")).slice(0, MAX_PATH_CHARS)}`;
}

const MAX_PATH_CHARS = 100;

/**
 * Reads and checks everything that a record names. Returns everything except the values of calls, which may be large.
 *
 * @throws RecordProblem for the first text that is missing, changed or invalid.
 */
export async function readContents(
  record: RunRecord,
  read: ReadText,
  form = formOf(record),
): Promise<RunContents> {
  const part = async <T>(name: RunPart, schema: z.ZodMiniType<T>): Promise<T> =>
    parsePart(schema, await read(record[name]), `the ${name}`);
  const kept = async <T>(
    name: "stderr" | "emitted" | "console" | "result",
    schema: z.ZodMiniType<T>,
  ): Promise<T | undefined> => {
    const digest = record.kept?.[name];
    return digest === undefined ? undefined : parsePart(schema, await read(digest), `the whole ${name}`);
  };
  const code = await part("code", z.string());
  const data = await part("data", z.unknown());
  const files: ProgramFile[] = [];
  for (const file of record.files ?? []) files.push(await readFile(file, read));
  const consoleText = await part("console", z.string());
  const stderrText = (await kept("stderr", z.string())) ?? "";
  const emitted = (await kept("emitted", form.emitted)) ?? [];
  const wholeConsole = await kept("console", z.string());
  await kept("result", z.unknown());
  const result = record.kept?.result;
  const resultJson = result === undefined ? undefined : await textUnder(result, read);
  const envelope = await part("envelope", form.envelope);
  const environment = await part("environment", z.unknown());
  const modules = new Map<string, string>();
  for (const { module, digest } of record.modules)
    modules.set(module, parsePart(z.string(), await read(digest), `the module '${module}'`));
  if (envelope.run_id !== record.run_id || envelope.input_digest !== record.input_digest)
    throw new RecordProblem("the envelope is another run's");
  const [wrong] = wrongNumbers(envelope);
  if (wrong !== undefined) throw new RecordProblem(`the envelope holds a wrong ${wrong}`);
  for (const call of record.calls) {
    await readArguments(call, read);
    await readOutcome(call, read, form);
  }
  for (const [name, digest] of Object.entries(record.kept ?? {}))
    if (digest !== undefined && !KNOWN_OUTPUT.has(name)) await textUnder(digest, read);
  const whole = { consoleText: wholeConsole, resultJson };
  return { code, data, files, consoleText, stderrText, emitted, whole, envelope, environment, modules };
}

/** Output that this ptc knows. A later version may have kept more: ptc checks only the digests of that output. */
const KNOWN_OUTPUT: ReadonlySet<string> = new Set(["stderr", "emitted", "console", "result"]);

const EnvelopeNumbers = z.object({
  duration_ms: WholeDuration,
  result: z.object({
    metrics: z.object({ duration_ms: WholeDuration, tool_calls: Count, tool_result_bytes: Sum }),
  }),
});

/** The members of an envelope whose numbers are outside of the bounds for runs (`bounds.ts`). */
export function wrongNumbers(envelope: Envelope): string[] {
  const issues = EnvelopeNumbers.safeParse(envelope).error?.issues ?? [];
  return issues.map(({ path }) => path.join("."));
}

/** @throws RecordProblem */
async function readArguments(call: CallRecord, read: ReadText): Promise<unknown> {
  const subject = `${nameCall(call)}: the arguments blob`;
  const text = await read(call.arguments);
  const value = parsePart(z.unknown(), text, subject);
  if (text.ok && canonicalJson(value) !== text.json)
    throw new RecordProblem(`${subject} cannot be what ptc wrote`);
  return value;
}

/** A file that the program received, checked by the digest of its bytes. @throws RecordProblem */
async function readFile(file: NonNullable<RunRecord["files"]>[number], read: ReadText): Promise<ProgramFile> {
  const { name, bytes, digest, content } = file;
  const subject = `the file '${visibleLine(name)}'`;
  const base64 = parsePart(z.string(), await read(content), subject);
  const found = Buffer.from(base64, "base64");
  if (found.length !== bytes || bytesDigest(found) !== digest)
    throw new RecordProblem(`${subject} is not the one that the program was handed`);
  return { name, bytes, digest, base64 };
}

/** A text that a record names. @throws RecordProblem */
async function textUnder(digest: string, read: ReadText): Promise<string> {
  const text = await read(digest);
  if (!text.ok) throw new RecordProblem(`the blob ${digest} ${text.problem}`);
  return text.json;
}

/** @throws RecordProblem */
async function readOutcome(call: CallRecord, read: ReadText, form: RunForm): Promise<ArchivedOutcome> {
  const subject = `${nameCall(call)}: the outcome blob`;
  const outcome = parsePart(form.outcome, await read(call.outcome), subject);
  if (outcome.ok !== call.ok) throw new RecordProblem(`${subject} is another call's`);
  return outcome;
}

/** Names a call for people, who count from 1. */
function nameCall(call: CallRecord): string {
  return `call ${call.seq + 1} (${visibleLine(call.tool)})`;
}

function parsePart<T>(schema: z.ZodMiniType<T>, text: TextRead, subject: string): T {
  if (!text.ok) throw new RecordProblem(`${subject} ${text.problem}`);
  const parsed = parseJson(schema, text.json);
  if (parsed === undefined) throw new RecordProblem(`${subject} cannot be what ptc wrote`);
  return parsed;
}

/**
 * Adds methods that read the values of a checked run.
 *
 * @param read returns a text, checked against its digest.
 */
export function withValues(
  run: RunContents & ChainEntry & { record: RunRecord },
  read: ReadText,
): ArchivedRun {
  const { run_id: runId } = run.record;
  return {
    ...run,
    argumentsOf: (call) => namingRun(runId, () => readArguments(call, read)),
    outcomeOf: (call) => namingRun(runId, () => readOutcome(call, read, formOf(run.record))),
    textOf: (digest) => namingRun(runId, () => textUnder(digest, read)),
  };
}

/** Does work on one run. Turns a problem with its record into an error that names the run. @throws ArchiveError */
export async function namingRun<T>(runId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RecordProblem)) throw error;
    if (error.isNewer)
      throw new ArchiveError("newer", `run ${runId} cannot be read: ${error.message}`, error);
    const message = `run ${runId} is not as it was archived: ${error.message}; do not trust it`;
    throw new ArchiveError("tampered", message, error);
  }
}
