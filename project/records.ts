import type { ArchiveStore } from "../archive/archive-store.ts";
import type { AuditLog } from "../archive/audit/audit-log.ts";
import { clock } from "../base/clock.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ArchivingRecorder } from "../execution/record/record-runs.ts";
import type { RunHost } from "../execution/run-host.ts";
import { version } from "../system/package.ts";

/** Keeps runs in the archive and in the audit log. */
export interface Records extends Pick<RunHost, "recorder"> {
  /** Resolves when everything is archived. Never rejects. */
  close(): Promise<void>;
}

export interface RecordsOptions {
  /** Keeps the runs. It is closed with these records. */
  archive: Pick<ArchiveStore, "begin" | "close">;
  /** The caller closes it. */
  audit: AuditLog;
}

export function composeRecords(configuration: Configuration, { archive, audit }: RecordsOptions): Records {
  return {
    recorder: (context, tools, { redactor, comparing, recorded }) =>
      new ArchivingRecorder({
        ...{ archive, audit, redactor, comparing, tools, context, clock },
        isStrict: configuration.audit.strict,
        // Another process may be asked for a run the moment after it was answered.
        archivesBeforeAnswer: configuration.storage.url !== undefined,
        pii: recorded,
        servers: new Map(tools.servers.map(({ name, implementation }) => [name, implementation])),
        versions: { ptc: version, node: process.versions.node },
      }),
    close: () => archive.close(),
  };
}
