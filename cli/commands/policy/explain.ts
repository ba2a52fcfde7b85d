import type { CallRecord } from "../../../archive/run-record.ts";
import { jsonLine } from "../../../base/json/json-line.ts";
import { visibleLine } from "../../../base/text/visible-text.ts";
import { shortToolName } from "../../../host/run-report/run-overview.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { layOutTable } from "../../run-report/text-table.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { selectRun } from "../runs/select-run.ts";
import { withArchive } from "../runs/with-archive.ts";

interface ExplainFlags {
  config?: string;
  json?: boolean;
}

/** `ptc policy explain RUN [CALL]` */
export const defineExplain: DefineCommand = (policy, surroundings, finish) => {
  policy
    .command("explain")
    .description("say what decided about each call of an archived run")
    .argument("<run>", "input digest, run id, or at least four characters that one begins with")
    .argument("[call]", "the number of one call, from 1")
    .option("--config <file>", "configuration file")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  ptc policy explain 3f9a12c0 1\n")
    .action(async (run: string, call: string | undefined, flags: ExplainFlags) => {
      finish(await explain(run, call, flags, surroundings));
    });
};

async function explain(
  reference: string,
  number: string | undefined,
  flags: ExplainFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  return withArchive(flags, surroundings, async (archive) => {
    if (archive === undefined) return EXIT.usage;
    const { run: listed, others } = await selectRun(archive, reference);
    const { record } = await archive.read(listed.run_id);
    const calls = selectCalls(record.calls, number);
    const explained = calls.map(({ seq, tool, decision, approver, rule, reason }) => ({
      call: seq + 1,
      tool,
      decision,
      ...(approver === undefined ? {} : { approver }),
      rule: rule ?? null,
      reason: reason ?? null,
    }));
    const text = flags.json
      ? `${jsonLine({ run_id: record.run_id, principal: record.principal, calls: explained })}\n`
      : renderCalls(explained);
    await write(stdout, text);
    if (others !== undefined) await write(stderr, `ptc: ${others}\n`);
    return EXIT.done;
  });
}

/** @throws UsageError when there is no such call. */
function selectCalls(calls: readonly CallRecord[], number: string | undefined): readonly CallRecord[] {
  if (number === undefined) return calls;
  const call = calls.find(({ seq }) => String(seq + 1) === number);
  if (call !== undefined) return [call];
  const known = calls.length === 0 ? "this run made none" : `this run made ${calls.length}, from 1`;
  throw new UsageError(`there is no call '${visibleLine(number)}': ${known}`);
}

interface ExplainedCall {
  call: number;
  tool: string;
  decision: string;
  approver?: string;
  rule: string | null;
  reason: string | null;
}

function renderCalls(calls: readonly ExplainedCall[]): string {
  if (calls.length === 0) return "this run made no calls\n";
  const rows = calls.map(({ call, tool, decision, approver, rule }) => [
    { text: `call ${call}` },
    { text: visibleLine(shortToolName(tool)) },
    { text: approver === undefined ? decision : `${decision} by ${visibleLine(approver)}` },
    { text: rule === null ? "no entry or rule was about it" : visibleLine(rule) },
  ]);
  const lines = layOutTable(rows).flatMap((line, index) => {
    const reason = calls[index]?.reason ?? null;
    return reason === null ? [line] : [line, `    ${visibleLine(reason)}`];
  });
  return `${lines.join("\n")}\n`;
}
