import { resolve } from "node:path";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { ManagedPlace } from "./managed-settings.ts";

export interface FindOptions {
  /** The value of `--config`. */
  flag?: string | undefined;
  /** What gives that value, for messages; by default `--config`. */
  givenBy?: string | undefined;
  env: EnvironmentVariables;
  /** Absolute. */
  cwd: string;
  /** The places of managed settings; by default those of this system. No variable and no option changes them. */
  managedPlaces?: readonly ManagedPlace[] | undefined;
}

/** The default names of the file, best first. */
export const UNNAMED_CONFIGURATIONS = ["ptc.yaml", "config.yaml"];

/** The named file and what names it; `undefined` if no file is named. */
export function namedConfiguration({
  flag,
  givenBy = "--config",
  env,
}: Pick<FindOptions, "flag" | "givenBy" | "env">) {
  return [
    { by: givenBy, file: flag },
    { by: "PTC_CONFIG", file: env.PTC_CONFIG || undefined },
    { by: "PTC_MCP_CONFIG", file: env.PTC_MCP_CONFIG || undefined },
  ].find(({ file }) => file !== undefined);
}

/** The absolute paths where the configuration may be, best first. */
export function configurationPaths({ flag, env, cwd }: FindOptions): string[] {
  const named = namedConfiguration({ flag, env })?.file;
  return (named === undefined ? UNNAMED_CONFIGURATIONS : [named]).map((file) => resolve(cwd, file));
}
