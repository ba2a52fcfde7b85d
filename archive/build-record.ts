import { messageOf } from "../base/faults.ts";
import { writeJson } from "../base/json.ts";
import { canonicalJson } from "../protocol/canonical-json.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { ProgramFile } from "../protocol/program-files.ts";
import { ArchiveError } from "./archive-error.ts";
import { parseArchived, parseJson } from "./archived-json.ts";
import { wrongNumbers } from "./archived-run.ts";
import {
  ArchivedOutcome,
  type CallFacts,
  type CallRecord,
  findMisplaced,
  type RunFacts,
  RunRecord,
} from "./run-record.ts";

/**
 * Builds the record of a run.
 *
 * @param put stores a JSON text and returns its digest.
 * @throws ArchiveError `failed` for a run that readers would reject as tampered with.
 */
export function buildRecord(
  run: RunToArchive,
  calls: readonly CallRecord[],
  put: (json: string) => string,
): RunRecord {
  const { facts, envelope } = run;
  if (envelope.run_id !== facts.run_id || envelope.input_digest !== facts.input_digest) {
    throw new ArchiveError("failed", `the envelope handed over for run ${facts.run_id} is another run's`);
  }
  const record: RunRecord = {
    format: 1,
    ...facts,
    code: put(JSON.stringify(run.code)),
    data: put(run.dataJson),
    console: put(JSON.stringify(run.consoleText)),
    envelope: put(writeJson(envelope)),
    environment: put(run.environmentJson),
    modules: run.modules.map(({ module, text }) => ({ module, digest: put(JSON.stringify(text)) })),
    calls: calls.toSorted((a, b) => a.seq - b.seq),
    ...keepFiles(run, put),
    ...keepOutput(run, put),
  };
  checkRecord(record, envelope);
  return record;
}

function keepFiles({ files = [] }: RunToArchive, put: (json: string) => string): Pick<RunRecord, "files"> {
  if (files.length === 0) return {};
  return {
    files: files.map(({ name, bytes, digest, base64 }) => ({
      name,
      bytes,
      digest,
      content: put(JSON.stringify(base64)),
    })),
  };
}

function keepOutput(
  { stderrText, emittedJson, wholeConsoleText, wholeResultJson }: RunToArchive,
  put: (json: string) => string,
): Pick<RunRecord, "kept"> {
  const kept = {
    ...(stderrText === "" ? {} : { stderr: put(JSON.stringify(stderrText)) }),
    ...(emittedJson === undefined ? {} : { emitted: put(emittedJson) }),
    ...(wholeConsoleText === undefined ? {} : { console: put(JSON.stringify(wholeConsoleText)) }),
    ...(wholeResultJson === undefined ? {} : { result: put(wholeResultJson) }),
  };
  return Object.keys(kept).length === 0 ? {} : { kept };
}

/**
 * Stores the values of a call. If a value cannot be stored, the facts say why it is missing, and the rest of the run is
 * stored.
 *
 * @param put stores a JSON text. Its error `unkeepable` concerns only that text.
 * @throws ArchiveError of any other code, from `put`.
 */
export function keepValues<Kept>(
  { facts, argumentsJson, outcomeJson }: CallToArchive,
  put: (json: string) => Kept,
): { facts: CallFacts; arguments: Kept; outcome: Kept } {
  // Arguments are stored in canonical form, so that their digest is the one by which a replay finds them.
  const args = putOr(put, () => canonicalJson(parseArchived(argumentsJson)), NO_ARGUMENTS);
  const outcome = putOr(put, () => checkOutcome(outcomeJson, facts.ok), unkeptOutcome(facts.ok));
  const unkept = facts.unkept ?? args.why ?? outcome.why;
  return {
    facts: unkept === undefined ? facts : { ...facts, unkept: boundWhy(unkept) },
    arguments: args.kept,
    outcome: outcome.kept,
  };
}

function putOr<Kept>(
  put: (json: string) => Kept,
  json: () => string,
  otherwise: string,
): { kept: Kept; why?: string } {
  try {
    return { kept: put(json()) };
  } catch (error) {
    // A failure of the archive itself concerns the whole run.
    if (error instanceof ArchiveError && error.code !== "unkeepable") throw error;
    return { kept: put(otherwise), why: messageOf(error) };
  }
}

/** Checks a failed outcome, whose parts come from programs and servers. It is small. */
function checkOutcome(json: string, ok: boolean): string {
  if (ok || parseJson(ArchivedOutcome, json)?.ok === false) return json;
  throw new ArchiveError("unkeepable", "a failure of another form cannot be archived");
}

function checkRecord(record: RunRecord, envelope: Envelope): void {
  const [issue] = RunRecord.safeParse(record).error?.issues ?? [];
  const twice = findMisplaced(record.calls);
  const [wrong] = issue === undefined ? wrongNumbers(envelope) : [issue.path.join(".")];
  if (wrong === undefined && twice === undefined) return;
  const what = wrong === undefined ? `two calls ${twice?.seq}` : `a wrong ${wrong}`;
  const message = `run ${record.run_id} was handed over with ${what}: it was not archived`;
  throw new ArchiveError("failed", message);
}

/**
 * A call that a run hands over for archiving, already redacted. Values are JSON text, because text is cheap to send to the
 * writing thread, and the sender already has it.
 */
export interface CallToArchive {
  facts: CallFacts;
  argumentsJson: string;
  /** An `ArchivedOutcome`. */
  outcomeJson: string;
}

const MAX_WHY_CHARS = 500;

/** Stands for arguments that cannot be archived. */
export const NO_ARGUMENTS = "null";

/** Stands for an outcome that cannot be archived. */
export function unkeptOutcome(ok: boolean): string {
  if (ok) return writeJson({ ok, data: null });
  const message = "this error could not be archived";
  return writeJson({
    ok,
    error: { type: "ToolError", server: "", tool: "", message, retryable: false },
  });
}

/** Cuts a reason why values are not archived to the length that a record allows. */
export function boundWhy(why: string): string {
  return why.slice(0, MAX_WHY_CHARS);
}

export interface RunToArchive {
  facts: RunFacts;
  code: string;
  dataJson: string;
  /** The files that the program received. */
  files?: readonly ProgramFile[] | undefined;
  consoleText: string;
  /** Everything that the program wrote to stderr, which may be empty. */
  stderrText: string;
  /** The blocks that the program emitted, as JSON, or `undefined` if there are none. */
  emittedJson?: string | undefined;
  /** Everything that the program printed, if `consoleText` is a bounded form of it. */
  wholeConsoleText?: string | undefined;
  /** The program's result as JSON, if the envelope has a bounded form of it. */
  wholeResultJson?: string | undefined;
  envelope: Envelope;
  /** The generated modules that the program imported, with their texts at that time. */
  modules: { module: string; text: string }[];
  /** Clock, time zone, locale and randomness for a replay. The archive does not read it. */
  environmentJson: string;
}
