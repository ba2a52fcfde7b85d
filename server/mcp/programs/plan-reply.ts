import { jsonLine } from "../../../base/json.ts";
import { countNoun } from "../../../base/quantities.ts";
import { visibleLines } from "../../../base/visible-text.ts";
import { reportPlan } from "../../../execution/output/plan-report.ts";
import type { PlannedProgram } from "../../../execution/output/planned-program.ts";
import { boundJson } from "../../../execution/output/whole-output.ts";
import type { ProgramReply } from "../tools/reply.ts";
import type { ClientConnection } from "./client-request.ts";
import type { RunEnd } from "./live-run.ts";

/** The end of a dry run: its client reads which calls would change something, as JSON below a status line. */
export function endOfPlan(
  planned: PlannedProgram,
  { notices }: Pick<ClientConnection, "notices">,
  maxReplyBytes: number,
): RunEnd {
  return {
    async reply(_, { hints, notes }): Promise<ProgramReply> {
      const { outcome, typeWarning } = planned;
      const more = [...hints, ...notices.labelled(planned), ...notes];
      return {
        content: [renderPlanned(planned, maxReplyBytes), ...warningOf(typeWarning), ...more].map((text) => ({
          type: "text" as const,
          text,
        })),
        ...(outcome.kind === "failed" ? { isError: true as const } : {}),
      };
    },
  };
}

function renderPlanned({ outcome }: PlannedProgram, maxReplyBytes: number): string {
  switch (outcome.kind) {
    case "unchanged":
      return "[Plan: the script would change nothing]";
    case "failed": {
      const { type, message } = outcome.error;
      return `[Plan: the script failed before it would change anything]\n${type}: ${visibleLines(message)}`;
    }
    case "changes": {
      const { calls } = outcome.plan;
      const json = jsonLine(reportPlan(outcome));
      const shown =
        Buffer.byteLength(json) <= maxReplyBytes ? json : jsonLine(boundJson(json, maxReplyBytes).ends);
      const status = `[Plan: ${countNoun(calls.length, "call")} would change something; none was made, and nobody was asked]`;
      return `${status}\n${shown}`;
    }
  }
}

function warningOf(typeWarning: string | undefined): string[] {
  return typeWarning === undefined ? [] : [`Type warnings:\n${typeWarning}`];
}
