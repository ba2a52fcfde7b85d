import { existsSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Surroundings } from "../project/surroundings.ts";

/**
 * The command that adds ptc to Claude Code on this machine. It uses `ptc` if the shell would find this file by that name, otherwise
 * the paths of this Node.js and this file.
 */
export function claudeCommand(
  { argv, env }: Pick<Surroundings, "argv" | "env">,
  configurationFile: string | undefined,
): string {
  const call = callOfPtc({ argv, env });
  const config = configurationFile === undefined ? [] : ["--config", configurationFile];
  return ["claude", "mcp", "add", "ptc", "--", ...call, "serve", ...config].map(quote).join(" ");
}

/** The words that start ptc on this machine: `ptc` alone, if a shell would find this file by that name. */
export function callOfPtc({ argv, env }: Pick<Surroundings, "argv" | "env">): string[] {
  const [node, script] = argv;
  // Pages are made where no ptc was started.
  if (node === undefined || script === undefined) return ["ptc"];
  return isOnPath(script, env.PATH) ? ["ptc"] : [node, script];
}

function isOnPath(script: string, path: string | undefined): boolean {
  const found = (path ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, "ptc"))
    .find(existsSync);
  return found !== undefined && existsSync(script) && realpathSync(found) === realpathSync(script);
}

/** Quotes a word for a POSIX shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
