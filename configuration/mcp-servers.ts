/** The MCP servers of ptc.yaml: finds problems of their entries, and builds servers from them. */
import { resolve } from "node:path";
import { serverModule } from "../protocol/tool-names.ts";
import type { AuthSettings } from "../upstream/authorization/auth-settings.ts";
import type { ConfiguredSecret } from "../upstream/secret-source.ts";
import type { ServerConfiguration } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import {
  type ExpandedFile,
  type Surroundings,
  secretOf,
  splitSecretValues,
  type UnsetVariables,
} from "./outside-values.ts";
import type { SecretValueEntry, ServerEntry } from "./settings/server-settings.ts";

const DEFAULT_CONNECT_TIMEOUT_SECONDS = 30;

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
      return [...findTransportProblems(server, path, unset), ...findAuthProblems(server, path, unset)];
    }),
    ...findNameProblems(servers),
  ];
}

/** The transport of a server. The default is stdio for a command and Streamable HTTP for a URL. */
function transportOf(server: ServerEntry): "stdio" | "http" | "sse" {
  return server.transport ?? (server.url === undefined ? "stdio" : "http");
}

function findTransportProblems(
  server: ServerEntry,
  path: readonly PropertyKey[],
  unset: ReadonlySet<string> | undefined,
): Problem[] {
  if (server.transport === undefined && server.command === undefined && server.url === undefined) {
    return [{ path, message: "has neither `command` nor `url`; say how to reach the server" }];
  }
  const transport = transportOf(server);
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
  if (auth === undefined || server.url === undefined) return [];
  const at = (key: keyof AuthEntry, message: string): Problem[] => [
    { path: [...path, "auth", key], message },
  ];
  if (auth.type === "none") {
    const [key] = Object.keys(auth).filter((each) => each !== "type") as (keyof AuthEntry)[];
    return key === undefined ? [] : at(key, "does not go with type none; remove it, or change the type");
  }
  const foreign = (auth.type === "oauth" ? OF_MACHINES : OF_PERSONS).find((key) => auth[key] !== undefined);
  if (foreign !== undefined)
    return at(foreign, `does not go with type ${auth.type}; remove it, or change the type`);
  if (hasAuthorization(server)) {
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

function hasAuthorization({ headers = {}, url = "" }: ServerEntry): boolean {
  const { username, password } = URL.canParse(url) ? new URL(url) : { username: "", password: "" };
  const isInUrl = username !== "" || password !== "";
  return isInUrl || Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
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
  { callTimeoutMs, ...surroundings }: Surroundings & { callTimeoutMs: number },
): ServerConfiguration {
  const { directory } = surroundings;
  const entry = unset === undefined ? whole : withoutTexts(whole, unset.texts);
  const transport = transportOf(entry);
  const key = transport === "stdio" ? "env" : "headers";
  const { values, secretSources } = splitSecretValues(entry[key], [...path, key], surroundings);
  const server = {
    name: entry.name,
    module: serverModule(entry.name),
    description: entry.description,
    callTimeoutMs:
      entry.call_timeout_seconds === undefined ? callTimeoutMs : entry.call_timeout_seconds * 1_000,
    connectTimeoutMs: (entry.connect_timeout_seconds ?? DEFAULT_CONNECT_TIMEOUT_SECONDS) * 1_000,
    roots: entry.roots?.map((folder) => resolve(directory, folder)),
    flow: { labels: entry.labels, accepts: entry.accepts, tools: entry.tools ?? {} },
    piiAllowed: entry.pii?.allow ?? [],
    off: surroundings.offOf(path),
    secretSources,
  };
  if (transport !== "stdio") {
    const auth = buildAuth(entry, path, surroundings);
    return { ...server, transport, url: entry.url ?? "", headers: values, auth };
  }
  const { command = "", args = [], cwd = "." } = entry;
  return { ...server, transport, command, args, env: values, cwd: resolve(directory, cwd) };
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
    ...(entry.args && { args: entry.args.filter((argument) => !texts.has(argument)) }),
    ...(entry.url !== undefined && { url: texts.has(entry.url) ? "" : entry.url }),
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
  surroundings: Surroundings,
): AuthSettings<ConfiguredSecret> | undefined {
  const { auth } = server;
  if (auth?.type === "none" || (auth === undefined && hasAuthorization(server))) return undefined;
  const { scopes } = auth ?? {};
  const secret = (key: "client_secret" | "private_key") =>
    secretOf(auth?.[key], [...path, "auth", key], surroundings);
  const common = {
    clientId: auth?.client_id,
    clientSecret: secret("client_secret"),
    scope: typeof scopes === "string" ? scopes : scopes?.join(" "),
    issuer: auth?.issuer,
    authMethod: auth?.token_endpoint_auth_method,
  };
  if (auth?.type === "client_credentials") {
    const { client_id: clientId = "", signing_algorithm: signingAlgorithm } = auth;
    const privateKey = secret("private_key");
    return { ...common, type: "client_credentials", clientId, privateKey, signingAlgorithm };
  }
  return {
    ...common,
    type: "oauth",
    isDefault: auth === undefined,
    clientMetadataUrl: auth?.client_metadata_url,
    callbackHost: auth?.callback_host ?? "127.0.0.1",
    callbackPort: auth?.callback_port,
  };
}
