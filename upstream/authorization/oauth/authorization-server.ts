import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  type FetchLike,
  IssuerMismatchError,
  OAuthError,
  OAuthErrorCode,
  type OAuthProtectedResourceMetadata,
  type OAuthTokens,
  RegistrationRejectedError,
  resourceUrlFromServerUrl,
  selectClientAuthMethod,
} from "@modelcontextprotocol/client";
import type { Clock } from "../../../base/clock.ts";
import { messageOf } from "../../../base/faults.ts";
import { isObject } from "../../../base/json.ts";
import { oneLine } from "../../../base/visible-text.ts";
import { AuthorizationError, type Challenge } from "../authorization.ts";
import { AddressGuard, buildGuardedFetch } from "../guarded-fetch.ts";
import { type Client, isSameIssuer, type Login } from "../login-store.ts";

/** What was discovered about a server's authorization (MCP 2026-07-28, Authorization: "Authorization Server Discovery"). */
export interface Discovered {
  /** The resource indicator (RFC 8707). */
  readonly resource: string;
  readonly resourceMetadata: OAuthProtectedResourceMetadata | undefined;
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
}

export interface DiscoveryOptions {
  serverUrl: string;
  /** The URL named in the server's challenge. */
  resourceMetadataUrl: string | undefined;
  /** The authorization server that the configuration names. */
  issuer: string | undefined;
  fetch: FetchLike;
}

/**
 * Finds out which authorization server a server trusts, from its protected resource metadata (RFC 9728), and what that offers, from
 * its own metadata (RFC 8414, or OpenID Connect Discovery). A server without protected resource metadata may be its own
 * authorization server, as in MCP before 2025-06-18. `undefined` if the server offers neither.
 *
 * @throws AuthorizationError if the metadata cannot be trusted or reached.
 */
export async function discover(options: DiscoveryOptions): Promise<Discovered | undefined> {
  const { serverUrl, fetch } = options;
  const { found: resourceMetadata, fault } = await findResourceMetadata(options);
  const chosen = chooseIssuer(resourceMetadata, options);
  const { href, pathname, search, hash } = requireSecure(chosen, "authorization server");
  // The metadata of both forms of an issuer, with a slash at the end and without, are one document (RFC 8414, section 3.1), which may
  // name either. The client package accepts both for the form with a slash.
  const isPlain = search === "" && hash === "";
  const withSlash = pathname === "/" ? href : chosen.replace(/\/?$/, "/");
  const issuer = isPlain ? withSlash : chosen;
  let metadata: AuthorizationServerMetadata | undefined;
  try {
    metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch });
  } catch (error) {
    // A server that is its own authorization server has metadata; many others serve some page instead.
    const isAssumed = resourceMetadata === undefined && options.issuer === undefined;
    const isPage = error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError");
    const isNone = isPage && (wrongMemberOf(error) ?? "issuer") === "issuer";
    if (isAssumed && isNone) return withoutServer(fault);
    throw explainFault(
      error,
      `names the authorization server ${shown(chosen)}, whose metadata cannot be used`,
    );
  }
  if (metadata === undefined) {
    if (resourceMetadata === undefined) return withoutServer(fault);
    throw new AuthorizationError(`names the authorization server ${shown(chosen)}, which has no metadata`);
  }
  requireSecure(metadata.token_endpoint, "token endpoint");
  return {
    resource: resourceMetadata?.resource ?? resourceUrlFromServerUrl(serverUrl).href,
    resourceMetadata,
    issuer: metadata.issuer,
    metadata,
  };
}

/** The outcome for a server without an authorization server. @throws the reason why its metadata could not be used, if it has some */
function withoutServer(fault: AuthorizationError | undefined): undefined {
  if (fault !== undefined) throw fault;
}

/** Fetches protected resource metadata from the URL in the challenge, then from the well-known URLs for the path and the root. */
async function findResourceMetadata({
  serverUrl,
  resourceMetadataUrl,
  fetch,
}: DiscoveryOptions): Promise<{ found?: OAuthProtectedResourceMetadata; fault?: AuthorizationError }> {
  const named =
    resourceMetadataUrl !== undefined && URL.canParse(resourceMetadataUrl) ? [resourceMetadataUrl] : [];
  const places = [...named.map((url) => ({ resourceMetadataUrl: url })), {}];
  let fault: AuthorizationError | undefined;
  for (const place of places) {
    let found: OAuthProtectedResourceMetadata;
    try {
      found = await discoverOAuthProtectedResourceMetadata(serverUrl, place, fetch);
    } catch (error) {
      // A TypeError means that the host cannot be reached. Most other errors mean that there is no metadata at this URL.
      if (error instanceof TypeError) throw explainFault(error, "has metadata that cannot be fetched");
      const isNamed = "resourceMetadataUrl" in place;
      const isMetadata = (wrongMemberOf(error) ?? "resource") !== "resource";
      if (isNamed || isMetadata)
        fault ??= explainFault(error, "has metadata about its login that cannot be used");
      continue;
    }
    requireResource(serverUrl, found.resource);
    return { found };
  }
  return fault === undefined ? {} : { fault };
}

/** Refuses metadata for a resource other than this server (RFC 9728, section 3.3). */
function requireResource(serverUrl: string, resource: string): void {
  const isOwn =
    URL.canParse(resource) &&
    checkResourceAllowed({
      requestedResource: resourceUrlFromServerUrl(serverUrl),
      configuredResource: resource,
    });
  if (!isOwn)
    throw new AuthorizationError(`has metadata for another resource, ${shown(resource)}: it is not trusted`);
}

function chooseIssuer(
  resourceMetadata: OAuthProtectedResourceMetadata | undefined,
  { serverUrl, issuer: configured }: DiscoveryOptions,
): string {
  const offered = resourceMetadata?.authorization_servers ?? [];
  if (configured === undefined) return offered[0] ?? `${new URL(serverUrl).origin}/`;
  const chosen =
    offered.length === 0 ? configured : offered.find((issuer) => isSameIssuer(issuer, configured));
  if (chosen !== undefined) return chosen;
  const others = offered.slice(0, 3).map(shown).join(", ");
  throw new AuthorizationError(`trusts ${others}, and not the \`issuer\` of its \`auth\` in ptc.yaml`);
}

/** Refuses a URL to which credentials would be sent unencrypted, except on this machine. */
export function requireSecure(text: string, what: string): URL {
  if (!URL.canParse(text))
    throw new AuthorizationError(`names ${shown(text)} as its ${what}, which is no URL`);
  const url = new URL(text);
  const host = url.hostname;
  const isHere =
    host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || host.startsWith("127.");
  if (url.protocol === "https:" || (url.protocol === "http:" && isHere)) return url;
  throw new AuthorizationError(`names ${shown(text)} as its ${what}, which is not https`);
}

function shown(foreign: string): string {
  return oneLine(foreign, 200);
}

/** Whether a server that refuses a request without a reason has an authorization server. */
export async function offersLogin(
  serverUrl: string,
  { resourceMetadataUrl }: Challenge,
  signal?: AbortSignal,
): Promise<boolean> {
  const fetch = buildGuardedFetch({ guard: new AddressGuard(serverUrl), signal });
  try {
    return (await discover({ serverUrl, resourceMetadataUrl, issuer: undefined, fetch })) !== undefined;
  } catch {
    // A login will then report the problem.
    return true;
  }
}

/**
 * Adds the client's identification to a request to an authorization server (RFC 6749, section 2.3.1). In HTTP Basic, id and secret
 * are form-encoded, which the client package omits.
 */
export function authenticateClient(
  client: Client,
  supported: readonly string[] | undefined,
  headers: Headers,
  parameters: URLSearchParams,
): void {
  const method = selectClientAuthMethod(
    {
      client_id: client.id,
      ...(client.secret === undefined ? {} : { client_secret: client.secret }),
      ...(client.authMethod === undefined ? {} : { token_endpoint_auth_method: client.authMethod }),
    },
    [...(supported ?? [])],
  );
  if (method === "client_secret_basic" && client.secret !== undefined) {
    const pair = `${formEncoded(client.id)}:${formEncoded(client.secret)}`;
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
    return;
  }
  parameters.set("client_id", client.id);
  if (method === "client_secret_post" && client.secret !== undefined)
    parameters.set("client_secret", client.secret);
}

function formEncoded(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

type Granted = Pick<Login, "accessToken" | "refreshToken" | "expiresAt" | "scope">;

/** Matches valid tokens. A token that no header can carry would otherwise be quoted in an error. */
const TOKEN = /^[\x21-\x7e]{1,65536}$/;

/**
 * The parts of a login that a token response sets (RFC 6749, section 5.1).
 *
 * @param asked the requested scopes, which count as granted if the response names none.
 */
export function grantedBy(
  tokens: OAuthTokens,
  asked: string | undefined,
  clock: Pick<Clock, "wallMs">,
): Granted {
  if (tokens.token_type.toLowerCase() !== "bearer")
    throw new AuthorizationError("got a token of a kind that ptc does not know; only Bearer is");
  if (!TOKEN.test(tokens.access_token)) throw new AuthorizationError("got something that is no token");
  const { refresh_token: refreshToken, expires_in: seconds, scope = asked } = tokens;
  return {
    accessToken: tokens.access_token,
    refreshToken,
    expiresAt:
      seconds === undefined || !Number.isFinite(seconds) ? undefined : clock.wallMs() + seconds * 1_000,
    scope,
  };
}

const MAX_SHOWN_CHARS = 300;

/**
 * The error for a failure between ptc and an authorization server.
 *
 * @param what the beginning of the message, phrased to follow the name of the server.
 */
export function explainFault(error: unknown, what: string): AuthorizationError {
  if (error instanceof AuthorizationError) return error;
  return new AuthorizationError(`${what}: ${oneLine(reasonOf(error), MAX_SHOWN_CHARS)}`);
}

/** Whether the authorization server says that the grant is no longer valid (RFC 6749, section 5.2). */
export function isEndedGrant(error: unknown): boolean {
  return error instanceof OAuthError && error.code === OAuthErrorCode.InvalidGrant;
}

/** Whether the authorization server does not, or no longer, know the client. */
export function isUnknownClient(error: unknown): boolean {
  return (
    error instanceof OAuthError &&
    (error.code === OAuthErrorCode.InvalidClient || error.code === OAuthErrorCode.UnauthorizedClient)
  );
}

/** The first member of an answer that does not have the specified form, such as `scopes_supported.0`. */
function wrongMemberOf(error: unknown): string | undefined {
  const issues = error instanceof Error && "issues" in error ? error.issues : undefined;
  const [first] = Array.isArray(issues) ? (issues as unknown[]) : [];
  const path = isObject(first) && Array.isArray(first.path) ? first.path.map(String) : [];
  return path.length === 0 ? undefined : path.join(".");
}

function reasonOf(error: unknown): string {
  if (error instanceof IssuerMismatchError && error.kind === "metadata")
    return `it names another issuer, ${JSON.stringify(error.received)}`;
  if (error instanceof IssuerMismatchError)
    return "the answer came from another authorization server than the one that was asked";
  if (error instanceof RegistrationRejectedError) return `HTTP ${error.status}: ${error.body}`;
  if (error instanceof OAuthError) {
    // The client package quotes the whole body of a response that is not an OAuth error.
    if (error.code === OAuthErrorCode.ServerError)
      return error.message.replace(/Invalid OAuth error response:.*Raw body: /s, "");
    return error.message === error.code ? error.code : `${error.code}: ${error.message}`;
  }
  if (error instanceof Error && error.name === "ZodError") {
    const member = wrongMemberOf(error);
    return member === undefined
      ? "it does not have the form of such an answer"
      : `its member \`${member}\` is missing or is not as specified`;
  }
  if (error instanceof SyntaxError) return "it is not JSON";
  return messageOf(error);
}
