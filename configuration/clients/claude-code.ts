import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { isObject } from "../../base/json.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { claudeFolder, isPtcEntry, memberOf, readJson } from "./clients.ts";

/*
 * Claude Code can have ptc twice: by the plugin, and by an entry that `claude mcp add` or `ptc install` wrote. It leaves out
 * a plugin's server only where an entry has the very same command and arguments, and entries name their ptc.yaml. So the ptc
 * of the plugin looks for such an entry itself, and stands aside where it finds one that Claude Code starts.
 */

/** The variable by which plugin/.claude-plugin/plugin.json says who starts ptc. */
export const STARTED_BY_PLUGIN = "PTC_CLAUDE_PLUGIN";

const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 128 };
const MAX_FOLDERS_UP = 64;

/** An entry that starts ptc in this folder. */
export interface PtcInClaude {
  name: string;
  /** For people: the file that it is in. */
  file: string;
  /** The absolute path of the ptc.yaml that it names; `undefined` where it looks for one in its working directory. */
  configuration: string | undefined;
  /** Whether Claude Code starts it, as far as its files say. It asks about those of `.mcp.json` first. */
  isApproved: boolean;
}

/** Where ptc is in Claude Code, for a folder. */
export interface ClaudeCode {
  /** The plugin, as Claude Code calls it, where it is installed and not switched off. */
  plugin: string | undefined;
  entries: PtcInClaude[];
}

/** Finds ptc among what Claude Code starts in a folder. What cannot be read counts as not there. */
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
      // The first of a name hides the others.
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
 * The entry for which the ptc of the plugin stands aside: one that Claude Code starts, and that serves the same ptc.yaml.
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

/** What is worth telling about ptc in Claude Code: that it is there twice, and what to do. */
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
  // Claude Code starts servers in the folder, and replaces this there.
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
