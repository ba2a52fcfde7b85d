import { AuditLog, type AuditSink, LazySink } from "../archive/audit/audit-log.ts";
import { clock } from "../base/clock.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { openSharedAudit } from "../storage/storage.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { localActor } from "../system/local-actor.ts";
import { version } from "../system/package.ts";

const DAY_MS = 86_400_000;

interface SinkOptions {
  /** Holds the headers for a collector of log records under their standard names. */
  env: EnvironmentVariables;
  onWarning: (message: string) => void;
}

/**
 * Opens the audit log of a configuration. It reads and creates nothing before its first line. The caller closes it.
 *
 * @param options `path` is its file, where no storage is shared. `redact` removes secrets from names. `onWarning` receives a line when the log cannot be written or sent.
 */
export function openAuditLog(
  configuration: Pick<Configuration, "audit"> & Partial<Pick<Configuration, "storage">>,
  { path, redact, ...options }: SinkOptions & { path: string; redact: (name: string) => string },
): AuditLog {
  const { maxFileMb, keepDays } = configuration.audit;
  const keepMs = keepDays * DAY_MS;
  return new AuditLog({
    path,
    chain: openSharedAudit(configuration, options.env, { keepMs, wallMs: () => clock.wallMs() }),
    clock,
    redact,
    actor: localActor(),
    onFailure: options.onWarning,
    bounds: { maxBytes: maxFileMb * 1024 * 1024, keepMs },
    sink: sinkOf(configuration, options),
  });
}

function sinkOf(
  { audit: { syslog, otlp } }: Pick<Configuration, "audit">,
  { env, onWarning }: SinkOptions,
): AuditSink | undefined {
  if (syslog === undefined && otlp === undefined) return undefined;
  return new LazySink(async () => {
    const { openSinks } = await import("../archive/audit/sinks/open-sinks.ts");
    return openSinks({ syslog, otlp }, { version, env, onFailure: onWarning });
  }, onWarning);
}
