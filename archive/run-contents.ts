import * as z from "zod/mini";
import { canonicalJson } from "../protocol/canonical-json.ts";
import { Envelope } from "../protocol/envelope.ts";
import { parseJson } from "./parse-json.ts";
import { ArchivedOutcome, type CallRecord, findMisplaced, type RunPart, RunRecord } from "./run-record.ts";

/** Gives the JSON text that a digest stands for, having checked it; or what is wrong with it. */
export type ReadText = (digest: string) => { ok: true; json: string } | { ok: false; problem: string };

export interface RunContents {
  code: string;
  data: unknown;
  consoleText: string;
  envelope: Envelope;
  environment: unknown;
  /** Texts of generated modules, by server module. */
  modules: Map<string, string>;
}

/** What is wrong with a record, in words that follow "its" or name a call. */
export class RecordProblem extends Error {
  override readonly name = "RecordProblem";
}

/** @throws RecordProblem */
export function parseRecord(json: string): RunRecord {
  const record = parseJson(RunRecord, json);
  if (record === undefined || canonicalJson(record) !== json) {
    throw new RecordProblem("the record is not one that ptc writes");
  }
  const misplaced = findMisplaced(record.calls);
  if (misplaced !== undefined) throw new RecordProblem(`${nameCall(misplaced)} is out of order`);
  return record;
}

/**
 * Reads everything a record names, so that nothing of it need be doubted afterwards. Returns all but the values of calls,
 * which may be large.
 *
 * @throws RecordProblem for the first text that is missing, changed or not what it should be.
 */
export function readContents(record: RunRecord, read: ReadText): RunContents {
  const part = <T>(name: RunPart, schema: z.ZodMiniType<T>): T =>
    parsePart(schema, read(record[name]), `the ${name}`);
  const contents: RunContents = {
    code: part("code", z.string()),
    data: part("data", z.unknown()),
    consoleText: part("console", z.string()),
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
  for (const call of record.calls) {
    readArguments(call, read);
    readOutcome(call, read);
  }
  return contents;
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

/** @throws RecordProblem */
export function readOutcome(call: CallRecord, read: ReadText): ArchivedOutcome {
  const subject = `${nameCall(call)}: the outcome blob`;
  const outcome = parsePart(ArchivedOutcome, read(call.outcome), subject);
  if (outcome.ok !== call.ok) throw new RecordProblem(`${subject} is another call's`);
  return outcome;
}

/** As a person counts: the first call is call 1. */
function nameCall(call: CallRecord): string {
  return `call ${call.seq + 1} (${call.tool})`;
}

function parsePart<T>(schema: z.ZodMiniType<T>, text: ReturnType<ReadText>, subject: string): T {
  if (!text.ok) throw new RecordProblem(`${subject} ${text.problem}`);
  const parsed = parseJson(schema, text.json);
  if (parsed === undefined) throw new RecordProblem(`${subject} cannot be what ptc wrote`);
  return parsed;
}
