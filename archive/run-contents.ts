import * as z from "zod/mini";
import { visibleLine } from "../base/visible-text.ts";
import { canonicalJson } from "../protocol/canonical-json.ts";
import { type EmittedBlock, EmittedBlocks } from "../protocol/emitted.ts";
import { Envelope } from "../protocol/envelope.ts";
import { bytesDigest, type ProgramFile } from "../protocol/program-files.ts";
import { parseJson } from "./archived-json.ts";
import { Count, Sum, WholeDuration } from "./bounds.ts";
import { ArchivedOutcome, type CallRecord, findMisplaced, type RunPart, RunRecord } from "./run-record.ts";

/** Returns the JSON text with a digest after checking it, or what is wrong with it. */
export type ReadText = (digest: string) => { ok: true; json: string } | { ok: false; problem: string };

export interface RunContents {
  code: string;
  data: unknown;
  /** The files that the program was handed. */
  files: readonly ProgramFile[];
  consoleText: string;
  /** What the program wrote to stderr. */
  stderrText: string;
  /** What the program emitted for the client. */
  emitted: readonly EmittedBlock[];
  /** What `consoleText` and the envelope have only a bounded form of. */
  whole: { consoleText: string | undefined; resultJson: string | undefined };
  envelope: Envelope;
  environment: unknown;
  /** Texts of generated modules, by server module. */
  modules: Map<string, string>;
}

/** A problem of a record. The message is a clause that follows the name of the run. */
export class RecordProblem extends Error {
  override readonly name = "RecordProblem";
}

/** @throws RecordProblem */
export function parseRecord(json: string): RunRecord {
  const value = parseJson(z.unknown(), json);
  const parsed = RunRecord.safeParse(value);
  if (!parsed.success) throw new RecordProblem(describeIssue(value, parsed.error.issues[0]?.path));
  const record = parsed.data;
  if (canonicalJson(record) !== json) throw new RecordProblem(NO_RECORD);
  const misplaced = findMisplaced(record.calls);
  if (misplaced !== undefined) throw new RecordProblem(`${nameCall(misplaced)} is out of order`);
  return record;
}

const NO_RECORD = "the record is not one that ptc writes";

function describeIssue(value: unknown, path: readonly PropertyKey[] | undefined): string {
  if (typeof value !== "object" || value === null || path === undefined || path.length === 0)
    return NO_RECORD;
  return `${NO_RECORD}: a wrong ${visibleLine(path.join(".")).slice(0, MAX_PATH_CHARS)}`;
}

const MAX_PATH_CHARS = 100;

/**
 * Reads and checks everything that a record names. Returns all but the values of calls, which may be large.
 *
 * @throws RecordProblem for the first text that is missing, changed or invalid.
 */
export function readContents(record: RunRecord, read: ReadText): RunContents {
  const part = <T>(name: RunPart, schema: z.ZodMiniType<T>): T =>
    parsePart(schema, read(record[name]), `the ${name}`);
  const kept = <T>(
    name: "stderr" | "emitted" | "console" | "result",
    schema: z.ZodMiniType<T>,
  ): T | undefined => {
    const digest = record.kept?.[name];
    return digest === undefined ? undefined : parsePart(schema, read(digest), `the whole ${name}`);
  };
  const contents: RunContents = {
    code: part("code", z.string()),
    data: part("data", z.unknown()),
    files: (record.files ?? []).map((file) => readFile(file, read)),
    consoleText: part("console", z.string()),
    stderrText: kept("stderr", z.string()) ?? "",
    emitted: kept("emitted", EmittedBlocks) ?? [],
    whole: {
      consoleText: kept("console", z.string()),
      resultJson:
        kept("result", z.unknown()) === undefined ? undefined : textUnder(record.kept?.result ?? "", read),
    },
    envelope: part("envelope", Envelope),
    environment: part("environment", z.unknown()),
    modules: new Map(
      record.modules.map(({ module, digest }) => [
        module,
        parsePart(z.string(), read(digest), `the module '${module}'`),
      ]),
    ),
  };
  const { run_id, input_digest } = contents.envelope;
  if (run_id !== record.run_id || input_digest !== record.input_digest) {
    throw new RecordProblem("the envelope is another run's");
  }
  const [wrong] = wrongNumbers(contents.envelope);
  if (wrong !== undefined) throw new RecordProblem(`the envelope holds a wrong ${wrong}`);
  for (const call of record.calls) {
    readArguments(call, read);
    readOutcome(call, read);
  }
  return contents;
}

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
export function readArguments(call: CallRecord, read: ReadText): unknown {
  const subject = `${nameCall(call)}: the arguments blob`;
  const text = read(call.arguments);
  const value = parsePart(z.unknown(), text, subject);
  if (text.ok && canonicalJson(value) !== text.json)
    throw new RecordProblem(`${subject} cannot be what ptc wrote`);
  return value;
}

/** A file that the program was handed, checked by the digest of its bytes. @throws RecordProblem */
function readFile(file: NonNullable<RunRecord["files"]>[number], read: ReadText): ProgramFile {
  const { name, bytes, digest, content } = file;
  const subject = `the file '${visibleLine(name)}'`;
  const base64 = parsePart(z.string(), read(content), subject);
  const found = Buffer.from(base64, "base64");
  if (found.length !== bytes || bytesDigest(found) !== digest)
    throw new RecordProblem(`${subject} is not the one that the program was handed`);
  return { name, bytes, digest, base64 };
}

/** A text that a record names. @throws RecordProblem */
export function textUnder(digest: string, read: ReadText): string {
  const text = read(digest);
  if (!text.ok) throw new RecordProblem(`the blob ${digest} ${text.problem}`);
  return text.json;
}

/** @throws RecordProblem */
export function readOutcome(call: CallRecord, read: ReadText): ArchivedOutcome {
  const subject = `${nameCall(call)}: the outcome blob`;
  const outcome = parsePart(ArchivedOutcome, read(call.outcome), subject);
  if (outcome.ok !== call.ok) throw new RecordProblem(`${subject} is another call's`);
  return outcome;
}

/** Names a call for people, who count from 1. */
function nameCall(call: CallRecord): string {
  return `call ${call.seq + 1} (${visibleLine(call.tool)})`;
}

function parsePart<T>(schema: z.ZodMiniType<T>, text: ReturnType<ReadText>, subject: string): T {
  if (!text.ok) throw new RecordProblem(`${subject} ${text.problem}`);
  const parsed = parseJson(schema, text.json);
  if (parsed === undefined) throw new RecordProblem(`${subject} cannot be what ptc wrote`);
  return parsed;
}
