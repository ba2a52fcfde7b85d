import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-program.ts";
import { pickPrinter } from "../../../host/languages.ts";
import type { ShownLanguages } from "../tools/chosen-language.ts";
import { hintsFor } from "./failure-hints.ts";
import type { RunEnd } from "./live-run.ts";
import { buildProgramReply } from "./program-reply.ts";

interface Shown {
  /** The tools that are known now, for hints. */
  known: () => Promise<ToolCatalog>;
  /** Print tools in the languages that programs may be in just now. */
  printers: () => ShownLanguages;
  /** How much is shown just now. */
  limits: () => { readonly maxReplyBytes: number };
}

/** How a client is told of a program that was executed. */
export function endOfProgram(executed: ExecutedProgram, { known: tools, printers, limits }: Shown): RunEnd {
  return {
    async reply(calls, { hints, notes }) {
      // Only what is said of a failure depends on the catalog.
      const known = executed.envelope.result.ok ? undefined : await tools();
      const printer = pickPrinter(printers(), executed.program.language);
      const more = known === undefined ? [] : await hintsFor(executed, calls, known, printer);
      return buildProgramReply(executed, calls, {
        isReadOnly: (tool) => known?.find(tool)?.annotations?.readOnlyHint === true,
        hints: [...hints, ...more],
        notes,
        maxReplyBytes: limits().maxReplyBytes,
      });
    },
  };
}
