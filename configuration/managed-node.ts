import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { ConfigurationError } from "./configuration-error.ts";

/** Options of Node.js that change nothing about which code runs, or what may look into it. */
const HARMLESS = new Set([
  ...["--max-old-space-size", "--max-semi-space-size", "--stack-trace-limit", "--enable-source-maps"],
  ...["--no-warnings", "--disable-warning", "--trace-warnings", "--no-deprecation", "--trace-deprecation"],
  ...[
    "--use-system-ca",
    "--use-openssl-ca",
    "--use-bundled-ca",
    "--dns-result-order",
    "--no-experimental-webstorage",
  ],
  ...["--network-family-autoselection", "--network-family-autoselection-attempt-timeout"],
]);

/** Variables with which Node.js, or the loader of the system, runs code that is not ptc's. */
const LOADING = ["NODE_PATH", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"];

/**
 * Refuses variables that have Node.js run other code in ptc's process, where settings are managed: such code could hide these settings.
 * What it runs comes before this check, so that the check holds what is set by mistake or by habit, and not who lies about it.
 *
 * @param file the managed settings, for the message.
 * @throws ConfigurationError in one line.
 */
export function refuseForeignCode(env: EnvironmentVariables, file: string): void {
  const refuse = (what: string, variable: string) => {
    const message = `${file} manages the settings of this machine, and ${what}, which can run other code in ptc: unset ${variable}`;
    throw new ConfigurationError("invalid", message);
  };
  for (const variable of LOADING) if (env[variable]) refuse(`${variable} is set`, variable);
  const options = (env.NODE_OPTIONS ?? "").split(/\s+/).filter((option) => option !== "");
  for (const option of options) {
    const [name = ""] = option.split("=");
    const isHarmless = HARMLESS.has(name.replaceAll("_", "-")) && !/["\\]/.test(option);
    if (!isHarmless) refuse(`NODE_OPTIONS has ${JSON.stringify(name.slice(0, 60))}`, "NODE_OPTIONS");
  }
}
