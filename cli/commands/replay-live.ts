import type { CallRecord } from "../../execution/call-log.ts";
import { type CallDifference, compareCalls } from "../../execution/compare-calls.ts";
import { renderEnvelope } from "../../execution/seal.ts";
import { buildApprover } from "../approver.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { oneLine, terminalOf } from "../terminal.ts";
import { loadToolSet } from "../tool-set.ts";
import { loadReplayable, type ReplayContext } from "./replay-context.ts";

/** Runs a recorded program against the real servers, and shows in what its calls and its result differ from the record. */
export async function runLive(runId: string, context: ReplayContext): Promise<ExitCode> {
  const { configuration, execution, flags, surroundings, signal } = context;
  const { stdout, stderr } = surroundings;
  const { run, limits, typecheck } = loadReplayable(runId, context);
  const calls: CallRecord[] = [];
  const executed = await execution.run(run.program, await loadToolSet(configuration), {
    source: "replay",
    approver: buildApprover(flags.approve, surroundings),
    timeoutMs: limits.timeoutMs,
    typecheck,
    onConsole: ({ text }) => void stderr.write(text),
    onCall: (call) => void calls.push(call),
    signal,
  });
  const { envelope } = executed;
  const differences = compareCalls(run.calls, calls);
  const same = differences.length === 0 && envelope.output_digest === run.envelope.output_digest;
  await write(
    stdout,
    flags.json
      ? `${JSON.stringify({ run_id: runId, same, calls: differences, envelope })}\n`
      : `${renderEnvelope(envelope)}\n`,
  );
  await write(
    stderr,
    renderDifferences(differences, run.envelope.output_digest === envelope.output_digest, surroundings),
  );
  const problem = await executed.recorded;
  if (problem !== undefined) await write(stderr, `ptc: warning: ${problem}\n`);
  await executed.cleared;
  return same ? EXIT.done : EXIT.failed;
}

function renderDifferences(
  differences: readonly CallDifference[],
  sameResult: boolean,
  { stderr, env }: Surroundings,
): string {
  const { style } = terminalOf(stderr, env);
  const lines = differences.map(({ kind, call, detail }) => {
    const mark = { missing: style("red", "-"), added: style("green", "+"), changed: style("yellow", "~") }[
      kind
    ];
    return `${mark} ${oneLine(call)}${detail === undefined ? "" : `\n    ${oneLine(detail)}`}`;
  });
  lines.push(sameResult ? "ptc: the result is the recorded one" : "ptc: the result is not the recorded one");
  return `${lines.join("\n")}\n`;
}
