import { outsideBoundaries } from "../base/faults.ts";
import { oneLine } from "../base/visible-text.ts";
import { readTelemetrySettings } from "./settings.ts";
import type { Telemetry, TelemetryOptions } from "./telemetry.ts";

/**
 * What the variables of this process ask to be told to a collector; `undefined` where they ask for nothing. Only then is
 * anything of OpenTelemetry loaded.
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
  // What sends in the background belongs to no run.
  return outsideBoundaries(() => OpenTelemetry.start(settings, { version, isScraped, onWarning }));
}
