import { visibleLine } from "../../../base/text/visible-text.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-program.ts";
import { pickPrinter } from "../../../host/languages.ts";
import type { ShownLanguages } from "../tools/chosen-language.ts";
import { hintsFor } from "./failure-hints.ts";
import type { RunEnd } from "./live-run.ts";
import { buildProgramReply } from "./program-reply.ts";

/** What a client is told beside what its programs did: once each. */
export class ClientNotices {
  readonly #told = new Set<string>();
  readonly #unrecorded = new Set<string>();

  /** Notes why a run was not recorded, where that turns out: its own reply has gone out by then. */
  follow<T extends { recorded: Promise<string | undefined> }>(executed: T): T {
    void executed.recorded.then((problem) => {
      if (problem !== undefined) this.#unrecorded.add(problem);
    });
    return executed;
  }

  /** What is to be told with the next reply, whatever that answers. */
  take(): string[] {
    const problems = [...this.#unrecorded];
    this.#unrecorded.clear();
    return problems.map(
      (problem) => `A run of this session was not recorded; tell the user: ${visibleLine(problem)}`,
    );
  }

  /** Why the types of a program were not checked, the first time that it is for this reason. */
  unchecked({ unchecked }: ExecutedProgram): string[] {
    if (unchecked === undefined || this.#told.has(unchecked)) return [];
    this.#told.add(unchecked);
    return [`The program's types were not checked: ${visibleLine(unchecked)}`];
  }
}

interface Shown {
  notices: ClientNotices;
  /** The tools that are known now, for hints. */
  known: () => Promise<ToolCatalog>;
  /** Print tools in the languages that programs may be in just now. */
  printers: () => ShownLanguages;
  /** How much is shown just now. */
  limits: () => { readonly maxReplyBytes: number };
}

/** How a client is told of a program that was executed. */
export function endOfProgram(executed: ExecutedProgram, shown: Shown): RunEnd {
  const { known: tools, printers, limits, notices } = shown;
  notices.follow(executed);
  return {
    async reply(calls, { hints, notes }) {
      // Only what is said of a failure depends on the catalog.
      const known = executed.envelope.result.ok ? undefined : await tools();
      const printer = pickPrinter(printers(), executed.program.language);
      const more = known === undefined ? [] : await hintsFor(executed, calls, known, printer);
      return buildProgramReply(executed, calls, {
        isReadOnly: (tool) => known?.find(tool)?.annotations?.readOnlyHint === true,
        hints: [...hints, ...more],
        notes: [...notices.unchecked(executed), ...notes],
        maxReplyBytes: limits().maxReplyBytes,
      });
    },
  };
}
