import { createHash } from "node:crypto";
import type { Configuration } from "../../configuration/configuration.ts";
import { secretSourcesOf, withoutPlaces } from "../../configuration/configured-servers.ts";
import { isInherited } from "../../secrets/inherited-environment.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";

/** Digests of what a background host depends on. A caller that differs in any of them is not served. */
export interface HostIdentity {
  /** The installed ptc and Node.js. */
  readonly build: string;
  /** The bytes of the configuration and of the rule files that it names. */
  readonly fileDigest: string;
  /** The configuration with its variables expanded. */
  readonly configuration: string;
  /** The variables that ptc, its engine and its servers read besides those of the configuration. */
  readonly environment: string;
}

/** Variables that reach servers, or that decide where ptc, an engine or a server is found. `TERM` changes none of that. */
const DEPENDED_ON =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ|LANG|LC_[A-Z_]+|XDG_RUNTIME_DIR|XDG_[A-Z]+_HOME|DOCKER_.+|PTC_.+|NODE_.+|OTEL_.+|SSL_CERT_.+|SSH_AUTH_SOCK|DBUS_SESSION_BUS_ADDRESS|(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy)$/;

/** These variables locate the configuration, which is compared itself, or do not affect a host. */
const NOT_DEPENDED_ON = /^(?:NODE_COMPILE_CACHE|TRACEPARENT|TRACESTATE|PTC_HOST|PTC_CONFIG|PTC_MCP_CONFIG)$/;

/** Variables that differ between terminals. Commands that print secrets depend on all other variables too. */
const OF_A_TERMINAL =
  /^(?:_|CI|SHLVL|PWD|OLDPWD|COLUMNS|LINES|COLORTERM|WINDOWID|STY|SSH_TTY|SSH_CONNECTION|SSH_CLIENT|(?:TERM|TMUX|ITERM|KITTY|VSCODE)(?:_.*)?|CLAUDECODE|CLAUDE_PID|CLAUDE_CODE_.+|(?:NO|FORCE)_COLOR|XDG_SESSION_.+)$/;

export function identify(
  { build, fileDigest }: Pick<HostIdentity, "build" | "fileDigest">,
  configuration: Configuration,
  env: EnvironmentVariables,
): HostIdentity {
  const files = [...configuration.policy.files, ...configuration.lists.files];
  const variables = Object.entries(env)
    .filter(([name]) => isDependedOn(name, configuration))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    build,
    fileDigest: files.length === 0 ? fileDigest : digestOfJson([fileDigest, files.map(({ text }) => text)]),
    configuration: digestOfJson(withoutNames(configuration)),
    environment: digestOfJson(variables),
  };
}

/** Whether a host depends on a variable, whatever the configuration says of it. */
function isDependedOn(name: string, configuration: Configuration): boolean {
  if (NOT_DEPENDED_ON.test(name)) return false;
  const hasCommands = configuration.servers.some((server) =>
    secretSourcesOf(server).some(({ source }) => source.from === "command"),
  );
  if (hasCommands) return !OF_A_TERMINAL.test(name);
  return DEPENDED_ON.test(name) || (isInherited(name) && name !== "TERM");
}

/**
 * The variables by which the environment of a host differs from that of its caller, sorted: those that it depends on, and those that
 * the text of the configuration names.
 */
export function differingVariables(
  host: EnvironmentVariables,
  caller: EnvironmentVariables,
  { configuration, text }: { configuration: Configuration; text: string },
): string[] {
  // As whole words: `_`, which shells set, is a part of many names.
  const named = new Set(text.match(/\w+/g));
  return [...new Set([...Object.keys(host), ...Object.keys(caller)])]
    .filter((name) => host[name] !== caller[name])
    .filter((name) => isDependedOn(name, configuration) || named.has(name))
    .sort();
}

/** How a host differs from its caller. */
export type HostDifference =
  | "another version of ptc or Node.js"
  | "another configuration"
  | "another environment";

/** A younger host is replaced only for another configuration, so that different callers do not replace it in turns. */
const MIN_AGE_MS = 10_000;

/** Why a caller is not served; `undefined` when nothing differs. */
export function findDifference(host: HostIdentity, caller: HostIdentity): HostDifference | undefined {
  if (host.build !== caller.build) return "another version of ptc or Node.js";
  if (host.fileDigest !== caller.fileDigest) return "another configuration";
  const isSame = host.configuration === caller.configuration && host.environment === caller.environment;
  return isSame ? undefined : "another environment";
}

/** Whether the difference replaces a host of this age. Otherwise the caller runs the command itself. */
export function isReplaceable(difference: HostDifference, ageMs: number): boolean {
  return difference === "another configuration" || ageMs >= MIN_AGE_MS;
}

/** A configuration without the name of its file, which depends on the caller's folder. */
function withoutNames(configuration: Configuration): unknown {
  const servers = configuration.servers.map((server) => ({
    ...withoutPlaces(server),
    off: server.off !== undefined,
  }));
  return { ...configuration, file: undefined, servers };
}

function digestOfJson(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}
