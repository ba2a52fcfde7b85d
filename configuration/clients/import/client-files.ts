import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isObject, parseForeignJson } from "../../../base/json.ts";
import type { EnvironmentVariables } from "../../../system/environment-variables.ts";

/** A file in which an MCP client may name servers. */
export interface ClientFile {
  /** For people. */
  client: string;
  /** Absolute. */
  path: string;
  /** Absolute: the folder of the plugin that the file belongs to. */
  pluginRoot?: string;
  isGemini?: boolean;
}

const MAX_PLUGINS = 200;
const PLUGINS_LIMITS = { maxBytes: 8 * 1024 * 1024, maxDepth: 16 };

/** The files of MCP clients that are on this machine, those of the folder first. */
export function findClientFiles(env: EnvironmentVariables, cwd: string): ClientFile[] {
  const home = env.HOME || homedir();
  const claude = env.CLAUDE_CONFIG_DIR || join(home, ".claude");
  const applications =
    process.platform === "darwin"
      ? join(home, "Library/Application Support")
      : process.platform === "win32"
        ? env.APPDATA || join(home, "AppData/Roaming")
        : env.XDG_CONFIG_HOME || join(home, ".config");
  const files: ClientFile[] = [
    { client: "Claude Code", path: join(cwd, ".mcp.json") },
    { client: "Cursor", path: join(cwd, ".cursor/mcp.json") },
    { client: "VS Code", path: join(cwd, ".vscode/mcp.json") },
    { client: "Gemini CLI", path: join(cwd, ".gemini/settings.json"), isGemini: true },
    { client: "Claude Code", path: join(env.CLAUDE_CONFIG_DIR || home, ".claude.json") },
    { client: "Claude Code", path: join(claude, "settings.json") },
    ...pluginFiles(claude),
    { client: "Claude Desktop", path: join(applications, "Claude/claude_desktop_config.json") },
    { client: "Cursor", path: join(home, ".cursor/mcp.json") },
    { client: "VS Code", path: join(applications, "Code/User/mcp.json") },
    { client: "VS Code", path: join(applications, "Code/User/settings.json") },
    { client: "Codex", path: join(env.CODEX_HOME || join(home, ".codex"), "config.toml") },
    { client: "Gemini CLI", path: join(home, ".gemini/settings.json"), isGemini: true },
  ];
  const seen = new Set<string>();
  return files.filter(({ path }) => isFile(path) && !seen.has(path) && seen.add(path));
}

/** The files of Claude Code's plugins: those that it says are installed, and that are not switched off. */
function pluginFiles(claude: string): ClientFile[] {
  const installed = memberOf(readJson(join(claude, "plugins/installed_plugins.json")), "plugins");
  const enabled = memberOf(readJson(join(claude, "settings.json")), "enabledPlugins");
  if (!isObject(installed)) return [];
  return Object.entries(installed)
    .slice(0, MAX_PLUGINS)
    .filter(([name]) => memberOf(enabled, name) !== false)
    .flatMap(([name, installs]) => {
      const root = [installs]
        .flat()
        .map((each) => memberOf(each, "installPath"))
        .find((path) => typeof path === "string");
      if (typeof root !== "string" || !existsSync(root)) return [];
      const client = `Claude Code plugin ${name}`;
      const named = memberOf(readJson(join(root, ".claude-plugin/plugin.json")), "mcpServers");
      const paths = [
        join(root, ".mcp.json"),
        ...(typeof named === "string" ? [join(root, named)] : []),
        ...(isObject(named) ? [join(root, ".claude-plugin/plugin.json")] : []),
      ];
      return paths.map((path) => ({ client, path, pluginRoot: root }));
    });
}

function readJson(path: string): unknown {
  try {
    return parseForeignJson(readFileSync(path), PLUGINS_LIMITS);
  } catch {
    return undefined;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
