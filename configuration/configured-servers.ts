/** Questions about the servers of a configuration: which are off, which are remote, and which of their values are secret. */
import { urlCredentialsIn } from "../secrets/redaction-secrets.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { AuthSettings } from "../upstream/authorization/auth-settings.ts";
import {
  ALL_HEADERS,
  type ConfiguredSecret,
  type SecretSource,
  valueKey,
} from "../upstream/secret-source.ts";
import type { Configuration, RemoteServer, ServerConfiguration } from "./configuration.ts";

/** Whether a server is reached over HTTP, and may have a login: an MCP server, or an API. */
export function isRemote(server: ServerConfiguration): server is RemoteServer {
  return server.transport === "http" || server.transport === "sse" || server.transport === "openapi";
}

/** The limits of ptc's own tools, which are called as those of servers are. Everybody shares them, and they wait for no connection. */
export const OWN_USE = {
  shared: true,
  use: { maxConnections: 1, maxParallelCalls: 256, maxQueuedCalls: 10_000 },
} as const;

/** The values that the configuration writes out for a server: environment variables of commands, else headers. */
export function valuesOf(server: ServerConfiguration): Readonly<Record<string, string>> {
  return "env" in server ? server.env : server.headers;
}

/** The servers that are off, by module, each with the reason and what to do. */
export function offServers({ servers }: Pick<Configuration, "servers">): ReadonlyMap<string, string> {
  return new Map(servers.flatMap(({ module, off }) => (off === undefined ? [] : [[module, off]])));
}

/** One line for each server that is off, for a person who may not have noticed. */
export function describeOffServers({ servers }: Pick<Configuration, "servers">): string[] {
  return servers.flatMap(({ name, off }) => (off === undefined ? [] : [`server '${name}' is off: ${off}`]));
}

/** Why there are no servers, where ptc looked, and what to do, in one line; `undefined` if there are some. */
export function whyNoServers({
  file,
  directory,
  servers,
}: Pick<Configuration, "file" | "directory" | "servers">): string | undefined {
  if (servers.length > 0) return undefined;
  if (file !== undefined)
    return `${file} names no servers; add them under \`servers:\`, or take over those of another client with \`ptc init --import\``;
  const advice =
    "run `ptc init` there, or name the file: `ptc serve --config /path/to/ptc.yaml`, or PTC_CONFIG";
  return `no configuration was found: there is no ptc.yaml and no config.yaml in ${directory}, the folder in which ptc was started, and no ptc.yaml above it; ${advice}`;
}

const SECRET_NAME = /auth|cookie|cred|dsn|jwt|key|pass|pat$|private|pwd|secret|session|signature|token/i;

/** The secrets of a server that are most likely credentials: headers, and values whose name says so. */
export function credentialsOf(server: ServerConfiguration): string[] {
  if (!("env" in server)) return secretsOf(server);
  const named = Object.entries(server.env).flatMap(([name, value]) =>
    // `tool/VARIABLE` for a variable of a local tool.
    SECRET_NAME.test(name.slice(name.indexOf("/") + 1)) ? [value] : [],
  );
  return [...named, ...argumentsWithPasswords(server)];
}

/** The values of a server's entry that may be secrets. */
export function secretsOf(server: ServerConfiguration): string[] {
  if ("env" in server) return [...Object.values(server.env), ...argumentsWithPasswords(server)];
  const headers = Object.values(server.headers);
  // In `Bearer <token>` the token alone is also a secret, because it may appear without its scheme.
  const tokens = headers.flatMap((value) => /^[A-Za-z]+ +(\S.*)$/.exec(value)?.[1] ?? []);
  // Of `USER:PASSWORD` the password is a secret too.
  const passwords = Object.entries(server.headers).flatMap(([name, value]) =>
    name.startsWith("credentials/") && value.includes(":") ? [value.slice(value.indexOf(":") + 1)] : [],
  );
  return [
    ...headers,
    ...tokens,
    ...passwords,
    ...(isRemote(server) ? authSecrets(server.auth) : []).flatMap(({ secret }) =>
      typeof secret === "string" ? [secret] : [],
    ),
    ...(urlCredentialsIn(server.url).length > 0 ? [server.url] : []),
  ];
}

/** The arguments that are URLs with credentials. Others count as public: they name packages, folders and modes. */
function argumentsWithPasswords(server: ServerConfiguration): string[] {
  const args = server.transport === "stdio" ? server.args : [];
  return args.filter((argument) => urlCredentialsIn(argument).length > 0);
}

/** The secrets of `auth`, by key. */
function authSecrets(
  auth: AuthSettings<ConfiguredSecret> | undefined,
): { key: string; secret: ConfiguredSecret }[] {
  const privateKey = auth?.type === "client_credentials" ? auth.privateKey : undefined;
  const secrets = {
    client_secret: auth?.clientSecret,
    private_key: privateKey,
    "token_exchange.client_secret": auth?.exchange?.clientSecret,
    "identity_assertion.client_secret": auth?.assertion?.clientSecret,
  };
  return Object.entries(secrets).flatMap(([key, secret]) =>
    secret === undefined ? [] : [{ key: `auth.${key}`, secret }],
  );
}

/**
 * A server as it is started: of one with accounts a server for each of them, as `NAME/ACCOUNT`, which no server of ptc.yaml is called.
 */
export function startedServers(server: ServerConfiguration): ServerConfiguration[] {
  const { accounts, ...whole } = server;
  if (accounts === undefined) return [server];
  return Object.entries(accounts).map(([account, { values, secretSources }]) => {
    const key = "env" in server ? "env" : "headers";
    const keyOf = (name: string) => valueKey(name, key === "headers");
    const names = [...Object.keys(values), ...Object.keys(secretSources)].map(keyOf);
    const other = <T>(own: Readonly<Record<string, T>>) =>
      Object.fromEntries(Object.entries(own).filter(([name]) => !names.includes(keyOf(name))));
    const sources = Object.entries(other(server.secretSources)).map(([name, source]) =>
      // What it names is known only when it is read.
      key === "headers" && name === ALL_HEADERS ? [name, { ...source, except: names }] : [name, source],
    );
    const own = "env" in server ? server.env : "headers" in server ? server.headers : {};
    return {
      ...whole,
      name: `${server.name}/${account}`,
      [key]: { ...other(own), ...values },
      secretSources: { ...Object.fromEntries(sources), ...secretSources },
    } as ServerConfiguration;
  });
}

/** Every value of a server that is read from elsewhere, with its key. */
export function secretSourcesOf(server: ServerConfiguration): { key: string; source: SecretSource }[] {
  const ofAccounts = Object.entries(server.accounts ?? {}).flatMap(([account, { secretSources }]) =>
    Object.entries(secretSources).map(([key, source]) => ({ key: `accounts.${account}.${key}`, source })),
  );
  const own = Object.entries(server.secretSources).map(([key, source]) => ({ key, source }));
  const ofAuth = isRemote(server) ? authSecrets(server.auth) : [];
  return [
    ...own,
    ...ofAccounts,
    ...ofAuth.flatMap(({ key, secret }) => (typeof secret === "string" ? [] : [{ key, source: secret }])),
  ];
}

/** A server for comparison, without the places of its secrets in the file. */
export function withoutPlaces(whole: ServerConfiguration): object {
  const sources = secretSourcesOf(whole).map(({ key, source }) => [key, { ...source, place: undefined }]);
  const accounts = Object.entries(whole.accounts ?? {}).map(([account, { values }]) => [account, values]);
  const server = { ...whole, ...(accounts.length === 0 ? {} : { accounts: accounts as never }) };
  if (server.transport === "local") {
    const localTools = server.localTools.map((tool) => ({ ...tool, off: tool.off !== undefined }));
    return { ...server, localTools, secretSources: sources };
  }
  if (!isRemote(server) || server.auth === undefined) return { ...server, secretSources: sources };
  const plain = authSecrets(server.auth).flatMap(({ key, secret }) =>
    typeof secret === "string" ? [[key, secret]] : [],
  );
  const { exchange, assertion } = server.auth;
  const auth = {
    ...server.auth,
    clientSecret: undefined,
    privateKey: undefined,
    exchange: exchange && { ...exchange, clientSecret: undefined },
    assertion: assertion && { ...assertion, clientSecret: undefined },
  };
  return { ...server, auth, secretSources: [...sources, ...plain] };
}

/** Variables whose values are common words or paths. They are not secrets, and redacting them would garble output. */
const PUBLIC_NAMES = [
  "HOME",
  "HOSTNAME",
  "LANG",
  "LOGNAME",
  "PATH",
  "PWD",
  "SHELL",
  "TERM",
  "TMPDIR",
  "USER",
];
/** Drops empty and public values, and sorts the rest longest first, so that a secret is matched before a part of it is. */
export function distinctSecrets(values: readonly string[], environment: EnvironmentVariables): string[] {
  const open = new Set(PUBLIC_NAMES.map((name) => environment[name]));
  return [...new Set(values)]
    .filter((value) => value.trim() !== "" && !open.has(value))
    .sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
}
