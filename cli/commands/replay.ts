import { openForReading } from "../../archive/connection.ts";
import type { Database } from "../../archive/database.ts";
import type { ListedRun } from "../../archive/list-runs.ts";
import type { Program } from "../../execution/program.ts";
import { renderEnvelope } from "../../execution/seal.ts";
import type { DefineCommand } from "../command.ts";
import { composeExecution } from "../composition.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { readProgram } from "../program-file.ts";
import { parseMoment } from "../since.ts";
import { SIGNALS, type Surroundings, write } from "../surroundings.ts";
import { count, terminalOf } from "../terminal.ts";
import { replayAll } from "./replay-all.ts";
import {
  loadReplayable,
  outcomeCode,
  type ReplayContext,
  type ReplayFlags,
  replayRun,
} from "./replay-context.ts";
import { runLive } from "./replay-live.ts";
import { allRuns, selectRun } from "./runs/select-run.ts";

/** `ptc replay DIGEST` */
export const replayCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("replay")
    .description("run an archived program again, its calls answered from the record; no server is started")
    .argument("[digest]", "input digest or run id, or the beginning of one")
    .option("--config <file>", "configuration file")
    .option("--code <file>", "run this program instead, against the recorded answers")
    .option("--live", "call the real servers, and show what differs from the record")
    .option("--approve <pattern>", "with --live: approve calls of matching tools (repeatable)", collect, [])
    .option("--all", "replay every run, and exit 1 if one of them diverges")
    .option("--since <time>", "with --all: only runs since then (24h, 7d, 2026-11-01)")
    .option("--json", "print the outcome as JSON, with what differs")
    .addHelpText("after", "\nExample:\n  ptc replay 3f9a2c\n  ptc replay --all --since 7d\n")
    .action(async (reference: string | undefined, flags: ReplayFlags) => {
      finish(await replay(reference, flags, surroundings));
    });
};

async function replay(
  reference: string | undefined,
  flags: ReplayFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  checkFlags(reference, flags);
  const { env, stderr } = surroundings;
  const cwd = surroundings.cwd();
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd });
  const edited =
    flags.code === undefined ? undefined : await readProgram(flags.code, undefined, surroundings);
  const db = openForReading(configuration.archive.path);
  try {
    const runs =
      reference === undefined ? everyRun(db, flags.since) : [await oneRun(db, reference, surroundings)];
    const execution = composeExecution(configuration, env, {
      warm: flags.all ? configuration.sandbox.warm : 0,
      onWarning: (message) => void stderr.write(`ptc: warning: ${message}\n`),
    });
    const cancel = new AbortController();
    for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
    const context: ReplayContext = {
      configuration,
      db,
      execution,
      flags,
      surroundings,
      signal: cancel.signal,
    };
    try {
      if (flags.all) return await replayAll(runs, context);
      const [{ run_id: runId } = { run_id: "" }] = runs;
      return flags.live ? await runLive(runId, context) : await replayOne(runId, edited, context);
    } finally {
      await execution.close();
    }
  } finally {
    db.close();
  }
}

function checkFlags(reference: string | undefined, { all, live, code, since }: ReplayFlags): void {
  if (all === true && reference !== undefined) throw new UsageError("give a digest or --all, not both");
  if (all !== true && reference === undefined) throw new UsageError("give the digest of a run, or --all");
  if (all !== true && since !== undefined) throw new UsageError("--since goes with --all");
  if ([all, live, code !== undefined].filter(Boolean).length > 1)
    throw new UsageError("--all, --live and --code do not go together");
}

async function oneRun(db: Database, reference: string, { stderr }: Surroundings): Promise<ListedRun> {
  const { run, others } = selectRun(db, reference);
  if (others !== undefined) await write(stderr, `ptc: ${others}\n`);
  return run;
}

/** The oldest first. A replay is no traffic of its own. */
function everyRun(db: Database, since: string | undefined): ListedRun[] {
  const sinceMs = since === undefined ? undefined : parseMoment("--since", since, Date.now());
  const runs = [...allRuns(db, sinceMs === undefined ? {} : { sinceMs })];
  return runs.filter(({ source }) => source !== "replay").reverse();
}

async function replayOne(
  runId: string,
  edited: Program | undefined,
  context: ReplayContext,
): Promise<ExitCode> {
  const { stdout, stderr, env } = context.surroundings;
  const replayable = loadReplayable(runId, context);
  const program = edited === undefined ? undefined : { ...edited, data: replayable.run.program.data };
  const replayed = await replayRun(replayable, context, program);
  const { envelope, divergence } = replayed;
  await write(
    stdout,
    context.flags.json
      ? `${JSON.stringify({ run_id: runId, same: divergence === undefined, divergence: divergence ?? null, envelope })}\n`
      : `${renderEnvelope(envelope)}\n`,
  );
  const { style } = terminalOf(stderr, env);
  if (divergence !== undefined) await write(stderr, `ptc: ${style("red", "diverged")}: ${divergence}\n`);
  else if (edited === undefined)
    await write(
      stderr,
      `ptc: ${style("green", "same")}: ${count(envelope.result.metrics.tool_calls, "call")}, ${envelope.output_digest}\n`,
    );
  if (edited !== undefined) return envelope.result.ok ? EXIT.done : EXIT.failed;
  return outcomeCode(replayed);
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}
