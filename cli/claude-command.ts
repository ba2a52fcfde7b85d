import { existsSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Surroundings } from "./surroundings.ts";

/**
 * The line that adds ptc to Claude Code, as it works on this machine: `ptc` where that is what the shell would find, else
 * this Node.js and this file.
 */
export function claudeCommand(
  { argv, env }: Pick<Surroundings, "argv" | "env">,
  configurationFile: string | undefined,
): string {
  const [node = "node", script = "ptc"] = argv;
  const call = isOnPath(script, env.PATH) ? ["ptc"] : [node, script];
  const config = configurationFile === undefined ? [] : ["--config", configurationFile];
  return ["claude", "mcp", "add", "ptc", "--", ...call, "serve", ...config].map(quote).join(" ");
}

function isOnPath(script: string, path: string | undefined): boolean {
  const found = (path ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, "ptc"))
    .find(existsSync);
  return found !== undefined && existsSync(script) && realpathSync(found) === realpathSync(script);
}

/** As a POSIX shell takes it. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
