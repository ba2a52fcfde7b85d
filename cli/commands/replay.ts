import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import { readProgram } from "../../project/arguments/program-file.ts";
import type { Project } from "../../project/open-project.ts";
import { editedProgram, type LiveReplay, type ReplayOptions, Replays } from "../../project/replays.ts";
import { MadeCalls, reportEndedRun } from "../../project/run-report/ended-run.ts";
import { selectRun } from "../../project/runs.ts";
import { SIGNALS, type Surroundings } from "../../project/surroundings.ts";
import { buildApprover, refusePatterns } from "../../project/terminal/approver.ts";
import { CHECK_PATIENCE_MS, ProgramConsole } from "../../project/terminal/program-console.ts";
import { terminalOf } from "../../project/terminal/terminal.ts";
import {
  CONFIG,
  type CommonFlags,
  collect,
  EXIT,
  type ExitCode,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";
import { parseMoment, tellDamaged } from "./archived-runs.ts";

/** `ptc replay DIGEST` */
export const replayCommand = defineProjectCommand("replay", replay, (command) =>
  command
    .description("run an archived program again, its calls answered from the record; no server is started")
    .argument("[digest]", "input digest or run id, or the beginning of one")
    .option(...CONFIG)
    .option("--code <file>", "run this program instead, against the recorded answers")
    .option("--live", "call the real servers, and show what differs from the record")
    .option("--approve <pattern>", "with --live: approve calls of matching tools (repeatable)", collect, [])
    .option("--all", "replay every run, and exit 1 if one of them diverges")
    .option("--since <time>", "with --all: only runs since then (24h, 7d, 2026-11-01)")
    .option("--json", "print the outcome as JSON, with what differs")
    .addHelpText("after", "\nExample:\n  ptc replay 3f9a2c\n  ptc replay --all --since 7d\n"),
);

async function replay(
  project: Project,
  reference: string | undefined,
  flags: ReplayFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  checkFlags(reference, flags);
  const { configuration, runs: archive } = project;
  refusePatterns(flags.approve, configuration);
  const edited =
    flags.code === undefined
      ? undefined
      : await readProgram(flags.code, {}, surroundings, configuration.languages);
  const unlisted: { message: string }[] = [];
  const sinceMs = flags.since === undefined ? undefined : parseMoment("--since", flags.since, Date.now());
  const replays = new Replays(project, { warm: flags.all ? configuration.sandbox.warm : 0 });
  const runs =
    reference === undefined
      ? await replays.select(sinceMs, (run) => void unlisted.push(run))
      : { runIds: [await oneRun(archive, reference, surroundings)], skipped: 0 };
  const cancel = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => cancel.abort());
  const context: ReplayContext = {
    configuration,
    replays,
    flags,
    surroundings,
    signal: cancel.signal,
    cancel: () => cancel.abort(),
  };
  if (flags.all) {
    const code = await replayAll(runs, context);
    await tellDamaged(unlisted, surroundings);
    return code === EXIT.done && unlisted.length > 0 ? EXIT.failed : code;
  }
  const [runId = ""] = runs.runIds;
  return flags.live ? await runLive(runId, context) : await replayOne(runId, edited, context);
}

function checkFlags(reference: string | undefined, { all, live, code, since }: ReplayFlags): void {
  if (all === true && reference !== undefined) throw new UsageError("give a digest or --all, not both");
  if (all !== true && reference === undefined) throw new UsageError("give the digest of a run, or --all");
  if (all !== true && since !== undefined) throw new UsageError("--since goes with --all");
  if ([all, live, code !== undefined].filter(Boolean).length > 1)
    throw new UsageError("--all, --live and --code do not go together");
}

async function oneRun(
  archive: Project["runs"],
  reference: string,
  { stderr }: Surroundings,
): Promise<string> {
  const { run, others } = await selectRun(archive, reference);
  if (others !== undefined) await tell(stderr, others);
  return run.run_id;
}

async function replayOne(
  runId: string,
  edited: Parameters<typeof editedProgram>[1] | undefined,
  context: ReplayContext,
): Promise<ExitCode> {
  const { stdout, stderr, env } = context.surroundings;
  const { json, config } = context.flags;
  const replayable = await context.replays.load(runId);
  const program = edited === undefined ? undefined : editedProgram(replayable, edited);
  const calls = new MadeCalls();
  const replayed = await replayRun(replayable, context, {
    edited: program,
    onCall: (call) => calls.note(call),
  });
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
  if (divergence !== undefined) await tell(stderr, `${style("red", "diverged")}: ${oneLine(divergence)}`);
  else if (undecided !== undefined)
    await tell(stderr, `${style("yellow", "undecided")}: ${oneLine(undecided)}`);
  else if (edited === undefined)
    await tell(
      stderr,
      `${style("green", "same")}: ${countNoun(envelope.result.metrics.tool_calls, "call")}, ${envelope.output_digest}`,
    );
  if (edited === undefined) return outcomeCode(replayed);
  for (const line of replayed.advice) await tell(stderr, oneLine(line));
  return envelope.result.ok ? EXIT.done : EXIT.failed;
}

/** Runs a recorded program against the real servers, and prints how its calls and its result differ from the record. */
async function runLive(runId: string, context: ReplayContext): Promise<ExitCode> {
  const { replays, flags, surroundings, signal } = context;
  const { stdout, stderr } = surroundings;
  const replayable = await replays.load(runId);
  const { run, limits, session } = replayable;
  if (session !== undefined)
    throw new UsageError(`run ${runId} is part of a session, and cannot run live alone; replay it`);
  const console = new ProgramConsole(surroundings, limits.maxStderrBytes);
  const made = new MadeCalls();
  const { executed, differences, sameResult } = await replays.runLive(replayable, {
    approver: buildApprover(flags.approve, {
      console,
      surroundings,
      onInterrupt: context.cancel,
      require: context.configuration.approvals.require,
    }),
    checkPatienceMs: CHECK_PATIENCE_MS,
    onConsole: ({ text }) => console.print(text),
    onPhase: console.onPhase,
    onCall: (call) => made.note(call),
    signal,
  });
  console.end();
  const { envelope } = executed;
  const same = differences.length === 0 && sameResult;
  if (flags.json) {
    await write(stdout, `${jsonLine({ run_id: runId, same, calls: differences, envelope })}\n`);
  } else {
    const ended = { ...executed, program: run.program, calls: made, archivedAs: envelope.run_id };
    await reportEndedRun(ended, { config: flags.config }, surroundings);
  }
  await write(stderr, renderDifferences({ differences, sameResult }, surroundings));
  const problem = await executed.recorded;
  if (problem !== undefined) await tell(stderr, `warning: ${oneLine(problem)}`);
  await executed.cleared;
  return same ? EXIT.done : EXIT.failed;
}

function renderDifferences(
  { differences, sameResult }: Pick<LiveReplay, "differences" | "sameResult">,
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

/**
 * Replays many runs, one after the other, and prints a summary. A replay that time or the engine ended is undecided: it is neither a
 * divergence nor a proof of sameness.
 *
 * @param skipped how many runs were left out because no program ran in them.
 */
async function replayAll(
  { runIds, skipped }: { runIds: readonly string[]; skipped: number },
  context: ReplayContext,
): Promise<ExitCode> {
  const { stdout, stderr, env } = context.surroundings;
  const { style } = terminalOf(stdout, env);
  const undecided: { run_id: string; why: string }[] = [];
  const diverged: { run_id: string; input_digest: string; divergence: string }[] = [];
  const unreadable: string[] = [];
  await context.replays.host.warm();
  for (const [index, runId] of runIds.entries()) {
    if (context.signal.aborted) break;
    if (stderr.isTTY === true) stderr.write(`\rreplaying ${index + 1} of ${runIds.length}`);
    const replayable = await context.replays.loadOneOfMany(runId);
    if (typeof replayable === "string") {
      await write(stderr, `ptc: ${oneLine(replayable)}\n`);
      unreadable.push(runId);
      continue;
    }
    const replayed = await replayRun(replayable, context);
    if (outcomeCode(replayed) === EXIT.noSandbox) {
      const { result } = replayed.envelope;
      await tell(stderr, result.ok ? "" : oneLine(result.error.message));
      return EXIT.noSandbox;
    }
    if (replayed.undecided !== undefined) {
      undecided.push({ run_id: runId, why: replayed.undecided });
      if (!context.flags.json)
        await write(stdout, `${style("yellow", "undecided")} ${runId}  ${oneLine(replayed.undecided)}\n`);
      continue;
    }
    if (replayed.divergence === undefined) continue;
    const { input_digest } = replayable.run.envelope;
    diverged.push({ run_id: runId, input_digest, divergence: replayed.divergence });
    if (!context.flags.json)
      await write(stdout, `${style("red", "diverged")} ${runId}  ${oneLine(replayed.divergence)}\n`);
  }
  if (stderr.isTTY === true) stderr.write("\r\u001b[K");
  const replayedRuns = runIds.length - unreadable.length;
  const same = replayedRuns - diverged.length - undecided.length;
  const summary =
    `${countNoun(replayedRuns, "run")} replayed: ${same} the same, ${diverged.length} diverged` +
    (undecided.length === 0 ? "" : `, ${undecided.length} undecided`) +
    (unreadable.length === 0 ? "" : `; ${unreadable.length} that cannot be replayed`) +
    (skipped === 0 ? "" : `; ${skipped} skipped, in which no program ran`);
  await write(
    stdout,
    context.flags.json
      ? `${jsonLine({ replayed: replayedRuns, same, diverged, skipped, ...(undecided.length > 0 && { undecided }), ...(unreadable.length > 0 && { unreadable }) })}\n`
      : `${summary}\n`,
  );
  return diverged.length + undecided.length + unreadable.length === 0 && !context.signal.aborted
    ? EXIT.done
    : EXIT.failed;
}

interface ReplayFlags extends CommonFlags {
  live?: boolean;
  code?: string;
  all?: boolean;
  since?: string;
  approve: string[];
}

/** What all forms of `ptc replay` share. */
interface ReplayContext {
  configuration: Project["configuration"];
  replays: Replays;
  flags: ReplayFlags;
  surroundings: Surroundings;
  signal: AbortSignal;
  /** Aborts the replay. */
  cancel: () => void;
}

type Replayable = Awaited<ReturnType<Replays["load"]>>;
type Replayed = Awaited<ReturnType<Replays["replay"]>>;

/** Replays a run, or an edited program against its record. The console goes to stderr unless many runs are replayed. */
function replayRun(
  replayable: Replayable,
  { replays, surroundings, flags, signal }: ReplayContext,
  options: Pick<ReplayOptions, "edited" | "onCall"> = {},
): Promise<Replayed> {
  const console = flags.all ? undefined : new ProgramConsole(surroundings, replayable.limits.maxStderrBytes);
  const onConsole = console && (({ text }: { text: string }) => console.print(text));
  return replays.replay(replayable, { ...options, onConsole, signal }).finally(() => console?.end());
}

function outcomeCode({ envelope, divergence, undecided }: Replayed): ExitCode {
  if (!envelope.result.ok && envelope.result.error.type === "SandboxUnavailable") return EXIT.noSandbox;
  return divergence === undefined && undecided === undefined ? EXIT.done : EXIT.failed;
}
