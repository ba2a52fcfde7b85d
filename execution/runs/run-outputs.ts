import { ArchiveError } from "../../archive/archive-error.ts";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { Owner, Viewer } from "../../broker/policy/authorizer.ts";
import { identityOf, owns } from "../../protocol/run-context.ts";
import { archivedOutput } from "../output/archived-output.ts";
import { type ExecutedCall, type ExecutedProgram, outputOf } from "../output/executed-run.ts";
import { joinOutput, type OutputParts } from "../output/whole-output.ts";

/** The most characters of recent runs' outputs that are held in memory. */
const MAX_HELD_CHARS = 16 * 1024 * 1024;
const MAX_HELD_RUNS = 64;

/** Decides whether somebody reads a run of somebody. */
type MayRead = (viewer: Viewer, owner: Owner, runId: string) => Promise<boolean>;

const isOwn: MayRead = async (viewer, owner) => owns(viewer, owner);

/** Whole outputs of runs. Recent outputs come from memory, because they may not be in the archive yet; others from the archive. */
export class RunOutputs {
  readonly #archive: () => Pick<ArchiveStore, "read">;
  readonly #mayRead: MayRead;
  readonly #recent = new Map<string, { owner: Owner; text: string }>();
  #chars = 0;

  /**
   * @param archive is called when an output is no longer in memory.
   * @param mayRead decides who reads whose runs; by default each reads their own.
   */
  constructor(archive: () => Pick<ArchiveStore, "read">, mayRead: MayRead = isOwn) {
    this.#archive = archive;
    this.#mayRead = mayRead;
  }

  /** Holds the output of somebody's run that has ended. Older outputs are dropped when space runs out. */
  remember(executed: ExecutedProgram, owner: Owner): void {
    this.#remember(executed.envelope.run_id, outputOf(executed), owner);
  }

  /** Holds the output of a single call, unless its envelope has the whole value, which nobody reads again. */
  rememberCall({ envelope, wholeResultJson }: ExecutedCall, owner: Owner): void {
    if (wholeResultJson === undefined) return;
    this.#remember(envelope.run_id, { consoleText: "", stderrText: "", resultJson: wholeResultJson }, owner);
  }

  #remember(runId: string, output: OutputParts, owner: Owner): void {
    const { text } = joinOutput(output);
    this.#recent.set(runId, { owner: identityOf(owner), text });
    this.#chars += text.length;
    for (const [oldestId, { text: oldest }] of this.#recent) {
      if (this.#chars <= MAX_HELD_CHARS && this.#recent.size <= MAX_HELD_RUNS) return;
      this.#recent.delete(oldestId);
      this.#chars -= oldest.length;
    }
  }

  /**
   * The whole output of a run that somebody may read, in the form of the reply to its program but without bounds; `undefined` for
   * any other, whether there is such a run or not.
   *
   * @throws ArchiveError for an archive that cannot be read.
   */
  async read(runId: string, viewer: Viewer): Promise<string | undefined> {
    const held = this.#recent.get(runId);
    if (held !== undefined) return (await this.#mayRead(viewer, held.owner, runId)) ? held.text : undefined;
    try {
      const run = await this.#archive().read(runId);
      const { principal, groups, bound_groups: boundGroups } = run.record;
      const may = await this.#mayRead(viewer, identityOf({ principal, groups, boundGroups }), runId);
      return may ? joinOutput(archivedOutput(run)).text : undefined;
    } catch (error) {
      if (error instanceof ArchiveError && error.code === "missing") return undefined;
      throw error;
    }
  }
}
