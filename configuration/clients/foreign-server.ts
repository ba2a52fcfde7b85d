/**
 * One server as the configuration files of MCP clients define it: Claude Code and Desktop, Cursor, VS Code, Codex, Gemini CLI, Windsurf,
 * Cline, Roo Code, Kiro, Zed, LM Studio, Continue, Copilot CLI, opencode, Amp, Goose and others. Clients name the same member differently.
 * Here each has one name. Nothing is dropped silently: what ptc has nothing for is named in `notes`.
 */
import { isObject } from "../../base/json.ts";
import { listUpTo, visibleLine } from "../../base/visible-text.ts";

/** An entry that ptc cannot use. The message says why, and continues a sentence. */
export class UnusableEntry extends Error {
  override readonly name = "UnusableEntry";
}

export interface ForeignServer {
  kind: "stdio" | "http" | "sse" | undefined;
  description: string | undefined;
  command: string | undefined;
  args: string[] | undefined;
  env: Record<string, string> | undefined;
  /** A file with more variables, as the client names it. */
  envFile: string | undefined;
  /** Names of variables that the server inherits. */
  inherited: string[];
  cwd: string | undefined;
  url: string | undefined;
  headers: Record<string, string>;
  /** Headers whose values are in variables, by the names of these. */
  headerVariables: Record<string, string>;
  /** A command line for a shell that prints headers as a JSON object. */
  headersHelper: string | undefined;
  oauth: ForeignLogin | undefined;
  callSeconds: number | undefined;
  startSeconds: number | undefined;
  tools: ForeignTools;
  notes: string[];
}

/** A client's settings for a login at the server. */
interface ForeignLogin {
  clientId: string | undefined;
  clientSecret: string | undefined;
  callbackPort: number | undefined;
  metadataUrl: string | undefined;
  issuer: string | undefined;
  scopes: string | string[] | undefined;
}

/** What a client says of a server's tools, by their protocol names. */
export interface ForeignTools {
  /** The only tools that may be called; `undefined` for all. */
  allow: string[] | undefined;
  /** Tools that may not be called. */
  block: string[];
  /** Tools whose calls a person has to approve; `*` for all. */
  ask: string[];
}

/** Members that say nothing that matters to ptc. */
const WITHOUT_MEANING = new Set(
  `name title type transport transportType version gallery icon iconUrl icons dev source registry registryUrl $schema tags watchPaths id
   start_on_launch required metadata extension displayName provider providerUrl logoUrl homepage author bundled note notes comment
   description _comment isInternal builtin remote`.split(/\s+/),
);

/** Members that switch a server off. */
const SWITCHES = ["enabled", "isActive", "is_active", "active"] as const;

/** Members that have calls made without a question. ptc asks by its own rules. */
const LOOSENING =
  `trust autoApprove auto_approve autoApproved alwaysAllow always_allow autoApproveTools trustedTools`.split(
    /\s+/,
  );

const ALLOW = `enabled_tools enabledTools includeTools include_tools allowedTools allowed_tools available_tools availableTools toolAllowlist`;
const BLOCK = `disabled_tools disabledTools excludeTools exclude_tools excludedTools blockedTools blocked_tools deniedTools disallowedTools
 disallowed_tools toolDenylist`;

/**
 * Reads one entry.
 *
 * @param countsSeconds whether the client's `timeout` is in seconds, whatever its size.
 * @throws UnusableEntry
 */
export function readForeignServer(given: unknown, countsSeconds: boolean): ForeignServer {
  if (!isObject(given)) throw new UnusableEntry("its entry is no object");
  const nested = isObject(given.transport) ? given.transport : {};
  const members = new Members({
    ...given,
    ...nested,
    ...(isObject(given.transport) && { transport: undefined }),
  });
  if (members.flag("disabled") === true || SWITCHES.some((name) => members.flag(name) === false))
    throw new UnusableEntry("it is disabled there");
  const notes: string[] = [];
  const { command, args, env: ownEnv } = commandOf(members);
  const url = members.text("httpUrl", "url", "serverUrl", "server_url", "uri", "endpoint");
  const asked = members.take("requestOptions");
  const bearer = members.text("bearer_token_env_var", "bearerTokenEnvVar");
  const token = members.text("bearer_token", "bearerToken");
  const auth = members.take("auth");
  const headers = {
    ...members.textsByName("headers"),
    ...members.textsByName("http_headers", "httpHeaders"),
    ...(isObject(asked) && new Members(asked).textsByName("headers")),
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(typeof auth === "string" && auth !== "oauth" && auth !== "" && { Authorization: `Bearer ${auth}` }),
  };
  const headerVariables = {
    ...members.textsByName("env_http_headers", "envHttpHeaders"),
  };
  if (bearer !== undefined) headers.Authorization = `Bearer \${${bearer}}`;
  const provider = members.text("authProviderType");
  if (provider !== undefined && provider !== "dynamic_discovery")
    throw new UnusableEntry(
      `it logs in by ${visibleLine(provider)} (authProviderType), which ptc does not know; give it a header from a command (docs/servers.md)`,
    );
  const tools = toolsOf(members, notes);
  const loosening = LOOSENING.filter((name) => {
    const value = members.take(name);
    return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
  });
  if (loosening.length > 0)
    notes.push(
      `its ${loosening.join(" and ")} ${loosening.length === 1 ? "is" : "are"} not taken over: ptc asks a person by its own rules (\`approvals\`)`,
    );
  const isBoxed = members.flag("sandboxEnabled") === true || members.take("sandbox") !== undefined;
  if (isBoxed)
    notes.push("the client starts it in a sandbox, and ptc starts it without one; see whether you want that");
  const server: ForeignServer = {
    kind: kindOf(given, nested) ?? (typeof given.httpUrl === "string" ? "http" : undefined),
    description: members.text("description"),
    command,
    args,
    env: ownEnv,
    envFile: members.text("envFile", "env_file"),
    inherited: inheritedOf(members),
    cwd: members.text("cwd", "working_directory", "workingDirectory", "workdir", "working_dir"),
    url,
    headers,
    headerVariables,
    headersHelper: members.text("headersHelper"),
    oauth: loginOf(members, auth),
    ...timesOf(members, countsSeconds),
    tools,
    notes,
  };
  const rest = members.rest().filter((name) => !WITHOUT_MEANING.has(name));
  if (rest.length > 0)
    notes.push(
      `its ${listUpTo(
        rest.map((name) => visibleLine(name)),
        200,
      )} ${rest.length === 1 ? "is" : "are"} not taken over: ptc has nothing of the kind; see whether something is looser without`,
    );
  return server;
}

function kindOf(given: Record<string, unknown>, nested: Record<string, unknown>): ForeignServer["kind"] {
  const types = [given.type, given.transport, given.transportType, nested.type].filter(
    (each) => typeof each === "string",
  );
  const [type] = types;
  if (type === undefined) return undefined;
  switch (type.toLowerCase().replaceAll(/[-_ ]/g, "")) {
    case "stdio":
    case "local":
    case "command":
      return "stdio";
    case "http":
    case "streamablehttp":
    case "streaminghttp":
    case "httpstream":
      return "http";
    case "sse":
      return "sse";
    case "remote":
    case "":
      return undefined;
    default:
      throw new UnusableEntry(`ptc does not know servers of type '${visibleLine(type)}'`);
  }
}

/** The command as one text, as a list of words (opencode), or as an object (Zed). */
function commandOf(members: Members) {
  const own = members.take("command") ?? members.take("cmd");
  const env = members.textsByName("env", "environment", "envs");
  if (isObject(own)) {
    const inner = new Members(own);
    const innerEnv = inner.textsByName("env");
    return {
      command: inner.text("path", "command"),
      args: inner.list("args", "arguments") ?? members.list("args", "arguments"),
      env: env === undefined && innerEnv === undefined ? undefined : { ...innerEnv, ...env },
    };
  }
  const args = members.list("args", "arguments");
  if (Array.isArray(own)) {
    const [command, ...before] = textsIn(own, "command");
    const all = [...before, ...(args ?? [])];
    return { command, args: all.length === 0 ? undefined : all, env };
  }
  if (own !== undefined && typeof own !== "string") throw new UnusableEntry("its `command` must be a text");
  return { command: own, args, env };
}

/** Names of variables. Codex also has objects with a `name`. */
function inheritedOf(members: Members): string[] {
  const names = members.take("env_vars") ?? members.take("env_keys") ?? [];
  if (!Array.isArray(names)) throw new UnusableEntry("its `env_vars` must be a list of names of variables");
  return names.flatMap((each) => {
    const name: unknown = isObject(each) ? each.name : each;
    if (typeof name !== "string" || !/^[A-Za-z_]\w*$/.test(name))
      throw new UnusableEntry("its `env_vars` must be a list of names of variables");
    return [name];
  });
}

function toolsOf(members: Members, notes: string[]): ForeignTools {
  const lists = (names: string) =>
    names.split(/\s+/).flatMap((name) => {
      const value = members.list(name);
      return value === undefined ? [] : [value];
    });
  const allows = lists(ALLOW);
  const block = lists(BLOCK).flat();
  const ask: string[] = [];
  const tools = members.take("tools");
  // A list names the only tools (Copilot CLI), and a mapping has settings of single tools (Codex, Zed, opencode).
  if (Array.isArray(tools)) allows.push(textsIn(tools, "tools"));
  else if (isObject(tools)) {
    for (const [name, value] of Object.entries(tools)) {
      const settings = isObject(value) ? value : { enabled: value };
      if (settings.enabled === false || settings.disabled === true || settings.default === "deny")
        block.push(name);
      const mode = settings.approval_mode ?? settings.approvalMode ?? settings.default;
      if (mode === "prompt" || mode === "ask" || mode === "confirm") ask.push(name);
      if (mode === "approve" || mode === "allow")
        notes.push(
          `that ${visibleLine(name)} needs no approval is not taken over: ptc asks a person by its own rules (\`approvals\`)`,
        );
    }
  } else if (tools !== undefined) throw new UnusableEntry("its `tools` must be a list of names");
  const mode = members.text("default_tools_approval_mode", "defaultToolsApprovalMode");
  if (mode === "prompt") ask.push("*");
  if (mode === "approve")
    notes.push(
      "its default_tools_approval_mode is not taken over: ptc asks a person by its own rules (`approvals`)",
    );
  const [first, ...others] = allows.map((list) => list.map(withoutArguments));
  const all = first?.filter((name) => others.every((list) => list.includes(name) || list.includes("*")));
  return {
    allow: all === undefined || all.includes("*") ? undefined : all,
    block: block.map(withoutArguments),
    ask,
  };
}

/** Gemini CLI can name arguments behind a tool, which ptc's patterns cannot. */
function withoutArguments(name: string): string {
  return name.replace(/\(.*\)$/s, "");
}

function loginOf(members: Members, auth: unknown): ForeignLogin | undefined {
  const oauth = members.take("oauth") ?? (isObject(auth) ? auth : undefined);
  const ownScopes = members.take("scopes") ?? members.take("scope");
  const given = oauth === true || oauth === undefined || oauth === false ? {} : oauth;
  if (!isObject(given)) throw new UnusableEntry("its `oauth` must be an object");
  if (oauth === undefined && ownScopes === undefined) return undefined;
  const login = new Members(given);
  login.take("enabled");
  const result = {
    clientId: login.text("clientId", "client_id", "CLIENT_ID"),
    clientSecret: login.text("clientSecret", "client_secret", "CLIENT_SECRET"),
    callbackPort: login.wholeNumber("callbackPort", "callback_port"),
    metadataUrl: login.text("authServerMetadataUrl"),
    issuer: login.text("issuer"),
    scopes: scopesOf(login.take("scopes") ?? login.take("scope") ?? ownScopes),
  };
  return result;
}

function scopesOf(scopes: unknown): string | string[] | undefined {
  if (scopes === undefined) return undefined;
  if (Array.isArray(scopes)) {
    const texts = textsIn(scopes, "scopes").filter((scope) => scope !== "");
    return texts.length === 0 ? undefined : texts;
  }
  return textOf(scopes, "scopes") || undefined;
}

/** A number of at least this size is milliseconds, and a smaller one seconds, where the name of a member does not say the unit. */
const FEWEST_MILLISECONDS = 1_000;
const MAX_SECONDS = 86_400;

function timesOf(members: Members, countsSeconds: boolean) {
  const seconds = (value: number | undefined) =>
    value === undefined || value <= 0 ? undefined : Math.min(Math.max(Math.ceil(value), 1), MAX_SECONDS);
  const inMs = (value: number | undefined) => (value === undefined ? undefined : value / 1_000);
  const timeout = members.number("timeout");
  const call = members.number("tool_timeout_sec", "toolTimeoutSec");
  const start = members.number("startup_timeout_sec", "startupTimeoutSec");
  const startMs = members.number("startup_timeout_ms", "connectionTimeout", "startupTimeout", "initTimeout");
  const isSeconds = countsSeconds || (timeout ?? 0) < FEWEST_MILLISECONDS;
  return {
    callSeconds: seconds(call ?? (isSeconds ? timeout : inMs(timeout))),
    startSeconds: seconds(start ?? inMs(startMs)),
  };
}

/** The members of an entry. Those that are null count as missing, and what was not taken remains in `rest`. */
class Members {
  readonly #members: Map<string, unknown>;

  constructor(members: Record<string, unknown>) {
    this.#members = new Map(
      Object.entries(members).filter(([, value]) => value !== null && value !== undefined),
    );
  }

  take(name: string): unknown {
    const value = this.#members.get(name);
    this.#members.delete(name);
    return value;
  }

  /** The first member of these names that is there; the others are taken too. */
  #first(names: readonly string[]): [name: string, value: unknown] | undefined {
    const found = names.flatMap((name): [string, unknown][] => {
      const value = this.take(name);
      return value === undefined ? [] : [[name, value]];
    });
    return found[0];
  }

  text(...names: string[]): string | undefined {
    const found = this.#first(names);
    return found && textOf(found[1], found[0]);
  }

  list(...names: string[]): string[] | undefined {
    const found = this.#first(names);
    return found && textsIn(found[1], found[0]);
  }

  flag(name: string): boolean | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw new UnusableEntry(`its \`${name}\` must be true or false`);
  }

  number(...names: string[]): number | undefined {
    const found = this.#first(names);
    if (found === undefined) return undefined;
    const number = typeof found[1] === "string" && found[1].trim() !== "" ? Number(found[1]) : found[1];
    if (typeof number === "number" && Number.isFinite(number)) return number;
    throw new UnusableEntry(`its \`${found[0]}\` must be a number`);
  }

  wholeNumber(...names: string[]): number | undefined {
    const number = this.number(...names);
    if (number === undefined || (Number.isInteger(number) && number >= 1 && number <= 65_535)) return number;
    throw new UnusableEntry(`its \`${names[0]}\` must be a port from 1 to 65535`);
  }

  textsByName(...names: string[]): Record<string, string> | undefined {
    const found = this.#first(names);
    if (found === undefined) return undefined;
    const [name, value] = found;
    if (!isObject(value)) throw new UnusableEntry(`its \`${name}\` must map names to texts`);
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, each]) =>
        each === null ? [] : [[key, textOf(each, `${name}.${visibleLine(key)}`)]],
      ),
    );
  }

  rest(): string[] {
    return [...this.#members.keys()];
  }
}

function textsIn(value: unknown, name: string): string[] {
  if (!Array.isArray(value)) throw new UnusableEntry(`its \`${name}\` must be a list of texts`);
  return value.filter((each) => each !== null).map((each, index) => textOf(each, `${name}[${index}]`));
}

/** A text, or a number or a boolean as a text. */
function textOf(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value !== "number") throw new UnusableEntry(`its \`${name}\` must be a text`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new UnusableEntry(`its \`${name}\` is a number with more digits than are exact; put it in quotes`);
  return String(value);
}
