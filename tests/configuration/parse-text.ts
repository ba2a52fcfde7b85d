import { expect } from "vitest";
import type { Configuration } from "../../configuration/configuration.ts";
import { ConfigurationError } from "../../configuration/configuration-error.ts";
import { parseConfiguration } from "../../configuration/parse.ts";

/** A configuration of this text, as if it were `/project/ptc.yaml`. */
export function parse(text: string, environment: Record<string, string> = {}): Configuration {
  return parseConfiguration(text, { file: "ptc.yaml", directory: "/project", environment });
}

/** The message with which this text is refused. */
export function problemIn(text: string, environment: Record<string, string> = {}): string {
  try {
    parse(text, environment);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  throw new Error("the configuration was accepted");
}
