import { isAbsolute, resolve } from "node:path";
import { parseEnv } from "node:util";
import { isObject } from "../../base/json.ts";
import { oneLine, visibleLine, visibleLines } from "../../base/visible-text.ts";
import { serverModule } from "../../protocol/tool-names.ts";
import { ALL_HEADERS } from "../../upstream/secret-source.ts";
import type { SecretValueEntry, ServerEntry } from "../settings/server-settings.ts";
import {
  type ClientRules,
  joinRules,
  NO_RULES,
  rulesIn,
  type ServerTools,
  withRules,
} from "./client-rules.ts";
import { memberOf } from "./clients.ts";
import { type ForeignServer, readForeignServer, UnusableEntry } from "./foreign-server.ts";

/** The most characters of a reference that a message quotes. */
const MAX_REFERENCE_CHARS = 60;

export interface ImportedServers {
  servers: ServerEntry[];
  /** Entries that were left out, each with the reason. */
  skipped: { name: string; why: string }[];
  /** Servers whose `env` or `headers` hold values, rather than names of variables. */
  withValues: string[];
  /** What the client says of the tools of these servers, where it says anything. */
  tools: ServerTools[];
  /** What of an entry was not taken over. */
  notes: { name: string; why: string }[];
}

/** Facts about a client's file. */
export interface ImportOptions {
  /** Absolute: the folder of the plugin that the file belongs to. */
  pluginRoot?: string | undefined;
  /** Whether `$NAME` is a variable too, and `url` that of the older transport. */
  isGemini?: boolean | undefined;
  /** Whether the client counts a `timeout` in seconds, whatever its size. */
  countsSeconds?: boolean | undefined;
  /** Rules of the client in other files. */
  rules?: ClientRules | undefined;
  /** The user's folder. */
  home?: string | undefined;
  /** Reads a file of variables, by its absolute path; `undefined` if it cannot be read. */
  readFile?: ((path: string) => string | undefined) | undefined;
}

/** The keys under which clients keep their servers: Claude Code and most others, Codex, VS Code, Zed, Amp, Goose, opencode. */
const PLACES = [
  ["mcpServers"],
  ["mcp_servers"],
  ["servers"],
  ["mcp", "servers"],
  ["context_servers"],
  ["amp.mcpServers"],
  ["extensions"],
  ["mcp"],
] as const;

/**
 * Translates the servers in a client's configuration file to servers of ptc. `undefined` when the file has no key for
 * servers. In `~/.claude.json`, the servers of the project in `directory` come first and hide the user's of the same name.
 *
 * @param file the parsed file.
 */
export function importServers(
  file: unknown,
  directory: string,
  options: ImportOptions = {},
): ImportedServers | undefined {
  const rules = joinRules([options.rules ?? NO_RULES, rulesIn(file, directory)]);
  const entries = serverPlaces(file, [directory]);
  const found = new Map<string, unknown>();
  for (const { name, entry } of entries) if (!found.has(name)) found.set(name, entry);
  const hasPlace = isObject(memberOf(file, "projects")) || isObject(memberOf(file, "mcpServers"));
  if (!hasPlace && entries.length === 0) return undefined;
  const imported: ImportedServers = { servers: [], skipped: [], withValues: [], tools: [], notes: [] };
  const modules = new Set<string>();
  for (const [name, entry] of found) {
    const read = readEntry(name, entry, directory, { ...options, rules, file });
    if (typeof read === "string") {
      imported.skipped.push({ name, why: read });
      continue;
    }
    const { server, tools, notes } = read;
    if (modules.has(serverModule(server.name))) {
      imported.skipped.push({ name, why: "another server has the same name in code" });
      continue;
    }
    modules.add(serverModule(server.name));
    imported.servers.push(server);
    imported.notes.push(...notes.map((why) => ({ name, why })));
    if (tools.allow !== undefined || tools.block.length > 0 || tools.ask.length > 0)
      imported.tools.push({ ...tools, server: server.name });
    const values = [...Object.values(server.env ?? {}), ...Object.values(server.headers ?? {})];
    if (values.some((value) => typeof value === "string" && !value.includes("${")))
      imported.withValues.push(server.name);
  }
  return imported;
}

/** An entry of a client's file, and the server that ptc makes of it. */
export interface ImportableEntry {
  /** The members of the file that lead to the entry. */
  keys: readonly string[];
  name: string;
  server: ServerEntry;
}

/** All entries of a client's file that ptc can use, including those hidden by others of the same name. */
export function importableEntries(
  file: unknown,
  directory: string,
  options: ImportOptions = {},
): ImportableEntry[] {
  const rules = joinRules([options.rules ?? NO_RULES, rulesIn(file, directory)]);
  return serverPlaces(file, [directory]).flatMap(({ keys, name, entry }) => {
    const read = readEntry(name, entry, directory, { ...options, rules, file });
    return typeof read === "string" ? [] : [{ keys, name, server: read.server }];
  });
}

/** The entries at the places where clients keep servers, those of these folders first. */
export function serverPlaces(
  file: unknown,
  folders: readonly string[],
): { keys: string[]; name: string; entry: unknown }[] {
  return [...folders.map((folder) => ["projects", folder]), []].flatMap((source) =>
    PLACES.flatMap((place) => {
      const keys = [...source, ...place];
      const servers = keys.reduce(memberOf, file);
      // Continue has a list of servers with names.
      if (Array.isArray(servers))
        return servers.flatMap((entry, index) => {
          const name = memberOf(entry, "name");
          const isNamed = typeof name === "string" && name !== "";
          return isObject(entry) ? [{ keys, name: isNamed ? name : `server-${index + 1}`, entry }] : [];
        });
      if (!isObject(servers)) return [];
      // Under a word that clients use for other things too, only what reaches a server is one.
      const isShared = place.at(-1) === "mcp" || place.at(-1) === "extensions";
      return Object.entries(servers)
        .filter(([, entry]) => !isShared || isReachable(entry))
        .map(([name, entry]) => ({ keys, name, entry }));
    }),
  );
}

function isReachable(entry: unknown): boolean {
  return ["command", "cmd", "url", "uri"].some((key) => memberOf(entry, key) !== undefined);
}

/** What ptc makes of an entry. */
interface ReadEntry {
  server: ServerEntry;
  tools: ForeignServer["tools"];
  notes: string[];
}

/** Translates one entry. A string says why the entry cannot be used. */
function readEntry(
  name: string,
  entry: unknown,
  directory: string,
  { file, rules, ...options }: ImportOptions & { file: unknown; rules: ClientRules },
): ReadEntry | string {
  try {
    const foreign = readForeignServer(entry, options.countsSeconds === true);
    if (rules.off.includes(name)) return "it is disabled there";
    if (rules.only !== undefined && !rules.only.includes(name)) return "the client allows only other servers";
    const surroundings = { ...options, inputs: inputsOf(file), directory };
    const server = translateServer(name, foreign, surroundings);
    if (isPtc(server)) return "it is ptc itself";
    const hidden = findHidden(server);
    if (hidden !== undefined) return `its ${hidden} holds a character that cannot be seen; write it without`;
    return { server, tools: withRules(foreign.tools, name, rules), notes: foreign.notes };
  } catch (error) {
    if (error instanceof UnusableEntry) return error.message;
    throw error;
  }
}

/** @throws UnusableEntry */
function translateServer(
  name: string,
  foreign: ForeignServer,
  surroundings: ImportSurroundings,
): ServerEntry {
  const { isGemini = false } = surroundings;
  const translate = (text: string): string => {
    const translated = translateReferences(text, surroundings);
    if (translated.ok) return translated.text;
    throw new UnusableEntry(
      `it holds ${oneLine(translated.reference, MAX_REFERENCE_CHARS)}, which ptc cannot resolve; write \${NAME} for a variable instead`,
    );
  };
  const value = (text: string): string | SecretValueEntry => sourceOf(translate(text));
  const values = (record: Record<string, string>) =>
    Object.fromEntries(Object.entries(record).map(([key, text]) => [key, value(text)]));
  const ownName = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-").slice(0, 64);
  const { url, command } = foreign;
  const isOldUrl = isGemini || (url !== undefined && /^[^?#]*\/sse\/?(?:[?#]|$)/.test(url));
  const transport = foreign.kind ?? (url === undefined ? "stdio" : isOldUrl ? "sse" : "http");
  const common = defined({ description: foreign.description?.trim() ? foreign.description : undefined });
  const times = defined({
    call_timeout_seconds: foreign.callSeconds,
    connect_timeout_seconds: foreign.startSeconds,
  });
  if (transport === "stdio") {
    if (command === undefined) throw new UnusableEntry("it has no command");
    const env = {
      ...Object.fromEntries(foreign.inherited.map((each) => [each, variable(each)])),
      ...(foreign.envFile === undefined ? {} : variablesIn(translate(foreign.envFile), surroundings)),
      ...values(foreign.env ?? {}),
    };
    const hasEnv = foreign.env !== undefined || Object.keys(env).length > 0;
    return {
      name: ownName,
      ...common,
      transport,
      command: inHome(translate(command)),
      ...defined({
        args: foreign.args?.map(translate),
        env: hasEnv ? env : undefined,
        cwd: foreign.cwd === undefined ? undefined : inHome(translate(foreign.cwd)),
      }),
      ...times,
    };
  }
  if (url === undefined) throw new UnusableEntry("it has no url");
  const headers = {
    ...values(foreign.headers),
    ...Object.fromEntries(
      Object.entries(foreign.headerVariables).map(([key, each]) => [key, variable(each)]),
    ),
    ...(foreign.headersHelper !== undefined && {
      [ALL_HEADERS]: headersCommand(name, translate(url), foreign.headersHelper, surroundings),
    }),
  };
  // With an Authorization header, no login is needed.
  const isKeyed = Object.keys(headers).some(
    (each) => each.toLowerCase() === "authorization" || each === ALL_HEADERS,
  );
  return {
    name: ownName,
    ...common,
    transport,
    url: translate(url),
    ...defined({
      headers: Object.keys(headers).length > 0 ? headers : undefined,
      auth: isKeyed ? undefined : importAuth(foreign.oauth, translate),
    }),
    ...times,
  };
}

/** Claude Code's `headersHelper`, a line for a shell that prints headers as a JSON object, with the variables that it may read. */
function headersCommand(
  name: string,
  url: string,
  helper: string,
  { directory, pluginRoot }: ImportSurroundings,
): SecretValueEntry {
  const line = helper
    .replaceAll(variable("CLAUDE_PROJECT_DIR"), () => directory)
    .replaceAll(variable("CLAUDE_PLUGIN_ROOT"), (whole) => pluginRoot ?? whole);
  const given = [`CLAUDE_CODE_MCP_SERVER_NAME=${literal(name)}`, `CLAUDE_CODE_MCP_SERVER_URL=${url}`];
  return { command: ["env", ...given, "sh", "-c", literal(line)] };
}

/**
 * The variables in a file that a client reads for a server.
 *
 * @throws UnusableEntry if it cannot be read, since the server lacks something without it.
 */
function variablesIn(
  file: string,
  { directory, readFile, home = "" }: ImportSurroundings,
): Record<string, string> {
  const named = file.replace(/^\$\{HOME\}|^~(?=\/)/, home).replaceAll("$${", "${");
  const path = isAbsolute(named) ? named : resolve(directory, named);
  const text = readFile?.(path);
  if (text === undefined)
    throw new UnusableEntry(
      `its variables are in ${visibleLine(file)} (envFile), which cannot be read; write them under env`,
    );
  return Object.fromEntries(
    Object.entries(parseEnv(text)).map(([name, value]) => [name, literal(value ?? "")]),
  );
}

/** `{file:PATH}` of opencode, as the source of a value; any other text as it is. */
function sourceOf(text: string): string | SecretValueEntry {
  const [, prefix = "", file] = /^((?:[A-Za-z][\w-]* +)?)\{file:([^}]+)\}$/.exec(text) ?? [];
  if (file === undefined) return text;
  return prefix === "" ? { file } : { file, prefix };
}

/**
 * A client's settings for a login as `auth`. Clients are registered with Claude Code's redirect, which is `http://localhost:PORT/callback`.
 *
 * @throws UnusableEntry
 */
function importAuth(
  login: ForeignServer["oauth"],
  translate: (text: string) => string,
): ServerEntry["auth"] | undefined {
  if (login === undefined) return undefined;
  const { clientId, clientSecret, callbackPort: callback_port, metadataUrl: url, scopes } = login;
  const issuer = login.issuer ?? (url === undefined ? undefined : issuerOf(url));
  if (url !== undefined && issuer === undefined)
    throw new UnusableEntry(
      "its oauth.authServerMetadataUrl does not end in a well-known path, so that its issuer is not known; add it by hand",
    );
  if (clientSecret !== undefined && (issuer === undefined || clientId === undefined))
    throw new UnusableEntry(
      "its login has a client secret and names no issuer, and ptc sends a secret to a named issuer alone; add it by hand, with auth.issuer",
    );
  const client_id = clientId === undefined ? undefined : translate(clientId);
  const callback_host = client_id === undefined ? undefined : ("localhost" as const);
  const settings = defined({
    client_id,
    client_secret: clientSecret === undefined ? undefined : translate(clientSecret),
    scopes,
    issuer,
    callback_host,
    callback_port,
  });
  return Object.keys(settings).length === 0 ? undefined : { type: "oauth", ...settings };
}

/** The issuer whose metadata is there (RFC 8414, section 3.1; OpenID Connect Discovery, section 4). */
function issuerOf(metadataUrl: string): string | undefined {
  const known =
    /^(https?:\/\/[^/?#]+)(?:\/\.well-known\/(?:oauth-authorization-server|openid-configuration)(\/[^?#]*)?|(\/[^?#]*)\/\.well-known\/openid-configuration)$/.exec(
      metadataUrl,
    );
  return known === null ? undefined : `${known[1]}${known[2] ?? known[3] ?? ""}`;
}

/** The part of an entry that contains an invisible or misleading character, which a reader of the new file would miss. */
function findHidden(server: ServerEntry): string | undefined {
  const { transport, command, args = [], env = {}, cwd, url, headers = {}, auth, description } = server;
  const names = [...Object.keys(env), ...Object.keys(headers)];
  if (names.some((name) => visibleLine(name) !== name)) return "name of a variable or a header";
  const parts = { transport, description, command, args, env, cwd, url, headers, oauth: auth };
  return Object.entries(parts).find(([, value]) =>
    textsBelow(value).some((text) => visibleLines(text) !== text),
  )?.[0];
}

function textsBelow(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsBelow) : [];
}

/** Whether the server is ptc itself, which is not imported: a program would then run programs. */
function isPtc({ command, args = [] }: ServerEntry): boolean {
  const words = [command ?? "", ...args];
  return words.some((word) => /(?:^|[/\\])ptc(?:\.js)?$/.test(word)) && words.includes("serve");
}

/** The inputs that a file of VS Code declares: their default by their name. */
function inputsOf(file: unknown): ReadonlyMap<string, string | undefined> {
  const inputs = memberOf(file, "inputs") ?? memberOf(memberOf(file, "mcp"), "inputs");
  return new Map(
    (Array.isArray(inputs) ? inputs : []).flatMap((input) => {
      const id = memberOf(input, "id");
      const fallback = memberOf(input, "default");
      const isShown = typeof fallback === "string" && memberOf(input, "password") !== true;
      return typeof id === "string" ? [[id, isShown && !fallback.includes("}") ? fallback : undefined]] : [];
    }),
  );
}

function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** A text in which ptc expands nothing. */
function literal(text: string): string {
  // A replacement text would take the two signs for one.
  return text.replaceAll("${", () => "$${");
}

/** A path in the syntax of ptc.yaml, where `~` means nothing. */
function inHome(path: string): string {
  return path.replace(/^~(?=\/|$)/, () => variable("HOME"));
}

/** A reference to an environment variable in the syntax of ptc.yaml. */
function variable(name: string): string {
  return `\${${name}}`;
}

/** Facts for resolving a client's references. */
interface ImportSurroundings extends ImportOptions {
  /** The client's workspace folder. */
  directory: string;
  /** The inputs that VS Code asks a person for. Environment variables replace them. */
  inputs: ReadonlyMap<string, string | undefined>;
}

/** The ptc.yaml form of a client's reference; `undefined` if ptc has no equivalent. */
function translate(
  reference: string,
  { directory, pluginRoot, inputs }: ImportSurroundings,
): string | undefined {
  // Claude Code defines this name for its plugins.
  if (reference === "CLAUDE_PLUGIN_ROOT" && pluginRoot !== undefined) return literal(pluginRoot);
  if (/^CLAUDE_PROJECT_DIR(?::-[^}]*)?$/.test(reference)) return literal(directory);
  const input = /^input:(.+)$/.exec(reference)?.[1];
  if (input !== undefined) {
    if (!inputs.has(input)) return undefined;
    const fallback = inputs.get(input);
    return variable(fallback === undefined ? inputVariable(input) : `${inputVariable(input)}:-${fallback}`);
  }
  // Cursor and VS Code define these names, and `${env:NAME}`.
  switch (reference) {
    case "workspaceFolder":
    case "workspaceRoot":
    case "cwd":
      return literal(directory);
    case "workspaceFolderBasename":
      return literal(directory.split("/").at(-1) ?? "");
    case "userHome":
      return variable("HOME");
    case "pathSeparator":
    case "/":
      return "/";
  }
  const [, name] = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?)$/.exec(reference) ?? [];
  return name === undefined ? undefined : variable(name);
}

/** Variables that every shell sets, so that an input of such a name needs another. */
const SET_BY_SHELLS = new Set(
  "HOME HOSTNAME LANG LOGNAME PATH PWD SHELL TERM TMPDIR TZ USER EDITOR DISPLAY MAIL".split(" "),
);

function inputVariable(id: string): string {
  const name = id.replaceAll(/[^A-Za-z0-9]+/g, "_").toUpperCase();
  if (SET_BY_SHELLS.has(name)) return `INPUT_${name}`;
  return /^[0-9]/.test(name) ? `_${name}` : name;
}

type TranslatedText = { ok: true; text: string } | { ok: false; reference: string };

/** A whole value that is a variable without braces, as shells, Gemini CLI and Copilot CLI write it: `Bearer $TOKEN`. */
const BARE_VALUE = /^((?:[A-Za-z][\w-]* +)?)\$([A-Z_][A-Z0-9_]*)$/;
const BARE = /\$([A-Za-z_]\w*)/g;
/** Continue's `${{ secrets.NAME }}`, and opencode's `{env:NAME}`. */
const OTHER_REFERENCES =
  /\$\{\{\s*(?:secrets|inputs|env)\.([A-Za-z_]\w*)\s*\}\}|(?<!\$)\{env:([A-Za-z_]\w*)\}/g;

/**
 * Translates every reference in a text of a client's file. When ptc cannot resolve one, such as `${config:port}`, the result is not `ok`
 * and names the first such reference.
 */
function translateReferences(text: string, surroundings: ImportSurroundings): TranslatedText {
  let unknown: string | undefined;
  const own = text.replaceAll(OTHER_REFERENCES, (_, secret?: string, env?: string) =>
    variable(secret ?? env ?? ""),
  );
  const braced = surroundings.isGemini
    ? own.replaceAll(BARE, (_, name: string) => variable(name))
    : own.replace(BARE_VALUE, (_, before: string, name: string) => before + variable(name));
  const translated = braced.replaceAll(/\$\{([^}]*)\}?/g, (whole, reference: string) => {
    const ours = whole.endsWith("}") ? translate(reference, surroundings) : undefined;
    if (ours === undefined) unknown ??= whole;
    return ours ?? whole;
  });
  return unknown === undefined ? { ok: true, text: translated } : { ok: false, reference: unknown };
}
