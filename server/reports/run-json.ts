import type { ArchivedRun } from "../../archive/archived-run.ts";
import { jsonLine, readJson } from "../../base/json.ts";

/** A run as JSON, call by call, because all results together may be longer than a string can be. */
export async function* runAsJson(run: ArchivedRun): AsyncGenerator<string> {
  const { record, recordDigest, importedAt, origin, code, data, consoleText, stderrText, envelope } = run;
  const { calls, ...facts } = record;
  const head = {
    record_digest: recordDigest,
    imported_at: importedAt,
    origin,
    record: facts,
    code,
    data,
    console: run.whole.consoleText ?? consoleText,
    ...(run.whole.resultJson === undefined ? {} : { whole_result: readJson(run.whole.resultJson) }),
    stderr: stderrText,
    ...(run.emitted.length === 0 ? {} : { emitted: run.emitted }),
    envelope,
    environment: run.environment,
  };
  yield `${jsonLine(head).slice(0, -1)},"calls":[`;
  for (const [index, call] of calls.entries()) {
    const { arguments: argumentsDigest, outcome: outcomeDigest, ...callFacts } = call;
    const values = {
      ...callFacts,
      arguments_digest: argumentsDigest,
      outcome_digest: outcomeDigest,
      arguments: await run.argumentsOf(call),
      outcome: await run.outcomeOf(call),
    };
    yield `${index === 0 ? "" : ","}${jsonLine(values)}`;
  }
  yield "]}\n";
}
