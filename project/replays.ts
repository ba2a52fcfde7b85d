/** Runs archived programs again, and says whether the same came out. */

import { isAboutOneRun } from "../archive/archive-error.ts";
import type { DamagedRun } from "../archive/listed-run.ts";
import { oneLine } from "../base/visible-text.ts";
import type { ObservedCall } from "../execution/call-log.ts";
import type { ExecutedProgram } from "../execution/output/executed-run.ts";
import { compareToRecord } from "../execution/replay/compare-calls.ts";
import { loadReplayable, type Unreplayable } from "../execution/replay/load-replayable.ts";
import type { Replayable } from "../execution/replay/recorded-run.ts";
import type { Replayed } from "../execution/replay/replay-program.ts";
import { selectReplayable } from "../execution/replay/select-replayable.ts";
import type { ProgramRequest } from "../execution/run-request.ts";
import { isSameLanguage } from "../languages/languages.ts";
import type { Program } from "../languages/program.ts";
import type { UnresolvedProgram } from "../languages/resolve-program.ts";
import type { Host } from "./host.ts";
import { localContext } from "./local-user.ts";
import { openHost } from "./open-host.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";

export interface ReplayOptions {
  /** Runs instead of the recorded program, against its answers. */
  edited?: Program | undefined;
  onCall?: ((call: ObservedCall) => void) | undefined;
  onConsole?: ((entry: { text: string }) => void) | undefined;
  signal: AbortSignal;
}

/** A recorded program that ran against the real servers, and what differed from the record. */
export type LiveReplay = { executed: ExecutedProgram } & Awaited<ReturnType<typeof compareToRecord>>;

/** The replays of a project. Its sandboxes end with the project. */
export class Replays {
  readonly host: Host;
  readonly #project: Project;

  /** @param warm how many sandboxes are kept ready. */
  constructor(project: Project, { warm }: { warm: number }) {
    this.#project = project;
    this.host = openHost(project, { warm });
  }

  /** The runs in which a program ran, the oldest first. @param sinceMs milliseconds since 1970. @throws ArchiveError */
  select(
    sinceMs: number | undefined,
    onDamaged: (run: DamagedRun) => void,
  ): ReturnType<typeof selectReplayable> {
    return selectReplayable(this.#project.runs, sinceMs === undefined ? {} : { sinceMs }, onDamaged);
  }

  /** Loads a run. @throws ArchiveError; Refusal for a run that cannot be replayed. */
  async load(runId: string): Promise<Replayable> {
    const loaded = await loadReplayable(this.#project.runs, runId);
    if (!loaded.ok) throw new Refusal(describe(runId, loaded.problem));
    return loaded.replayable;
  }

  /** Loads a run of many. A text says why it cannot be replayed. @throws ArchiveError where that is no matter of this run alone. */
  async loadOneOfMany(runId: string): Promise<Replayable | string> {
    try {
      return await this.load(runId);
    } catch (error) {
      if (!isAboutOneRun(error) && !(error instanceof Refusal)) throw error;
      return error.message;
    }
  }

  /** Replays a run, or an edited program against its record. */
  replay(replayable: Replayable, { edited, ...options }: ReplayOptions): Promise<Replayed> {
    const { modules } = replayable;
    return this.host.replay({
      ...replayable,
      modules: edited === undefined ? modules : modules.held(),
      edited,
      ...options,
    });
  }

  /** Runs a recorded program against the real servers. How its calls and its result differ from the record comes with it. */
  async runLive(
    { run, limits, typecheck }: Replayable,
    { onCall, ...asked }: Omit<ProgramRequest, "program" | "context" | "timeoutMs" | "typecheck">,
  ): Promise<LiveReplay> {
    const calls: ObservedCall[] = [];
    const executed = await this.host.run({
      ...asked,
      program: run.program,
      context: localContext("replay", this.#project.env),
      timeoutMs: limits.timeoutMs,
      typecheck,
      onCall: (call) => {
        calls.push(call);
        onCall?.(call);
      },
    });
    return { executed, ...(await compareToRecord(run, calls, executed.envelope)) };
  }
}

/** A program that runs in place of a recorded one, with the same data. @throws Refusal if it is in another language. */
export function editedProgram({ run }: Replayable, edited: UnresolvedProgram): Program {
  const recorded = run.program;
  const program = { ...recorded, ...edited, data: recorded.data };
  if (!isSameLanguage(program.language, recorded.language))
    throw new Refusal(`the run's program is in ${recorded.language}; give --code one that is, too`);
  return program;
}

function describe(runId: string, problem: Unreplayable): string {
  switch (problem.kind) {
    case "values-not-kept":
      return `run ${runId} cannot be replayed: the values of call ${problem.call} are not in the archive (${oneLine(problem.why)})`;
    case "session-incomplete":
      return `run ${runId} cannot be replayed: it is part of a session, and program ${problem.position} of that session cannot be replayed before it: ${problem.why}`;
    case "other-version":
      return `run ${runId} was archived by another version of ptc and cannot be replayed`;
  }
}
