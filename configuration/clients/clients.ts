/** The MCP clients that ptc knows: where each keeps its servers, and how it starts `ptc serve`. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, relative } from "node:path";
import { parse } from "yaml";
import { decodeFile } from "../../base/file-text.ts";
import { isObject, parseForeignJson } from "../../base/json.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";

/**
 * The scope of an entry. `project`: a file in the folder, for everybody who works in it. `user`: a file for all folders of the user.
 * `local`: Claude Code's, for the user in this folder.
 */
export const SCOPES = ["project", "user", "local"] as const;
export type ClientScope = (typeof SCOPES)[number];

/** A client into whose configuration ptc can write an entry for itself. */
interface Client {
  /** For people. */
  title: string;
  /** The path of keys in its files that leads to its servers. */
  keys: readonly string[];
  /** Its file in the folder of a project. */
  project: string;
  /** Its file of a user. */
  user: (folders: UserFolders) => string;
  /** Says what the client does with a changed file. `nextInProject` is for a project's file, if that differs. */
  next: string;
  nextInProject?: string;
  /** How a shared file names the folder of the project. */
  projectFolder: string;
  /** The members of an entry besides the command. @param variables names that ptc.yaml refers to. */
  extra: (variables: readonly string[]) => ClientEntry;
}

/** The members that ptc sets in a client's entry. */
type ClientEntry = Readonly<
  Record<string, string | number | readonly string[] | Readonly<Record<string, string>>>
>;

/** Codex gives up a call after one minute by default, but programs may take two. */
const CODEX_CALL_SECONDS = 600;

const STDIO = () => ({ type: "stdio" });

const BY_NAME = {
  claude: {
    title: "Claude Code",
    keys: ["mcpServers"],
    project: ".mcp.json",
    user: ({ env, home }) => join(env.CLAUDE_CONFIG_DIR || home, ".claude.json"),
    next: "Claude Code has it from its next start on",
    nextInProject: "Claude Code asks once whether this project's servers may be used",
    // Claude Code sets the variable for the servers that it starts, but not always when it expands this text. Hence the default.
    projectFolder: "$" + "{CLAUDE_PROJECT_DIR:-.}",
    extra: STDIO,
  },
  cursor: {
    title: "Cursor",
    keys: ["mcpServers"],
    project: ".cursor/mcp.json",
    user: ({ home }) => join(home, ".cursor/mcp.json"),
    next: "Cursor shows it in its settings under MCP, where it can be switched on",
    projectFolder: "$" + "{workspaceFolder}",
    extra: STDIO,
  },
  vscode: {
    title: "VS Code",
    keys: ["servers"],
    project: ".vscode/mcp.json",
    user: ({ applications }) => join(applications, "Code/User/mcp.json"),
    next: "VS Code asks whether the server may be started",
    projectFolder: "$" + "{workspaceFolder}",
    extra: STDIO,
  },
  codex: {
    title: "Codex",
    keys: ["mcp_servers"],
    project: ".codex/config.toml",
    user: ({ env, home }) => join(env.CODEX_HOME || join(home, ".codex"), "config.toml"),
    next: "Codex has it from its next start on",
    nextInProject: "Codex reads it where it trusts the project",
    projectFolder: ".",
    // Codex passes only named variables to servers.
    extra: (variables) => ({
      ...(variables.length > 0 && { env_vars: variables }),
      tool_timeout_sec: CODEX_CALL_SECONDS,
    }),
  },
  gemini: {
    title: "Gemini CLI",
    keys: ["mcpServers"],
    project: ".gemini/settings.json",
    user: ({ home }) => join(home, ".gemini/settings.json"),
    next: "Gemini CLI has it from its next start on",
    projectFolder: ".",
    // Gemini CLI hides variables that look secret.
    extra: (variables) =>
      variables.length === 0 ? {} : { env: Object.fromEntries(variables.map((name) => [name, `$${name}`])) },
  },
} as const satisfies Record<string, Client>;

export type ClientName = keyof typeof BY_NAME;
export const CLIENTS = Object.keys(BY_NAME) as ClientName[];

interface UserFolders {
  env: EnvironmentVariables;
  home: string;
  /** The folder where desktop applications keep a user's settings. */
  applications: string;
}

function userFolders(env: EnvironmentVariables): UserFolders {
  const home = env.HOME || homedir();
  const applications =
    process.platform === "darwin"
      ? join(home, "Library/Application Support")
      : process.platform === "win32"
        ? env.APPDATA || join(home, "AppData/Roaming")
        : env.XDG_CONFIG_HOME || join(home, ".config");
  return { env, home, applications };
}

/** The place of a client's servers. */
export interface ClientPlace {
  /** The client, for people. */
  client: string;
  /** Absolute. */
  path: string;
  format: "json" | "toml";
  /** The path of keys in the file that leads to its servers. */
  keys: readonly string[];
  /** What the client does with a changed file, for people. */
  next: string;
}

/**
 * The file of a client; `undefined` if the client has no such scope.
 *
 * @param cwd the folder of the project, without symbolic links.
 */
export function clientPlace(
  client: ClientName,
  scope: ClientScope,
  { env, cwd }: { env: EnvironmentVariables; cwd: string },
): ClientPlace | undefined {
  if (scope === "local" && client !== "claude") return undefined;
  const { title, keys, project, user, next, nextInProject = next }: Client = BY_NAME[client];
  const isProject = scope === "project";
  const path = isProject ? join(cwd, project) : user(userFolders(env));
  return {
    client: title,
    path,
    format: formatOf(path),
    keys: scope === "local" ? ["projects", cwd, ...keys] : keys,
    next: isProject ? nextInProject : next,
  };
}

export function formatOf(path: string): ClientPlace["format"] {
  return path.endsWith(".toml") ? "toml" : "json";
}

/**
 * The entry with which a client starts `ptc serve`.
 *
 * @param call the words that start ptc.
 * @param configuration the absolute path of ptc.yaml.
 * @param variables names that ptc.yaml refers to.
 */
export function clientEntry(
  client: ClientName,
  scope: ClientScope,
  {
    call: [command = "ptc", ...before],
    configuration,
    cwd,
    variables,
  }: { call: readonly string[]; configuration: string; cwd: string; variables: readonly string[] },
): ClientEntry {
  const { projectFolder, extra }: Client = BY_NAME[client];
  const inside = relative(cwd, configuration);
  const isOutside = scope !== "project" || inside.startsWith("..") || isAbsolute(inside);
  const inProject = projectFolder === "." ? inside : `${projectFolder}/${inside.replaceAll("\\", "/")}`;
  const args = [...before, "serve", "--config", isOutside ? configuration : inProject];
  const { type, ...others } = extra(variables);
  return { ...(type !== undefined && { type }), command, args, ...others };
}

/** The names of the variables without a default in a ptc.yaml; none for a text that is not YAML. */
export function namedVariables(configurationText: string): string[] {
  const names = new Set<string>();
  const visit = (value: unknown, depth: number): void => {
    if (typeof value === "string")
      for (const [, name = ""] of value.matchAll(/\$\{([A-Za-z_]\w*)\}/g)) names.add(name);
    else if (typeof value === "object" && value !== null && depth < 16)
      for (const [key, member] of Object.entries(value)) {
        if (key === "env" && typeof member === "string") names.add(member);
        visit(member, depth + 1);
      }
  };
  try {
    visit(parse(configurationText), 0);
  } catch {
    return [];
  }
  return [...names].filter((name) => /^[A-Za-z_]\w*$/.test(name)).sort();
}

/** Whether an entry of a client starts ptc, so that ptc may change or remove it. */
export function isPtcEntry(entry: unknown): boolean {
  if (typeof entry !== "object" || entry === null) return false;
  const { command, args } = entry as { command?: unknown; args?: unknown };
  const words = [command, ...(Array.isArray(args) ? args : [])].filter((word) => typeof word === "string");
  // The word alone proves nothing, because any other server may have a folder of that name as an argument.
  return words.some((word, at) => /(?:^|[/\\])ptc(?:\.js)?$/.test(word) && words[at + 1] === "serve");
}

/** A file in which an MCP client may name servers. */
export interface ClientFile {
  /** For people. */
  client: string;
  /** Absolute. */
  path: string;
  /** Absolute: the folder of the plugin that the file belongs to. */
  pluginRoot?: string;
  isGemini?: boolean;
  /** Whether the client counts a `timeout` in seconds. */
  countsSeconds?: boolean;
}

const MAX_PLUGINS = 200;
const PLUGINS_LIMITS = { maxBytes: 8 * 1024 * 1024, maxDepth: 16 };

/** The files of MCP clients that are on this machine, those of the folder first. */
export function findClientFiles(env: EnvironmentVariables, cwd: string): ClientFile[] {
  const folders = userFolders(env);
  const claude = claudeFolder(env);
  const fileOf = (name: ClientName, path: string): ClientFile => ({
    client: BY_NAME[name].title,
    path,
    ...(name === "gemini" && { isGemini: true }),
  });
  const inProject = (name: ClientName) => fileOf(name, join(cwd, BY_NAME[name].project));
  const ofUser = (name: ClientName) => fileOf(name, BY_NAME[name].user(folders));
  const files: ClientFile[] = [
    ...(["claude", "cursor", "vscode", "gemini"] as const).map(inProject),
    ofUser("claude"),
    fileOf("claude", join(claude, "settings.json")),
    ...pluginFiles(claude),
    { client: "Claude Desktop", path: join(folders.applications, "Claude/claude_desktop_config.json") },
    ofUser("cursor"),
    ofUser("vscode"),
    fileOf("vscode", join(folders.applications, "Code/User/settings.json")),
    ofUser("codex"),
    ofUser("gemini"),
  ];
  const seen = new Set<string>();
  return files.filter(({ path }) => isFile(path) && !seen.has(path) && seen.add(path));
}

/** The folder of Claude Code's settings and plugins. */
export function claudeFolder(env: EnvironmentVariables): string {
  return env.CLAUDE_CONFIG_DIR || join(env.HOME || homedir(), ".claude");
}

/** The files of Claude Code's plugins that are installed and not switched off. */
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

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The parsed content of a client's file; `undefined` if it cannot be read. */
export function readJson(path: string, limits = PLUGINS_LIMITS): unknown {
  try {
    return parseForeignJson(decodeFile(readFileSync(path)), limits);
  } catch {
    return undefined;
  }
}

export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
