import * as z from "zod";
import { isObject } from "../../base/json.ts";
import { oneLine, visibleLine, visibleLines } from "../../base/visible-text.ts";
import { serverModule } from "../../protocol/tool-names.ts";
import type { ServerEntry } from "../settings/server-settings.ts";
import { memberOf } from "./clients.ts";

/** The most characters of a reference that a message quotes. */
const MAX_REFERENCE_CHARS = 60;

/** One server, as the configuration files of Claude Code, Cursor, VS Code, Codex and other clients define it. */
const ForeignServer = z.looseObject({
  type: z.string().optional(),
  command: z.string().optional(),
  args: z.array(z.coerce.string()).optional(),
  env: z.record(z.string(), z.coerce.string()).optional(),
  cwd: z.string().optional(),
  url: z.string().optional(),
  /** Gemini CLI: the URL of Streamable HTTP; its `url` is that of the older SSE. */
  httpUrl: z.string().optional(),
  headers: z.record(z.string(), z.coerce.string()).optional(),
  /** Claude Code: its client at the server's authorization server, and the URL of that server's metadata. */
  oauth: z
    .looseObject({
      clientId: z.string().min(1).optional(),
      callbackPort: z.int().min(1).max(65_535).optional(),
      authServerMetadataUrl: z.string().optional(),
      scopes: z.string().min(1).optional(),
    })
    .optional(),
  disabled: z.boolean().optional(),
  /** Codex: `false` disables the server. */
  enabled: z.boolean().optional(),
  /** Codex: names of variables that the server inherits. */
  env_vars: z.array(z.string()).optional(),
  /** Codex: `http_headers` maps names to values, `env_http_headers` maps names to the variables that hold the values. */
  http_headers: z.record(z.string(), z.string()).optional(),
  env_http_headers: z.record(z.string(), z.string()).optional(),
  bearer_token_env_var: z.string().optional(),
});
type ForeignServer = z.infer<typeof ForeignServer>;

export interface ImportedServers {
  servers: ServerEntry[];
  /** Entries that were left out, each with the reason. */
  skipped: { name: string; why: string }[];
  /** Servers whose `env` or `headers` hold values, rather than names of variables. */
  withValues: string[];
}

/** The keys under which clients keep their servers: Claude Code and most others, Codex, VS Code, Zed. */
const PLACES = [
  ["mcpServers"],
  ["mcp_servers"],
  ["servers"],
  ["mcp", "servers"],
  ["context_servers"],
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
  { pluginRoot, isGemini = false }: { pluginRoot?: string | undefined; isGemini?: boolean | undefined } = {},
): ImportedServers | undefined {
  const surroundings = { pluginRoot, isGemini, inputs: inputsOf(file) };
  const entries = entriesOf(file, directory);
  const found = new Map<string, unknown>();
  for (const { name, entry } of entries) if (!found.has(name)) found.set(name, entry);
  const hasPlace = isObject(memberOf(file, "projects")) || isObject(memberOf(file, "mcpServers"));
  if (!hasPlace && entries.length === 0) return undefined;
  const imported: ImportedServers = { servers: [], skipped: [], withValues: [] };
  const modules = new Set<string>();
  for (const [name, entry] of found) {
    const server = readServer(name, entry, directory, surroundings);
    if (typeof server === "string") imported.skipped.push({ name, why: server });
    else if (modules.has(serverModule(server.name)))
      imported.skipped.push({ name, why: "another server has the same name in code" });
    else {
      modules.add(serverModule(server.name));
      imported.servers.push(server);
      const values = [...Object.values(server.env ?? {}), ...Object.values(server.headers ?? {})];
      if (values.some((value) => typeof value === "string" && !value.includes("${")))
        imported.withValues.push(server.name);
    }
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
  { isGemini = false }: { isGemini?: boolean | undefined } = {},
): ImportableEntry[] {
  return entriesOf(file, directory).flatMap(({ keys, name, entry }) => {
    const server = readServer(name, entry, directory, { isGemini, inputs: inputsOf(file) });
    return typeof server === "string" ? [] : [{ keys, name, server }];
  });
}

function entriesOf(file: unknown, directory: string) {
  return serverPlaces(file, [directory]);
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
      return isObject(servers) ? Object.entries(servers).map(([name, entry]) => ({ keys, name, entry })) : [];
    }),
  );
}

/** Translates one entry. A string says why the entry cannot be used. */
function readServer(
  name: string,
  entry: unknown,
  directory: string,
  { isGemini, ...surroundings }: ClientSurroundings & { isGemini: boolean },
): ServerEntry | string {
  const parsed = ForeignServer.safeParse(entry);
  if (!parsed.success) return "its entry is not one that ptc can read";
  if (parsed.data.disabled === true || parsed.data.enabled === false) return "it is disabled there";
  const server = translateServer(parsed.data, directory, surroundings);
  if (typeof server === "string") return server;
  if (isPtc(server)) return "it is ptc itself";
  const hidden = findHidden(server);
  if (hidden !== undefined) return `its ${hidden} holds a character that cannot be seen; write it without`;
  const ownName = name.replaceAll(/[^A-Za-z0-9._-]+/g, "-").slice(0, 64);
  const isOldUrl = isGemini && parsed.data.httpUrl === undefined;
  const type = server.type ?? (server.url === undefined ? "stdio" : isOldUrl ? "sse" : "http");
  switch (type) {
    case "stdio": {
      if (server.command === undefined) return "it has no command";
      const { command, args, env, cwd } = server;
      return { name: ownName, transport: "stdio", command, ...defined({ args, env, cwd }) };
    }
    case "http":
    case "streamable-http":
    case "streamableHttp":
    case "sse": {
      if (server.url === undefined) return "it has no url";
      const transport = type === "sse" ? "sse" : "http";
      // With an Authorization header, no login is needed.
      const isKeyed = Object.keys(server.headers ?? {}).some(
        (each) => each.toLowerCase() === "authorization",
      );
      const auth = isKeyed ? undefined : importAuth(server.oauth);
      if (typeof auth === "string") return auth;
      return { name: ownName, transport, url: server.url, ...defined({ headers: server.headers, auth }) };
    }
    default:
      return `ptc does not know servers of type '${type}'`;
  }
}

/** Translates references, and Codex's keys to `env` and `headers`. A string says why the entry cannot be used. */
function translateServer(
  server: ForeignServer,
  directory: string,
  surroundings: ClientSurroundings,
): ForeignServer | string {
  let unknown: string | undefined;
  const translate = (text: string): string => {
    const translated = translateReferences(text, directory, surroundings);
    if (translated.ok) return translated.text;
    unknown ??= translated.reference;
    return text;
  };
  const { command, args, env, cwd, url, headers, env_vars, http_headers, env_http_headers } = server;
  const { bearer_token_env_var: bearer, httpUrl } = server;
  const address = httpUrl ?? url;
  const values = (record: Record<string, string>, change: (value: string) => string) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
  const allEnv = {
    ...Object.fromEntries((env_vars ?? []).map((name) => [name, variable(name)])),
    ...values(env ?? {}, translate),
  };
  const allHeaders = {
    ...values({ ...headers, ...http_headers }, translate),
    ...values(env_http_headers ?? {}, variable),
    ...(bearer === undefined ? {} : { Authorization: `Bearer ${variable(bearer)}` }),
  };
  const translated: ForeignServer = {
    type: server.type,
    command: command === undefined ? undefined : translate(command),
    args: args?.map(translate),
    env: env === undefined && env_vars === undefined ? undefined : allEnv,
    cwd: cwd === undefined ? undefined : translate(cwd),
    url: address === undefined ? undefined : translate(address),
    oauth: mapTexts(server.oauth, translate),
    headers: Object.keys(allHeaders).length > 0 || headers !== undefined ? allHeaders : undefined,
  };
  if (unknown === undefined) return translated;
  return `it holds ${oneLine(unknown, MAX_REFERENCE_CHARS)}, which ptc cannot resolve; write \${NAME} for a variable instead`;
}

/**
 * Claude Code's `oauth` as `auth`. A string says why it cannot be used. Clients are registered with its redirect, which is
 * `http://localhost:PORT/callback`.
 */
function importAuth(oauth: ForeignServer["oauth"]): ServerEntry["auth"] | string {
  if (oauth === undefined) return undefined;
  const { clientId: client_id, callbackPort: callback_port, authServerMetadataUrl: url, scopes } = oauth;
  const issuer = url === undefined ? undefined : issuerOf(url);
  if (url !== undefined && issuer === undefined)
    return "its oauth.authServerMetadataUrl does not end in a well-known path, so that its issuer is not known; add it by hand";
  const callback_host = client_id === undefined ? undefined : ("localhost" as const);
  const settings = defined({ client_id, scopes, issuer, callback_host, callback_port });
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

function mapTexts<T extends object>(members: T | undefined, change: (text: string) => string): T | undefined {
  if (members === undefined) return undefined;
  const changed = Object.entries(members).map(([key, value]) => [
    key,
    typeof value === "string" ? change(value) : value,
  ]);
  return Object.fromEntries(changed) as T;
}

/** The part of an entry that contains an invisible or misleading character, which a reader of the new file would miss. */
function findHidden(server: ForeignServer): string | undefined {
  const { type, command, args = [], env = {}, cwd, url, headers = {}, oauth = {} } = server;
  const ofOauth = Object.values(oauth).filter((value) => typeof value === "string");
  const names = [...Object.keys(env), ...Object.keys(headers)];
  if (names.some((name) => visibleLine(name) !== name)) return "name of a variable or a header";
  const parts = {
    type,
    command,
    args,
    env: Object.values(env),
    cwd,
    url,
    headers: Object.values(headers),
    oauth: ofOauth,
  };
  return Object.entries(parts).find(([, value]) =>
    [value].flat().some((text) => text !== undefined && visibleLines(text) !== text),
  )?.[0];
}

/** Whether the server is ptc itself, which is not imported: a program would then run programs. */
function isPtc({ command, args = [] }: ForeignServer): boolean {
  const words = [command ?? "", ...args];
  return words.some((word) => /(?:^|[/\\])ptc(?:\.js)?$/.test(word)) && words.includes("serve");
}

/** The names of the inputs that a file of VS Code declares. */
function inputsOf(file: unknown): ReadonlySet<string> {
  const inputs = memberOf(file, "inputs") ?? memberOf(memberOf(file, "mcp"), "inputs");
  const ids = Array.isArray(inputs) ? inputs.map((input) => memberOf(input, "id")) : [];
  return new Set(ids.filter((id) => typeof id === "string"));
}

function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** A reference to an environment variable in the syntax of ptc.yaml. */
function variable(name: string): string {
  return `\${${name}}`;
}

/** The ptc.yaml form of a client's reference; `undefined` if ptc has no equivalent. */
function translate(
  reference: string,
  directory: string,
  { pluginRoot, inputs }: ClientSurroundings,
): string | undefined {
  // Claude Code defines this name for its plugins.
  if (reference === "CLAUDE_PLUGIN_ROOT" && pluginRoot !== undefined)
    return pluginRoot.replaceAll("${", "$${");
  const input = /^input:(.+)$/.exec(reference)?.[1];
  if (input !== undefined) return inputs?.has(input) ? variable(inputVariable(input)) : undefined;
  // Cursor and VS Code define these names, and `${env:NAME}`.
  switch (reference) {
    case "workspaceFolder":
      return directory.replaceAll("${", "$${");
    case "userHome":
      return variable("HOME");
    case "pathSeparator":
    case "/":
      return "/";
  }
  const [, name] = /^(?:env:)?([A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?)$/.exec(reference) ?? [];
  return name === undefined ? undefined : variable(name);
}

/** Further facts for resolving a client's references. */
interface ClientSurroundings {
  /** Absolute: the folder of the plugin that the file belongs to. */
  pluginRoot?: string | undefined;
  /** The inputs that VS Code asks a person for. Environment variables replace them. */
  inputs?: ReadonlySet<string> | undefined;
}

function inputVariable(id: string): string {
  const name = id.replaceAll(/[^A-Za-z0-9]+/g, "_").toUpperCase();
  return /^[0-9]/.test(name) ? `_${name}` : name;
}

type TranslatedText = { ok: true; text: string } | { ok: false; reference: string };

/**
 * Translates every reference in a text of a client's file. When ptc cannot resolve one, such as `${input:token}`, for which
 * an editor asks, the result is not `ok` and names the first such reference.
 *
 * @param directory the client's workspace folder.
 */
function translateReferences(
  text: string,
  directory: string,
  surroundings: ClientSurroundings = {},
): TranslatedText {
  let unknown: string | undefined;
  const translated = text.replaceAll(/\$\{([^}]*)\}?/g, (whole, reference: string) => {
    const ours = whole.endsWith("}") ? translate(reference, directory, surroundings) : undefined;
    if (ours === undefined) unknown ??= whole;
    return ours ?? whole;
  });
  return unknown === undefined ? { ok: true, text: translated } : { ok: false, reference: unknown };
}
