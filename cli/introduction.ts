/** What `ptc` alone says where nothing is set up yet: what it is, and the next command. */
import { existsSync } from "node:fs";
import { configurationPaths } from "../configuration/configuration-paths.ts";
import type { Surroundings } from "../project/surroundings.ts";
import { homepage, packageName, version } from "../system/package.ts";

/**
 * The five lines for somebody who starts ptc without arguments in a folder without a ptc.yaml, such as by `npx`.
 *
 * @returns `undefined` where a ptc.yaml counts, or where there are arguments.
 */
export function introduction({
  argv,
  env,
  cwd,
}: Pick<Surroundings, "argv" | "env" | "cwd">): string | undefined {
  if (argv.length > 2 || configurationPaths({ env, cwd: cwd() }).some((file) => existsSync(file)))
    return undefined;
  // `npx` and `npm exec` say so, and leave no `ptc` on the PATH.
  const ptc = env.npm_command === "exec" ? `npx ${packageName}` : "ptc";
  return [
    `ptc ${version}: a model does a task that needs many MCP tools by one short program, which runs in a sandbox without a network.`,
    "It takes over the servers that Claude Code and other MCP clients on this machine have, and asks before each step.",
    `Next, in a folder of yours:  ${ptc} up`,
    `Without Docker, gVisor and root, behind a weaker wall:  PTC_ENGINE=wasm ${ptc} up`,
    `All commands: ${ptc} --help  Documentation: ${homepage}\n`,
  ].join("\n");
}
