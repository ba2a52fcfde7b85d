import { resolve } from "node:path";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { ManagedPlace } from "./managed-settings.ts";

export interface FindOptions {
  /** The value of `--config`. */
  flag?: string | undefined;
  env: EnvironmentVariables;
  /** Absolute. */
  cwd: string;
  /** Where managed settings are looked for; by default the places of this system. No variable and no option changes that. */
  managedPlaces?: readonly ManagedPlace[] | undefined;
}

/** The names of the file where nobody names another, best first. */
export const UNNAMED_CONFIGURATIONS = ["ptc.yaml", "config.yaml"];

/** The file that is named, and by what; `undefined` when nobody names one. */
export function namedConfiguration({ flag, env }: Pick<FindOptions, "flag" | "env">) {
  return [
    { by: "--config", file: flag },
    { by: "PTC_CONFIG", file: env.PTC_CONFIG || undefined },
    { by: "PTC_MCP_CONFIG", file: env.PTC_MCP_CONFIG || undefined },
  ].find(({ file }) => file !== undefined);
}

/** The absolute paths at which the configuration is looked for, best first. */
export function configurationPaths({ flag, env, cwd }: FindOptions): string[] {
  const named = namedConfiguration({ flag, env })?.file;
  return (named === undefined ? UNNAMED_CONFIGURATIONS : [named]).map((file) => resolve(cwd, file));
}
