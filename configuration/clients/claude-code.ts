import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isObject } from "../../base/json.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { type ClientRules, joinRules, rulesIn } from "./client-rules.ts";
import { claudeFolder, isPtcEntry, memberOf, readJson } from "./clients.ts";

/*
 * Claude Code can have ptc twice: through the plugin, and through an entry that `claude mcp add` or `ptc install` wrote. It skips a
 * plugin's server only if an entry has exactly the same command and arguments, but entries name their ptc.yaml. The plugin's ptc
 * therefore looks for such an entry itself, and stands aside if it finds one that Claude Code starts.
 */

/** The variable that plugin/.claude-plugin/plugin.json sets when the plugin starts ptc. */
export const STARTED_BY_PLUGIN = "PTC_CLAUDE_PLUGIN";

const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 128 };
const MAX_FOLDERS_UP = 64;

/** An entry that starts ptc in this folder. */
export interface PtcInClaude {
  name: string;
  /** The file that holds it, for people. */
  file: string;
  /** The absolute path of the ptc.yaml that it names; `undefined` if it looks for one in its working directory. */
  configuration: string | undefined;
  /** Whether Claude Code starts it, according to its files. It first asks about entries of `.mcp.json`. */
  isApproved: boolean;
}

/** The places of ptc in Claude Code, for one folder. */
export interface ClaudeCode {
  /** Claude Code's name of the plugin, if it is installed and not switched off. */
  plugin: string | undefined;
  entries: PtcInClaude[];
}

/** Finds ptc among the servers that Claude Code starts in a folder. An unreadable file counts as missing. */
export function findPtcInClaude(env: EnvironmentVariables, cwd: string): ClaudeCode {
  const claude = claudeFolder(env);
  const userFile = join(env.CLAUDE_CONFIG_DIR || env.HOME || homedir(), ".claude.json");
  const user = readJson(userFile, LIMITS);
  const folders = foldersOf(real(cwd));
  const settings = [
    join(claude, "settings.json"),
    join(cwd, ".claude/settings.json"),
    join(cwd, ".claude/settings.local.json"),
  ].map((path) => readJson(path, LIMITS));
  const ofFolders = folders.map((folder) => memberOf(memberOf(user, "projects"), folder));
  const all = [...settings, ...ofFolders];
  const lists = (key: string) => new Set(all.flatMap((each) => textsOf(memberOf(each, key))));
  const [off, rejected, approved] = [
    lists("disabledMcpServers"),
    lists("disabledMcpjsonServers"),
    lists("enabledMcpjsonServers"),
  ];
  const approvesAll = all.some((each) => memberOf(each, "enableAllProjectMcpServers") === true);
  const found = new Map<string, PtcInClaude>();
  const add = (servers: unknown, file: string, isApproved: (name: string) => boolean) => {
    if (!isObject(servers)) return;
    for (const [name, entry] of Object.entries(servers)) {
      // The first entry of a name hides the others.
      if (found.has(name) || !isPtcEntry(entry) || off.has(name)) continue;
      found.set(name, {
        name,
        file,
        configuration: configurationOf(entry, cwd),
        isApproved: isApproved(name),
      });
    }
  };
  for (const each of ofFolders) add(memberOf(each, "mcpServers"), userFile, () => true);
  for (const folder of folders) {
    const file = join(folder, ".mcp.json");
    const isApproved = (name: string) => !rejected.has(name) && (approvesAll || approved.has(name));
    add(memberOf(readJson(file, LIMITS), "mcpServers"), file, isApproved);
  }
  add(memberOf(user, "mcpServers"), userFile, () => true);
  return { plugin: pluginOf(claude, settings, folders), entries: [...found.values()] };
}

/**
 * The entry for which the plugin's ptc stands aside: Claude Code starts it, and it serves the same ptc.yaml.
 *
 * @param configuration the absolute path of the ptc.yaml that the plugin's ptc has found.
 */
export function entryInstead(
  env: EnvironmentVariables,
  cwd: string,
  configuration: string | undefined,
): PtcInClaude | undefined {
  const own = configuration === undefined ? undefined : real(configuration);
  return findPtcInClaude(env, cwd).entries.find(
    (entry) =>
      entry.isApproved &&
      (own === undefined || entry.configuration === undefined || real(entry.configuration) === own),
  );
}

/** The rules of Claude Code about servers and tools in a folder, in its settings and in those of the machine. */
export function claudeRules(env: EnvironmentVariables, cwd: string): ClientRules {
  const userFile = join(env.CLAUDE_CONFIG_DIR || env.HOME || homedir(), ".claude.json");
  const managed =
    process.platform === "darwin" ? "/Library/Application Support/ClaudeCode" : "/etc/claude-code";
  const files = [
    userFile,
    join(claudeFolder(env), "settings.json"),
    ...foldersOf(real(cwd)).flatMap((folder) => [
      join(folder, ".claude/settings.json"),
      join(folder, ".claude/settings.local.json"),
    ]),
    join(managed, "managed-settings.json"),
  ];
  return joinRules(files.map((path) => rulesIn(readJson(path, LIMITS), real(cwd))));
}

/** Says that Claude Code has ptc twice, and what to do; `undefined` if it does not. */
export function describeTwice({ plugin, entries }: ClaudeCode): string | undefined {
  const names = entries.map(({ name, file }) => `'${name}' in ${file}`);
  if (plugin !== undefined && entries.length > 0) {
    const waits = entries.some(({ isApproved }) => isApproved) ? "" : ", once you have approved it there";
    return `has ptc by the plugin ${plugin} and as ${names.join(" and ")}; the plugin's stands aside where both serve one ptc.yaml${waits}. One is enough: \`ptc install claude --remove\` or \`claude plugin uninstall ${plugin}\``;
  }
  if (entries.length < 2) return undefined;
  return `has ptc more than once, as ${names.join(" and ")}; keep one, and take out others with \`claude mcp remove\``;
}

/** The name of the plugin, if it is installed for this folder and not switched off. */
function pluginOf(
  claude: string,
  settings: readonly unknown[],
  folders: readonly string[],
): string | undefined {
  const installed = memberOf(readJson(join(claude, "plugins/installed_plugins.json"), LIMITS), "plugins");
  if (!isObject(installed)) return undefined;
  return Object.keys(installed).find((name) => {
    if (!name.startsWith("ptc@")) return false;
    const isHere = [installed[name]].flat().some((each) => {
      const folder = memberOf(each, "projectPath");
      return typeof folder !== "string" || folders.includes(real(folder));
    });
    const last = settings
      .map((each) => memberOf(memberOf(each, "enabledPlugins"), name))
      .findLast((each) => each !== undefined);
    return isHere && last !== false;
  });
}

/** The folder and its parents up to the root of a git repository, which Claude Code treats as one project. */
function foldersOf(cwd: string): string[] {
  const folders = [cwd];
  for (let folder = cwd; folders.length < MAX_FOLDERS_UP; ) {
    if (existsSync(join(folder, ".git"))) return folders;
    const parent = dirname(folder);
    if (parent === folder) break;
    folders.push(parent);
    folder = parent;
  }
  return [cwd];
}

function configurationOf(entry: unknown, cwd: string): string | undefined {
  const args = textsOf(memberOf(entry, "args"));
  const at = args.indexOf("--config");
  const named = at < 0 ? undefined : args[at + 1];
  // Claude Code starts servers in the folder, and expands this variable to it.
  return named === undefined
    ? undefined
    : resolve(cwd, named.replaceAll(/\$\{CLAUDE_PROJECT_DIR(?::-[^}]*)?\}/g, cwd));
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
