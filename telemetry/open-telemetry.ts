import { outsideBoundaries } from "../base/faults.ts";
import { oneLine } from "../base/visible-text.ts";
import { readTelemetrySettings } from "./settings.ts";
import type { Telemetry, TelemetryOptions } from "./telemetry.ts";

/**
 * The telemetry that the variables of this process ask for; `undefined` if they ask for none. OpenTelemetry is loaded only if
 * they ask for some.
 */
export async function openTelemetry(
  env: Readonly<Record<string, string | undefined>>,
  { version, isScraped = false, onWarning }: TelemetryOptions,
): Promise<Telemetry | undefined> {
  const settings = readTelemetrySettings(env, isScraped);
  if (settings === undefined) return undefined;
  for (const problem of settings.problems) onWarning(oneLine(problem));
  if (settings.traces === undefined && settings.metrics === undefined && !isScraped) return undefined;
  const { OpenTelemetry } = await import("./opentelemetry/open-telemetry-sdk.ts");
  // Background exports do not belong to any run.
  return outsideBoundaries(() => OpenTelemetry.start(settings, { version, isScraped, onWarning }));
}
