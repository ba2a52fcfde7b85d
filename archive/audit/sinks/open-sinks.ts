import type { AuditSink } from "../audit-log.ts";
import { openOtlp, otlpHeaders } from "./otlp-carrier.ts";
import { QueuedSink } from "./queued-sink.ts";
import { openSyslog } from "./syslog-carrier.ts";

/** Opens the places that the lines of the log go to beside its file. Nothing is connected before the first lines. */
export function openSinks(
  { syslog, otlp }: { syslog?: string | undefined; otlp?: string | undefined },
  {
    version,
    env,
    onFailure,
  }: {
    version: string;
    env: Readonly<Record<string, string | undefined>>;
    onFailure: (message: string) => void;
  },
): AuditSink {
  const carriers = [
    ...(syslog === undefined ? [] : [openSyslog(syslog)]),
    ...(otlp === undefined
      ? []
      : [openOtlp({ url: otlp, headers: otlpHeaders(env), version, wallMs: Date.now })]),
  ];
  const sinks = carriers.map((carrier) => new QueuedSink(carrier, onFailure));
  return {
    send(lines) {
      for (const sink of sinks) sink.send(lines);
    },
    async close() {
      await Promise.all(sinks.map((sink) => sink.close()));
    },
  };
}
