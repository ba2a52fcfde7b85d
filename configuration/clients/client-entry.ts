import { isAbsolute, relative } from "node:path";
import { parse } from "yaml";
import type { ClientName, ClientScope } from "./client-place.ts";

/** The members that ptc sets in a client's entry. */
export type ClientEntry = Readonly<
  Record<string, string | number | readonly string[] | Readonly<Record<string, string>>>
>;

/** How each client writes the folder of the project, in a file that is the same for all who work in it. */
const PROJECT_FOLDER: Record<ClientName, string> = {
  // Claude Code has the variable for servers it starts, and has it replaced here only where it is set: hence the default.
  claude: "$" + "{CLAUDE_PROJECT_DIR:-.}",
  cursor: "$" + "{workspaceFolder}",
  vscode: "$" + "{workspaceFolder}",
  codex: ".",
  gemini: ".",
};

/** Codex gives up a call after a minute, unless it is told another time. Programs may take two. */
const CODEX_CALL_SECONDS = 600;

/**
 * What a client needs to start `ptc serve`.
 *
 * @param call the words that start ptc.
 * @param configuration the absolute path of ptc.yaml.
 * @param variables names that ptc.yaml refers to. Codex hands servers none that are not named, and Gemini CLI hides those
 * that look secret.
 */
export function clientEntry(
  client: ClientName,
  scope: ClientScope,
  options: { call: readonly string[]; configuration: string; cwd: string; variables: readonly string[] },
): ClientEntry {
  const { variables } = options;
  const [command = "ptc", ...before] = options.call;
  const args = [...before, "serve", "--config", configurationArgument(client, scope, options)];
  const isNamed = variables.length > 0;
  switch (client) {
    case "codex":
      return {
        command,
        args,
        ...(isNamed && { env_vars: variables }),
        tool_timeout_sec: CODEX_CALL_SECONDS,
      };
    case "gemini":
      return {
        command,
        args,
        ...(isNamed && { env: Object.fromEntries(variables.map((name) => [name, `$${name}`])) }),
      };
    default:
      return { type: "stdio", command, args };
  }
}

function configurationArgument(
  client: ClientName,
  scope: ClientScope,
  { configuration, cwd }: { configuration: string; cwd: string },
): string {
  const inside = relative(cwd, configuration);
  if (scope !== "project" || inside.startsWith("..") || isAbsolute(inside)) return configuration;
  const folder = PROJECT_FOLDER[client];
  return folder === "." ? inside : `${folder}/${inside.replaceAll("\\", "/")}`;
}

/** The names of the variables that a ptc.yaml refers to, and has no default for; none for a text that is no YAML. */
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
  // A folder of that name may be an argument of any other server.
  return words.some((word, at) => /(?:^|[/\\])ptc(?:\.js)?$/.test(word) && words[at + 1] === "serve");
}
