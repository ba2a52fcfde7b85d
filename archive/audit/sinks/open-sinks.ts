import { outgoingFetch } from "../../../system/outgoing.ts";
import { isUnwanted, parseAuditLine } from "../audit-line.ts";
import type { AuditSink } from "../audit-log.ts";
import { type Carrier, QueuedSink } from "./queued-sink.ts";
import { openSyslog } from "./syslog-carrier.ts";

/** Opens the destinations that receive the log's lines besides its file. Connects to none of them before the first lines. */
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

const BATCH = 500;
const ANSWER_MS = 10_000;
/** Severity numbers of the OpenTelemetry log data model. */
const INFO = 9;
const WARN = 13;

interface OtlpOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  version: string;
  wallMs: () => number;
}

/** Sends lines as log records, by OTLP 1.x over HTTP with JSON (`ExportLogsServiceRequest`). */
export function openOtlp({ url, headers, version, wallMs }: OtlpOptions): Carrier {
  return {
    place: url,
    batch: BATCH,
    async deliver(lines) {
      const response = await outgoingFetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(renderLogs(lines, version, wallMs())),
        redirect: "error",
        signal: AbortSignal.timeout(ANSWER_MS),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`it answers with status ${response.status}`);
    },
    end() {},
  };
}

/** The headers of `OTEL_EXPORTER_OTLP_LOGS_HEADERS`, or of `OTEL_EXPORTER_OTLP_HEADERS`, as that variable writes them. */
function otlpHeaders(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const text = env.OTEL_EXPORTER_OTLP_LOGS_HEADERS ?? env.OTEL_EXPORTER_OTLP_HEADERS ?? "";
  return Object.fromEntries(
    text.split(",").flatMap((pair) => {
      const at = pair.indexOf("=");
      return at < 1 ? [] : [[pair.slice(0, at).trim(), decode(pair.slice(at + 1).trim())]];
    }),
  );
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function renderLogs(lines: readonly string[], version: string, nowMs: number): object {
  return {
    resourceLogs: [
      {
        resource: { attributes: [attribute("service.name", "ptc"), attribute("service.version", version)] },
        scopeLogs: [
          {
            scope: { name: "ptc.audit", version },
            logRecords: lines.map((line) => renderRecord(line, nowMs)),
          },
        ],
      },
    ],
  };
}

/** A line as a log record: its body is the line, its attributes are the line's members. */
function renderRecord(line: string, nowMs: number): object {
  const fields = parseAuditLine(line);
  const unwanted = fields !== undefined && isUnwanted(fields);
  const at = fields === undefined ? Number.NaN : Date.parse(String(fields.time));
  const { trace_id: traceId } = fields ?? {};
  return {
    timeUnixNano: nanoseconds(Number.isNaN(at) ? nowMs : at),
    observedTimeUnixNano: nanoseconds(nowMs),
    severityNumber: unwanted ? WARN : INFO,
    severityText: unwanted ? "WARN" : "INFO",
    eventName: `ptc.audit.${fields?.event ?? "unknown"}`,
    body: { stringValue: line.trimEnd() },
    attributes: Object.entries(fields ?? {}).map(([name, value]) => attribute(`ptc.audit.${name}`, value)),
    ...(typeof traceId === "string" && /^[0-9a-f]{32}$/.test(traceId) ? { traceId } : {}),
  };
}

/** Renders a 64-bit number, which is a string in the JSON form of protocol buffers. */
function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms)) * 1_000_000n);
}

function attribute(key: string, value: string | number | boolean): object {
  if (typeof value === "boolean") return { key, value: { boolValue: value } };
  if (typeof value === "string") return { key, value: { stringValue: value } };
  return Number.isSafeInteger(value)
    ? { key, value: { intValue: String(value) } }
    : { key, value: { doubleValue: value } };
}
