import { jsonLine } from "../../../base/json/json-line.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import { type CallDifference, compareToRecord } from "../../../execution/replay/compare-calls.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { localContext } from "../../local-user.ts";
import { MadeCalls } from "../../run-report/made-calls.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { buildApprover } from "../../terminal/approver.ts";
import { reportEndedRun } from "../../terminal/ended-run.ts";
import { ProgramConsole } from "../../terminal/program-console.ts";
import { terminalOf } from "../../terminal/terminal.ts";
import { type ReplayContext, requireReplayable } from "./context.ts";

/** Runs a recorded program against the real servers, and prints how its calls and its result differ from the record. */
export async function runLive(runId: string, context: ReplayContext): Promise<ExitCode> {
  const { host, flags, surroundings, signal } = context;
  const { stdout, stderr } = surroundings;
  const { run, limits, typecheck, session } = await requireReplayable(runId, context);
  if (session !== undefined)
    throw new UsageError(`run ${runId} is of a session, and cannot be run live without it; replay it`);
  const console = new ProgramConsole(surroundings, limits.maxStderrBytes);
  const calls: ObservedCall[] = [];
  const made = new MadeCalls();
  const executed = await host.run(run.program, {
    context: localContext("replay", surroundings.env),
    approver: buildApprover(flags.approve, {
      console,
      surroundings,
      onInterrupt: context.cancel,
      require: context.configuration.approvals.require,
    }),
    timeoutMs: limits.timeoutMs,
    typecheck,
    onConsole: ({ text }) => console.print(text),
    onCall: (call) => {
      calls.push(call);
      made.note(call);
    },
    signal,
  });
  console.end();
  const { envelope } = executed;
  const { differences, sameResult } = await compareToRecord(run, calls, envelope);
  const same = differences.length === 0 && sameResult;
  if (flags.json) {
    await write(stdout, `${jsonLine({ run_id: runId, same, calls: differences, envelope })}\n`);
  } else {
    const ended = { ...executed, program: run.program, calls: made, archivedAs: envelope.run_id };
    await reportEndedRun(ended, { config: flags.config }, surroundings);
  }
  await write(stderr, renderDifferences(differences, sameResult, surroundings));
  const problem = await executed.recorded;
  if (problem !== undefined) await write(stderr, `ptc: warning: ${oneLine(problem)}\n`);
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
