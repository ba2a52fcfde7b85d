import { join } from "node:path";
import type { RunArchiver } from "../../archive/archive-store.ts";
import { AuditLog } from "../../archive/audit/audit-log.ts";
import { PRIVATE_FOLDER_NAME } from "../../archive/private-folder.ts";
import { ArchivingRecorder } from "../../execution/record/record-runs.ts";
import type { RunRecorder } from "../../execution/record/run-recorder.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { Redactor } from "../../secrets/redaction.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { openArchive } from "../open-archive.ts";
import { version } from "../package.ts";
import { clock } from "../process-clock.ts";
import type { ProgramTools } from "../tools/program-tools.ts";

/** Keeps runs in the archive and in the audit log. */
export interface Records {
  /** A recorder for one run. */
  recorder(context: RunContext, tools: ProgramTools): RunRecorder;
  /** Resolves when everything is written. Never rejects. */
  close(): Promise<void>;
}

/**
 * @param options `archive` opens what keeps runs, instead of the configured archive. `onWarning` is told of what cannot be
 * written to the audit log.
 */
export function composeRecords(
  configuration: Configuration,
  {
    archive: open = () => openArchive(configuration),
    redactor,
    onWarning,
  }: {
    archive?: (() => RunArchiver) | undefined;
    redactor: Redactor;
    onWarning: (message: string) => void;
  },
): Records {
  const archive = open();
  const audit = new AuditLog({
    path: join(configuration.directory, PRIVATE_FOLDER_NAME, "audit.jsonl"),
    clock,
    redact: (name) => redactor.redactText(name).value,
    onFailure: onWarning,
  });
  return {
    recorder: (context, { all: tools }) =>
      new ArchivingRecorder({
        archive,
        audit,
        redactor,
        tools,
        servers: new Map(tools.servers.map(({ name, implementation }) => [name, implementation])),
        context,
        versions: { ptc: version, node: process.versions.node },
        clock,
      }),
    async close() {
      await Promise.all([archive.close(), audit.close()]);
    },
  };
}
