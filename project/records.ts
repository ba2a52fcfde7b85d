import type { AuditLog } from "../archive/audit/audit-log.ts";
import { clock } from "../base/clock.ts";
import { ArchivingRecorder } from "../execution/record/record-runs.ts";
import type { RunHost } from "../execution/run-host.ts";
import { version } from "../system/package.ts";
import type { Project } from "./open-project.ts";

/** Keeps the runs of a project in its archive and in the audit log. */
export function recorderOf(project: Project, audit: AuditLog): RunHost["recorder"] {
  const { configuration, runs: archive } = project;
  return (context, tools, { redactor, comparing, recorded }) =>
    new ArchivingRecorder({
      archive,
      audit,
      redactor,
      comparing,
      tools,
      context,
      clock,
      isStrict: configuration.audit.strict,
      // Another process may be asked for a run the moment after it was answered.
      archivesBeforeAnswer: configuration.storage.url !== undefined,
      pii: recorded,
      servers: new Map(tools.servers.map(({ name, implementation }) => [name, implementation])),
      versions: { ptc: version, node: process.versions.node },
    });
}
