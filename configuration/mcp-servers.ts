/** The MCP servers of ptc.yaml: finds problems of their entries, and builds servers from them. */

import { resolve } from "node:path";
import { serverModule } from "../protocol/tool-names.ts";
import type { AuthSettings } from "../upstream/authorization/auth-settings.ts";
import type { ConfiguredSecret } from "../upstream/secret-source.ts";
import { ALL_HEADERS } from "../upstream/secret-source.ts";
import type { ServerConfiguration } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import {
  type EntrySurroundings,
  type ExpandedFile,
  secretOf,
  splitSecretValues,
  type UnsetVariables,
} from "./outside-values.ts";
import { buildServerSandbox } from "./server-sandbox.ts";
import type { SecretValueEntry, ServerEntry } from "./settings/server-settings.ts";

const DEFAULT_CONNECT_TIMEOUT_SECONDS = 30;
const MOST_PROCESSES = 64;
const MOST_CONNECTIONS = 1_000;
const DEFAULT_PARALLEL_CALLS = 100;
const DEFAULT_QUEUED_CALLS = 1_000;

type UnsetIn = ExpandedFile["unsetIn"];
type AuthEntry = NonNullable<ServerEntry["auth"]>;

/** The keys of `auth` that only one of its types has. */
const OF_PERSONS = ["client_metadata_url", "callback_host", "callback_port"] as const;
const OF_MACHINES = ["private_key", "signing_algorithm"] as const;

/**
 * Problems of servers with valid keys and types. Texts with unset variables are not checked.
 */
export function findServerProblems(servers: readonly ServerEntry[], unsetIn: UnsetIn): Problem[] {
  return [
    ...servers.flatMap((server, index) => {
      const path = ["servers", index];
      const unset = unsetIn(path)?.texts;
      return [
        ...findTransportProblems(server, path, unset),
        ...findAuthProblems(server, path, unset),
        ...findAccountProblems(server, path),
      ];
    }),
    ...findNameProblems(servers),
  ];
}

/** The transport of a server. The default is stdio for a command and Streamable HTTP for a URL. */
function transportOf(server: ServerEntry): "stdio" | "http" | "sse" | "openapi" {
  if (server.openapi !== undefined) return "openapi";
  return server.transport ?? (server.url === undefined ? "stdio" : "http");
}

function findTransportProblems(
  server: ServerEntry,
  path: readonly PropertyKey[],
  unset: ReadonlySet<string> | undefined,
): Problem[] {
  const transport = transportOf(server);
  if (transport === "openapi") return findOpenApiProblems(server, path, unset);
  const [ofApis] = OF_APIS.filter((key) => server[key] !== undefined);
  if (ofApis !== undefined)
    return [{ path: [...path, ofApis], message: "goes with `openapi` alone; remove it, or add `openapi`" }];
  if (server.transport === undefined && server.command === undefined && server.url === undefined) {
    return [{ path, message: "has none of `command`, `url` and `openapi`; say how to reach the server" }];
  }
  const stdio = transport === "stdio";
  const foreign = stdio
    ? (["url", "headers", "auth"] as const)
    : (["command", "args", "env", "cwd"] as const);
  for (const key of foreign) {
    if (server[key] === undefined) continue;
    return [
      {
        path: [...path, key],
        message: `does not go with transport ${transport}; remove it, or change the transport`,
      },
    ];
  }
  if (stdio) {
    return server.command === undefined
      ? [{ path, message: "has no `command`, which transport stdio needs; add one" }]
      : [];
  }
  if (server.url === undefined) {
    return [{ path, message: `has no \`url\`, which transport ${transport} needs; add one` }];
  }
  return isHttpUrl(server.url) || unset?.has(server.url) === true
    ? []
    : [
        {
          path: [...path, "url"],
          message: "is not a URL; write http://host:port/path or https://host/path",
        },
      ];
}

function findAccountProblems(server: ServerEntry, path: readonly PropertyKey[]): Problem[] {
  const { accounts, auth, openapi } = server;
  if (accounts === undefined) return [];
  const at = [...path, "accounts"];
  const [first] = Object.keys(accounts);
  if (first === undefined) return [{ path: at, message: "must have at least one account" }];
  if (openapi !== undefined)
    return [{ path: at, message: "does not go with `openapi`; add a server for each" }];
  if (auth !== undefined && auth.type !== "none")
    return [{ path: at, message: "does not go with `auth`; give each account its own `headers`" }];
  const foreign = transportOf(server) === "stdio" ? "headers" : "env";
  const [wrong] = Object.entries(accounts).filter(([, account]) => account[foreign] !== undefined);
  if (wrong === undefined) return [];
  const message = `does not go with transport ${transportOf(server)}; remove it`;
  return [{ path: [...at, wrong[0], foreign], message }];
}

/** Whether a text is a URL with a user in it, which `fetch` does not take. */
function hasUser(text = ""): boolean {
  return isHttpUrl(text) && new URL(text).username + new URL(text).password !== "";
}

const OF_APIS = ["base_url", "credentials", "client_certificate", "include", "exclude"] as const;

function findOpenApiProblems(
  server: ServerEntry,
  path: readonly PropertyKey[],
  unset: ReadonlySet<string> | undefined,
): Problem[] {
  for (const key of ["transport", "command", "args", "env", "cwd", "url", "roots"] as const)
    if (server[key] !== undefined)
      return [{ path: [...path, key], message: "does not go with `openapi`; remove one of the two" }];
  for (const key of ["openapi", "base_url"] as const)
    if (hasUser(server[key]))
      return [{ path: [...path, key], message: "holds a user or a password; send them with `headers`" }];
  const { base_url: base } = server;
  if (base === undefined) {
    const [key] = (["headers", "credentials", "client_certificate", "auth"] as const).filter(
      (each) => server[each] !== undefined,
    );
    if (key === undefined || server.auth?.type === "none") return [];
    const message =
      "needs a `base_url` beside it: credentials go to no host that the description alone names";
    return [{ path: [...path, key], message }];
  }
  if (isHttpUrl(base) || unset?.has(base) === true) return [];
  const message = "is not a URL; write http://host:port/path or https://host/path";
  return [{ path: [...path, "base_url"], message }];
}

function findNameProblems(servers: readonly ServerEntry[]): Problem[] {
  const seen = new Map<string, { name: string; index: number }>();
  return servers.flatMap(({ name }, index): Problem[] => {
    const module = serverModule(name);
    const earlier = seen.get(module);
    if (earlier === undefined) {
      seen.set(module, { name, index });
      return [];
    }
    const reason =
      earlier.name === name
        ? `'${name}' is also the name of servers[${earlier.index}]`
        : `'${name}' becomes '${module}' in code, as does '${earlier.name}' of servers[${earlier.index}]`;
    return [{ path: ["servers", index, "name"], message: `${reason}; rename one` }];
  });
}

function isHttpUrl(text: string): boolean {
  // Such a URL without a host cannot be parsed.
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function findAuthProblems(
  server: ServerEntry,
  path: readonly PropertyKey[],
  unset: ReadonlySet<string> | undefined,
): Problem[] {
  const { auth } = server;
  if (auth === undefined || (server.url ?? server.base_url) === undefined) return [];
  const isOfPersons =
    auth.type === "oauth" || auth.token_exchange !== undefined || auth.identity_assertion !== undefined;
  if (server.shared === true && isOfPersons) {
    const message =
      "cannot be true where each person logs in; remove it, or give the server credentials of its own";
    return [{ path: [...path, "shared"], message }];
  }
  const at = (key: keyof AuthEntry, message: string): Problem[] => [
    { path: [...path, "auth", key], message },
  ];
  const takesCaller = auth.token_exchange !== undefined || auth.identity_assertion !== undefined;
  if (auth.type === undefined && !takesCaller)
    return at("type", `must be one of oauth, client_credentials, none`);
  if (auth.identity_assertion !== undefined && auth.client_id === undefined)
    return at(
      "identity_assertion",
      "needs a `client_id` of `auth` beside it: that of ptc at the server's own authorization server",
    );
  if (auth.type === "none" && !takesCaller) {
    const [key] = Object.keys(auth).filter((each) => each !== "type") as (keyof AuthEntry)[];
    return key === undefined ? [] : at(key, "does not go with type none; remove it, or change the type");
  }
  const foreign = foreignKeys(auth.type).find((key) => auth[key] !== undefined);
  if (foreign !== undefined)
    return at(foreign, `does not go with type ${auth.type ?? "none"}; remove it, or change the type`);
  if (auth.type !== undefined && auth.type !== "none" && hasAuthorization(server)) {
    const message = "cannot stand beside an Authorization header or a user in the url; keep one of the two";
    return [{ path: [...path, "auth"], message }];
  }
  if (auth.type === "client_credentials") {
    if (auth.client_id === undefined)
      return at("type", "needs a `client_id` beside it; add the one that is registered for this machine");
    if ((auth.client_secret === undefined) === (auth.private_key === undefined))
      return at("type", "needs either a `client_secret` or a `private_key` beside it");
  }
  if (auth.client_secret !== undefined && auth.client_id === undefined)
    return at("client_secret", "needs a `client_id` beside it");
  // Otherwise the server's metadata would decide where the secret goes.
  if (auth.client_secret !== undefined && auth.issuer === undefined)
    return at(
      "client_secret",
      "needs an `issuer` beside it; name the authorization server that gave it out, as the secret goes nowhere else",
    );
  for (const key of ["issuer", "client_metadata_url"] as const) {
    const value = auth[key];
    if (value === undefined || unset?.has(value) === true) continue;
    const url = URL.canParse(value) ? new URL(value) : undefined;
    if (key === "client_metadata_url" && (url?.protocol !== "https:" || url.pathname === "/"))
      return at(key, "is not the https URL of a document; write https://host/path");
    if (url?.protocol !== "https:" && url?.protocol !== "http:")
      return at(key, "is not a URL; write the one that the authorization server names as its issuer");
  }
  return [];
}

/** The keys that do not go with a type. */
function foreignKeys(type: AuthEntry["type"]): readonly (keyof AuthEntry)[] {
  if (type === "oauth") return OF_MACHINES;
  return type === "client_credentials" ? OF_PERSONS : [...OF_MACHINES, ...OF_PERSONS];
}

function hasAuthorization({ headers = {}, base_url: base = "", url = base }: ServerEntry): boolean {
  const { username, password } = URL.canParse(url) ? new URL(url) : { username: "", password: "" };
  const isInUrl = username !== "" || password !== "";
  return (
    isInUrl ||
    Object.keys(headers).some((name) => name.toLowerCase() === "authorization" || name === ALL_HEADERS)
  );
}

/**
 * A server as ptc starts it.
 *
 * @param unset texts with unset variables. They are not secrets, and nothing is started with them.
 */
export function buildServer(
  whole: ServerEntry,
  path: readonly PropertyKey[],
  unset: UnsetVariables | undefined,
  { callTimeoutMs, ...surroundings }: EntrySurroundings & { callTimeoutMs: number },
): ServerConfiguration {
  const { directory } = surroundings;
  const entry = unset === undefined ? whole : withoutTexts(whole, unset.texts);
  const transport = transportOf(entry);
  const key = transport === "stdio" ? "env" : "headers";
  const own = splitSecretValues(entry[key], [...path, key], surroundings);
  const ofApi = splitSecretValues(entry.credentials, [...path, "credentials"], surroundings);
  const shown = splitSecretValues(entry.client_certificate, [...path, "client_certificate"], surroundings);
  const values = {
    ...own.values,
    ...named("credentials", ofApi.values),
    ...named("certificate", shown.values),
  };
  const secretSources = {
    ...own.secretSources,
    ...named("credentials", ofApi.secretSources),
    ...named("certificate", shown.secretSources),
  };
  const server = {
    name: entry.name,
    module: serverModule(entry.name),
    description: entry.description,
    callTimeoutMs:
      entry.call_timeout_seconds === undefined ? callTimeoutMs : entry.call_timeout_seconds * 1_000,
    connectTimeoutMs: (entry.connect_timeout_seconds ?? DEFAULT_CONNECT_TIMEOUT_SECONDS) * 1_000,
    shared: entry.shared ?? false,
    use: {
      maxConnections: entry.max_connections ?? (transport === "stdio" ? MOST_PROCESSES : MOST_CONNECTIONS),
      maxParallelCalls: entry.max_parallel_calls ?? DEFAULT_PARALLEL_CALLS,
      maxQueuedCalls: entry.max_queued_calls ?? DEFAULT_QUEUED_CALLS,
    },
    roots: entry.roots?.map((folder) => resolve(directory, folder)),
    apps: entry.apps !== "off",
    ...(entry.sampling === "allow" ? { sampling: true } : {}),
    flow: { labels: entry.labels, results: entry.results, accepts: entry.accepts, tools: entry.tools ?? {} },
    piiAllowed: entry.pii?.allow ?? [],
    off: surroundings.offOf(path),
    secretSources,
    ...(entry.accounts === undefined
      ? {}
      : { accounts: buildAccounts(entry.accounts, key, [...path, "accounts"], surroundings) }),
  };
  if (transport === "openapi") {
    const { openapi = "", base_url: url = "", include, exclude } = entry;
    const place = isHttpUrl(openapi) ? openapi : resolve(directory, openapi);
    const auth = entry.auth === undefined ? undefined : buildAuth(entry, path, surroundings);
    return {
      ...server,
      transport,
      openapi: place,
      url,
      headers: values,
      auth,
      operations: { include, exclude },
    };
  }
  if (transport !== "stdio") {
    // Nobody logs in to one of several accounts: each has credentials of its own.
    const auth = entry.accounts === undefined ? buildAuth(entry, path, surroundings) : undefined;
    return { ...server, transport, url: entry.url ?? "", headers: values, auth };
  }
  const { command = "", args = [], cwd = "." } = entry;
  const sandbox = buildServerSandbox(entry, directory);
  return { ...server, transport, command, args, env: values, cwd: resolve(directory, cwd), sandbox };
}

function buildAccounts(
  accounts: NonNullable<ServerEntry["accounts"]>,
  key: "env" | "headers",
  path: readonly PropertyKey[],
  surroundings: EntrySurroundings,
): NonNullable<ServerConfiguration["accounts"]> {
  const built = Object.entries(accounts).map(([name, account]) => {
    return [name, splitSecretValues(account[key], [...path, name, key], surroundings)] as const;
  });
  return Object.fromEntries(built);
}

/** What an API needs besides stands among its headers, under names that no header has. */
function named<T>(
  kind: "credentials" | "certificate",
  values: Readonly<Record<string, T>>,
): Record<string, T> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${kind}/${name}`, value]));
}

/** A server's entry without the texts that could not be expanded. They are not secrets, and nothing is started with them. */
function withoutTexts(entry: ServerEntry, texts: ReadonlySet<string>): ServerEntry {
  const known = (mapping: NonNullable<ServerEntry["env"]> = {}) =>
    Object.fromEntries(
      Object.entries(mapping).filter(([, value]) => !textsOf(value).some((each) => texts.has(each))),
    );
  return {
    ...entry,
    ...(entry.env && { env: known(entry.env) }),
    ...(entry.headers && { headers: known(entry.headers) }),
    ...(entry.accounts && {
      accounts: Object.fromEntries(
        Object.entries(entry.accounts).map(([name, { env, headers }]) => [
          name,
          { ...(env && { env: known(env) }), ...(headers && { headers: known(headers) }) },
        ]),
      ),
    }),
    ...(entry.credentials && { credentials: known(entry.credentials) }),
    ...(entry.client_certificate &&
      [entry.client_certificate.cert, entry.client_certificate.key].some((each) =>
        textsOf(each).some((text) => texts.has(text)),
      ) && { client_certificate: undefined }),
    ...(entry.args && { args: entry.args.filter((argument) => !texts.has(argument)) }),
    ...(entry.url !== undefined && { url: texts.has(entry.url) ? "" : entry.url }),
    ...(entry.openapi !== undefined && { openapi: texts.has(entry.openapi) ? "" : entry.openapi }),
    ...(entry.base_url !== undefined && { base_url: texts.has(entry.base_url) ? "" : entry.base_url }),
  };
}

function textsOf(value: string | SecretValueEntry): string[] {
  return typeof value === "string" ? [value] : Object.values(value).flat();
}

/**
 * How ptc gets tokens for a remote server. ptc logs in to a server without `auth` when the server asks for a login, but never to a
 * server with credentials in its headers or its URL.
 */
function buildAuth(
  server: ServerEntry,
  path: readonly PropertyKey[],
  surroundings: EntrySurroundings,
): AuthSettings<ConfiguredSecret> | undefined {
  const { auth } = server;
  if (auth === undefined && server.shared === true) return undefined;
  const { scopes, token_exchange: exchange, identity_assertion: assertion } = auth ?? {};
  const takesCaller = exchange !== undefined || assertion !== undefined;
  if ((auth?.type === "none" && !takesCaller) || (auth === undefined && hasAuthorization(server)))
    return undefined;
  const clientOf = (key: "token_exchange" | "identity_assertion", entry: NonNullable<typeof assertion>) => ({
    issuer: entry.issuer,
    clientId: entry.client_id,
    clientSecret: secretOf(entry.client_secret, [...path, "auth", key, "client_secret"], surroundings),
    authMethod: entry.token_endpoint_auth_method,
  });
  const secret = (key: "client_secret" | "private_key") =>
    secretOf(auth?.[key], [...path, "auth", key], surroundings);
  const common = {
    clientId: auth?.client_id,
    clientSecret: secret("client_secret"),
    scope: typeof scopes === "string" ? scopes : scopes?.join(" "),
    issuer: auth?.issuer,
    authMethod: auth?.token_endpoint_auth_method,
    exchange: exchange && {
      ...clientOf("token_exchange", exchange),
      audience: exchange.audience,
      resource: exchange.resource,
      actor: exchange.actor,
    },
    assertion: assertion && clientOf("identity_assertion", assertion),
  };
  if (auth?.type === "client_credentials") {
    const { client_id: clientId = "", signing_algorithm: signingAlgorithm } = auth;
    const privateKey = secret("private_key");
    return { ...common, type: "client_credentials", clientId, privateKey, signingAlgorithm };
  }
  if (auth !== undefined && auth.type !== "oauth") return { ...common, type: "caller" };
  return {
    ...common,
    type: "oauth",
    isDefault: auth === undefined,
    clientMetadataUrl: auth?.client_metadata_url,
    callbackHost: auth?.callback_host ?? "127.0.0.1",
    callbackPort: auth?.callback_port,
  };
}
