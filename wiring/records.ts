import type { ArchiveStore } from "../archive/archive-store.ts";
import type { AuditLog } from "../archive/audit/audit-log.ts";
import { clock } from "../base/clock.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ArchivingRecorder } from "../execution/record/record-runs.ts";
import type { RunRecorder } from "../execution/record/run-recorder.ts";
import type { RunContext } from "../protocol/run-context.ts";
import { version } from "../system/package.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import type { RunRedaction } from "./redact-run.ts";

/** Keeps runs in the archive and in the audit log. */
export interface Records {
  /** A recorder for one run. */
  recorder(context: RunContext, tools: ProgramTools, redaction: Omit<RunRedaction, "asking">): RunRecorder;
  /** Resolves when everything is archived. Never rejects. */
  close(): Promise<void>;
}

/**
 * @param options `archive` keeps the runs, and is closed with these records. The opener of `audit` closes that.
 */
export function composeRecords(
  configuration: Configuration,
  { archive, audit }: { archive: Pick<ArchiveStore, "begin" | "close">; audit: AuditLog },
): Records {
  return {
    recorder: (context, { all: tools }, { redactor, comparing, recorded }) =>
      new ArchivingRecorder({
        archive,
        audit,
        isStrict: configuration.audit.strict,
        redactor,
        comparing,
        pii: recorded,
        tools,
        servers: new Map(tools.servers.map(({ name, implementation }) => [name, implementation])),
        context,
        versions: { ptc: version, node: process.versions.node },
        clock,
      }),
    close: () => archive.close(),
  };
}
