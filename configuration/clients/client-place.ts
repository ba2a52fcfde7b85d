import { homedir } from "node:os";
import { join } from "node:path";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";

/** The clients into whose configuration ptc can write itself. */
export const CLIENTS = ["claude", "cursor", "vscode", "codex", "gemini"] as const;
export type ClientName = (typeof CLIENTS)[number];

/**
 * Whom an entry is for: `project` is a file in the folder, for all who work in it; `user` is one for all folders of the user;
 * `local` is Claude Code's, for the user in this folder.
 */
export const SCOPES = ["project", "user", "local"] as const;
export type ClientScope = (typeof SCOPES)[number];

/** Where a client has its servers. */
export interface ClientPlace {
  /** The client, for people. */
  client: string;
  /** Absolute. */
  path: string;
  format: "json" | "toml";
  /** The members of the file that lead to its servers. */
  keys: readonly string[];
  /** What the client does with a changed file, for people. */
  next: string;
}

/**
 * The file of a client, as its documentation says; `undefined` where the client has no such scope.
 *
 * @param cwd the folder of the project, without symbolic links.
 */
export function clientPlace(
  client: ClientName,
  scope: ClientScope,
  { env, cwd }: { env: EnvironmentVariables; cwd: string },
): ClientPlace | undefined {
  const home = env.HOME || homedir();
  if (scope === "local" && client !== "claude") return undefined;
  const isProject = scope === "project";
  const json = { format: "json", keys: ["mcpServers"] } as const;
  switch (client) {
    case "claude":
      return {
        client: "Claude Code",
        ...json,
        keys: scope === "local" ? ["projects", cwd, "mcpServers"] : ["mcpServers"],
        path: isProject ? join(cwd, ".mcp.json") : join(env.CLAUDE_CONFIG_DIR || home, ".claude.json"),
        next: isProject
          ? "Claude Code asks once whether this project's servers may be used"
          : "Claude Code has it from its next start on",
      };
    case "cursor":
      return {
        client: "Cursor",
        ...json,
        path: join(isProject ? cwd : home, ".cursor/mcp.json"),
        next: "Cursor shows it in its settings under MCP, where it can be switched on",
      };
    case "vscode":
      return {
        client: "VS Code",
        format: "json",
        keys: ["servers"],
        path: isProject ? join(cwd, ".vscode/mcp.json") : join(applications(env, home), "Code/User/mcp.json"),
        next: "VS Code asks whether the server may be started",
      };
    case "codex":
      return {
        client: "Codex",
        format: "toml",
        keys: ["mcp_servers"],
        path: isProject
          ? join(cwd, ".codex/config.toml")
          : join(env.CODEX_HOME || join(home, ".codex"), "config.toml"),
        next: isProject
          ? "Codex reads it where it trusts the project"
          : "Codex has it from its next start on",
      };
    case "gemini":
      return {
        client: "Gemini CLI",
        ...json,
        path: join(isProject ? cwd : home, ".gemini/settings.json"),
        next: "Gemini CLI has it from its next start on",
      };
  }
}

/** Where applications of the desktop keep what a user has set. */
function applications(env: EnvironmentVariables, home: string): string {
  if (process.platform === "darwin") return join(home, "Library/Application Support");
  if (process.platform === "win32") return env.APPDATA || join(home, "AppData/Roaming");
  return env.XDG_CONFIG_HOME || join(home, ".config");
}
