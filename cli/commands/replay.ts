import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { DamagedRun } from "../../archive/reading/damaged-run.ts";
import { jsonLine } from "../../base/json/json-line.ts";
import { countNoun } from "../../base/text/count-noun.ts";
import { oneLine } from "../../base/text/one-line.ts";
import type { HandedIn } from "../../execution/prepare/settle-program.ts";
import { loadConfiguration } from "../../host/configuration/load.ts";
import { openArchive } from "../../host/open-archive.ts";
import { openHost } from "../../host/open-host.ts";
import { isSameLanguage } from "../../host/program-files.ts";
import { selectReplayable } from "../../host/replay/select-replayable.ts";
import { readProgram } from "../arguments/program-file.ts";
import { parseMoment } from "../arguments/since.ts";
import type { DefineCommand } from "../command.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { MadeCalls } from "../run-report/made-calls.ts";
import { SIGNALS, type Surroundings, write } from "../surroundings.ts";
import { refusePatterns } from "../terminal/approver.ts";
import { reportEndedRun } from "../terminal/ended-run.ts";
import { terminalOf } from "../terminal/terminal.ts";
import { replayAll } from "./replay/all.ts";
import {
  outcomeCode,
  type ReplayContext,
  type ReplayFlags,
  replayRun,
  requireReplayable,
} from "./replay/context.ts";
import { runLive } from "./replay/live.ts";
import { selectRun } from "./runs/select-run.ts";
import { tellDamaged } from "./runs/tell-damaged.ts";

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
  refusePatterns(flags.approve, configuration);
  const edited =
    flags.code === undefined
      ? undefined
      : await readProgram(flags.code, {}, surroundings, configuration.languages);
  const archive = openArchive(configuration);
  try {
    const unlisted: DamagedRun[] = [];
    const runs =
      reference === undefined
        ? await everyRun(archive, flags.since, (run) => void unlisted.push(run))
        : { runIds: [await oneRun(archive, reference, surroundings)], skipped: 0 };
    const host = openHost({
      configuration,
      env,
      warm: flags.all ? configuration.sandbox.warm : 0,
      onWarning: (message) => void stderr.write(`ptc: warning: ${oneLine(message)}\n`),
    });
    const cancel = new AbortController();
    for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
    const context: ReplayContext = {
      configuration,
      archive,
      host,
      flags,
      surroundings,
      signal: cancel.signal,
      cancel: () => cancel.abort(),
    };
    try {
      if (flags.all) {
        const code = await replayAll(runs, context);
        await tellDamaged(unlisted, surroundings);
        return code === EXIT.done && unlisted.length > 0 ? EXIT.failed : code;
      }
      const [runId = ""] = runs.runIds;
      return flags.live ? await runLive(runId, context) : await replayOne(runId, edited, context);
    } finally {
      await host.close();
    }
  } finally {
    await archive.close();
  }
}

function checkFlags(reference: string | undefined, { all, live, code, since }: ReplayFlags): void {
  if (all === true && reference !== undefined) throw new UsageError("give a digest or --all, not both");
  if (all !== true && reference === undefined) throw new UsageError("give the digest of a run, or --all");
  if (all !== true && since !== undefined) throw new UsageError("--since goes with --all");
  if ([all, live, code !== undefined].filter(Boolean).length > 1)
    throw new UsageError("--all, --live and --code do not go together");
}

async function oneRun(archive: ArchiveStore, reference: string, { stderr }: Surroundings): Promise<string> {
  const { run, others } = await selectRun(archive, reference);
  if (others !== undefined) await write(stderr, `ptc: ${others}\n`);
  return run.run_id;
}

function everyRun(
  archive: ArchiveStore,
  since: string | undefined,
  onDamaged: (run: DamagedRun) => void,
): ReturnType<typeof selectReplayable> {
  const filter = since === undefined ? {} : { sinceMs: parseMoment("--since", since, Date.now()) };
  return selectReplayable(archive, filter, onDamaged);
}

async function replayOne(
  runId: string,
  edited: HandedIn | undefined,
  context: ReplayContext,
): Promise<ExitCode> {
  const { stdout, stderr, env } = context.surroundings;
  const { json, config } = context.flags;
  const replayable = await requireReplayable(runId, context);
  const recorded = replayable.run.program;
  const program = edited === undefined ? undefined : { ...recorded, ...edited, data: recorded.data };
  if (program !== undefined && !isSameLanguage(program.language, recorded.language))
    throw new UsageError(`the run's program is in ${recorded.language}; give --code one that is, too`);
  const calls = new MadeCalls();
  const replayed = await replayRun(replayable, context, program, (call) => calls.note(call));
  const { envelope, divergence, undecided } = replayed;
  if (json) {
    const outcome = {
      run_id: runId,
      same: divergence === undefined && undecided === undefined,
      divergence: divergence ?? null,
      ...(undecided === undefined ? {} : { undecided }),
      envelope,
    };
    await write(stdout, `${jsonLine(outcome)}\n`);
  } else {
    const ran = program ?? replayable.run.program;
    await reportEndedRun(
      { ...replayed, program: ran, calls, archivedAs: runId },
      { config },
      context.surroundings,
    );
  }
  const { style } = terminalOf(stderr, env);
  if (divergence !== undefined)
    await write(stderr, `ptc: ${style("red", "diverged")}: ${oneLine(divergence)}\n`);
  else if (undecided !== undefined)
    await write(stderr, `ptc: ${style("yellow", "undecided")}: ${oneLine(undecided)}\n`);
  else if (edited === undefined)
    await write(
      stderr,
      `ptc: ${style("green", "same")}: ${countNoun(envelope.result.metrics.tool_calls, "call")}, ${envelope.output_digest}\n`,
    );
  if (edited === undefined) return outcomeCode(replayed);
  for (const line of replayed.advice) await write(stderr, `ptc: ${oneLine(line)}\n`);
  return envelope.result.ok ? EXIT.done : EXIT.failed;
}

function collect(value: string, previous: string[]): string[] {
  return [...previous, value];
}
