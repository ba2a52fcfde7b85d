import type { AuthSettings } from "../upstream/authorization/auth-settings.ts";
import type { ConfiguredSecret } from "../upstream/secret-sources/secret-source.ts";
import type { Problem } from "./configuration-error.ts";
import type { ServerEntry } from "./schema.ts";
import { authSecretOf, type SecretSurroundings } from "./split-secret-values.ts";

type AuthEntry = NonNullable<ServerEntry["auth"]>;

/** The keys of `auth` that only one of its types has. */
const OF_PERSONS = ["client_metadata_url", "callback_host", "callback_port"] as const;
const OF_MACHINES = ["private_key", "signing_algorithm"] as const;

/**
 * Problems of a server's `auth`, whose keys and types are valid by the schema.
 *
 * @param unset texts with variables that are not set, which are not judged.
 */
export function findAuthProblems(
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
  // Without it, the server's metadata would decide where the secret goes.
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

/**
 * How ptc gets tokens for a remote server. A server about which the configuration says nothing is logged in to when it asks for
 * that; one with credentials in its headers or its URL never is.
 */
export function buildAuth(
  server: ServerEntry,
  surroundings: SecretSurroundings,
): AuthSettings<ConfiguredSecret> | undefined {
  const { auth } = server;
  if (auth?.type === "none" || (auth === undefined && hasAuthorization(server))) return undefined;
  const { scopes } = auth ?? {};
  const common = {
    clientId: auth?.client_id,
    clientSecret: authSecretOf("client_secret", auth?.client_secret, surroundings),
    scope: typeof scopes === "string" ? scopes : scopes?.join(" "),
    issuer: auth?.issuer,
    authMethod: auth?.token_endpoint_auth_method,
  };
  if (auth?.type === "client_credentials") {
    const { client_id: clientId = "", signing_algorithm: signingAlgorithm } = auth;
    const privateKey = authSecretOf("private_key", auth.private_key, surroundings);
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

/** The secrets of `auth`, by key. */
export function authSecrets(
  auth: AuthSettings<ConfiguredSecret> | undefined,
): { key: string; secret: ConfiguredSecret }[] {
  const privateKey = auth?.type === "client_credentials" ? auth.privateKey : undefined;
  return Object.entries({ client_secret: auth?.clientSecret, private_key: privateKey }).flatMap(
    ([key, secret]) => (secret === undefined ? [] : [{ key: `auth.${key}`, secret }]),
  );
}

function hasAuthorization({ headers = {}, url = "" }: ServerEntry): boolean {
  const { username, password } = URL.canParse(url) ? new URL(url) : { username: "", password: "" };
  const isInUrl = username !== "" || password !== "";
  return isInUrl || Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}
