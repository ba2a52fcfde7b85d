/**
 * The standard environment variables of OpenTelemetry (OpenTelemetry specification, "Environment Variable Specification" and
 * "OpenTelemetry Protocol Exporter"), except those that the exporters read themselves.
 */

/** How one kind of signal is sent. */
export interface SignalSettings {
  protocol: (typeof PROTOCOLS)[number];
}

export interface TelemetrySettings {
  traces: SignalSettings | undefined;
  metrics: SignalSettings | undefined;
  sampler: SamplerSettings;
  /** Whether requests to servers carry the trace context. */
  propagates: boolean;
  /** Milliseconds and counts; `undefined` for the SDK's default. */
  batch: {
    scheduledDelayMillis: number | undefined;
    exportTimeoutMillis: number | undefined;
    maxQueueSize: number | undefined;
    maxExportBatchSize: number | undefined;
  };
  reader: { exportIntervalMillis: number | undefined; exportTimeoutMillis: number | undefined };
  /** What was asked for but is not supported; one line each. */
  problems: readonly string[];
}

interface SamplerSettings {
  name: (typeof SAMPLERS)[number];
  /** From 0 to 1; the share of traces that `traceidratio` keeps. */
  ratio: number;
}

type Variables = Readonly<Record<string, string | undefined>>;

const PROTOCOLS = ["http/protobuf", "http/json"] as const;
const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;
const MAX_SHOWN_CHARS = 60;

/**
 * The settings in the variables; `undefined` if they ask for nothing. Unlike the SDK alone, ptc sends nothing unless an endpoint or
 * an exporter is named.
 *
 * @param isScraped whether metrics are kept to be scraped, regardless of what is sent.
 */
export function readTelemetrySettings(env: Variables, isScraped = false): TelemetrySettings | undefined {
  if (env.OTEL_SDK_DISABLED?.trim().toLowerCase() === "true") return undefined;
  const problems: string[] = [];
  const traces = signal(env, "TRACES", problems);
  const metrics = signal(env, "METRICS", problems);
  if (traces === undefined && metrics === undefined && problems.length === 0 && !isScraped) return undefined;
  const number = (name: string) => positive(env, name, problems);
  return {
    traces,
    metrics,
    sampler: sampler(env, problems),
    propagates: propagates(env),
    batch: {
      scheduledDelayMillis: number("OTEL_BSP_SCHEDULE_DELAY"),
      exportTimeoutMillis: number("OTEL_BSP_EXPORT_TIMEOUT"),
      maxQueueSize: number("OTEL_BSP_MAX_QUEUE_SIZE"),
      maxExportBatchSize: number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
    },
    reader: {
      exportIntervalMillis: number("OTEL_METRIC_EXPORT_INTERVAL"),
      exportTimeoutMillis: number("OTEL_METRIC_EXPORT_TIMEOUT"),
    },
    problems,
  };
}

function signal(env: Variables, name: "TRACES" | "METRICS", problems: string[]): SignalSettings | undefined {
  const own = `OTEL_EXPORTER_OTLP_${name}_ENDPOINT`;
  const place = setting(env, own) === undefined ? "OTEL_EXPORTER_OTLP_ENDPOINT" : own;
  const endpoint = setting(env, place);
  const exporters = listOf(env, `OTEL_${name}_EXPORTER`);
  if (exporters.length === 0 && endpoint === undefined) return undefined;
  for (const other of exporters.filter((each) => each !== "otlp" && each !== "none")) {
    problems.push(`OTEL_${name}_EXPORTER: '${shown(other)}' is not offered, only otlp and none`);
  }
  if (exporters.length > 0 && !exporters.includes("otlp")) return undefined;
  if (endpoint !== undefined && !isWebAddress(endpoint)) {
    problems.push(`${place} is not an http or https address; ${name.toLowerCase()} are not sent`);
    return undefined;
  }
  const variable = `OTEL_EXPORTER_OTLP_${name}_PROTOCOL`;
  const wanted = setting(env, variable) ?? setting(env, "OTEL_EXPORTER_OTLP_PROTOCOL") ?? PROTOCOLS[0];
  const protocol = PROTOCOLS.find((each) => each === wanted);
  if (protocol !== undefined) return { protocol };
  problems.push(
    `OTEL_EXPORTER_OTLP_PROTOCOL: '${shown(wanted)}' is not offered, only ${PROTOCOLS.join(" and ")}; ${name.toLowerCase()} are not sent`,
  );
  return undefined;
}

function sampler(env: Variables, problems: string[]): SamplerSettings {
  const wanted = setting(env, "OTEL_TRACES_SAMPLER")?.toLowerCase();
  const name = SAMPLERS.find((each) => each === wanted);
  if (wanted !== undefined && name === undefined)
    problems.push(`OTEL_TRACES_SAMPLER: '${shown(wanted)}' is not offered, only ${SAMPLERS.join(", ")}`);
  const given = setting(env, "OTEL_TRACES_SAMPLER_ARG");
  const ratio = given === undefined ? 1 : Number(given);
  const isRatio = ratio >= 0 && ratio <= 1;
  if (!isRatio)
    problems.push(`OTEL_TRACES_SAMPLER_ARG: '${shown(given ?? "")}' is not a number from 0 to 1; 1 is used`);
  return { name: name ?? "parentbased_always_on", ratio: isRatio ? ratio : 1 };
}

function propagates(env: Variables): boolean {
  const named = listOf(env, "OTEL_PROPAGATORS");
  return named.length === 0 || named.includes("tracecontext");
}

function positive(env: Variables, name: string, problems: string[]): number | undefined {
  const given = setting(env, name);
  if (given === undefined) return undefined;
  const number = Number(given);
  if (Number.isInteger(number) && number > 0 && number < 2 ** 31) return number;
  problems.push(`${name}: '${shown(given)}' is not a whole number above 0; the default is used`);
  return undefined;
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** An empty variable counts as unset (specification, "Parsing empty value"). */
function setting(env: Variables, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}

function listOf(env: Variables, name: string): string[] {
  return (env[name] ?? "").split(",").flatMap((each) => each.trim().toLowerCase() || []);
}

function shown(value: string): string {
  return value.slice(0, MAX_SHOWN_CHARS);
}
