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
import { oneLine } from "../../../base/visible-text.ts";
import { AuthorizationError, type Challenge } from "../authorization.ts";
import { AddressGuard, buildGuardedFetch } from "../guarded-fetch.ts";
import { type Client, isSameIssuer, type Login } from "../login-store.ts";

/** What is known of how a server is authorized (MCP 2026-07-28, Authorization: "Authorization Server Discovery"). */
export interface Discovered {
  /** The resource indicator (RFC 8707). */
  readonly resource: string;
  readonly resourceMetadata: OAuthProtectedResourceMetadata | undefined;
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
}

export interface DiscoveryOptions {
  serverUrl: string;
  /** The URL that a challenge of the server named. */
  resourceMetadataUrl: string | undefined;
  /** The authorization server that the configuration names. */
  issuer: string | undefined;
  fetch: FetchLike;
}

/**
 * Finds out which authorization server a server trusts, by its protected resource metadata (RFC 9728), and what that one
 * offers, by its metadata (RFC 8414, or OpenID Connect Discovery). A server without protected resource metadata may be its own
 * authorization server, as MCP had it before 2025-06-18. `undefined` when the server offers neither.
 *
 * @throws AuthorizationError when what is found cannot be trusted, or cannot be reached.
 */
export async function discover(options: DiscoveryOptions): Promise<Discovered | undefined> {
  const { serverUrl, fetch } = options;
  const resourceMetadata = await findResourceMetadata(options);
  const issuer = chooseIssuer(resourceMetadata, options);
  requireSecure(issuer, "authorization server");
  let metadata: AuthorizationServerMetadata | undefined;
  try {
    metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch });
  } catch (error) {
    // A server that is its own authorization server has metadata, and many others have some page in its place.
    const isAssumed = resourceMetadata === undefined && options.issuer === undefined;
    const isNone = error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError");
    if (isAssumed && isNone) return undefined;
    throw explainFault(
      error,
      `names the authorization server ${shown(issuer)}, whose metadata cannot be used`,
    );
  }
  if (metadata === undefined) {
    if (resourceMetadata === undefined) return undefined;
    throw new AuthorizationError(`names the authorization server ${shown(issuer)}, which has no metadata`);
  }
  requireSecure(metadata.token_endpoint, "token endpoint");
  return {
    resource: resourceMetadata?.resource ?? resourceUrlFromServerUrl(serverUrl).href,
    resourceMetadata,
    issuer: metadata.issuer,
    metadata,
  };
}

/** Asks for protected resource metadata where the challenge said, then at the well-known places of path and root. */
async function findResourceMetadata({
  serverUrl,
  resourceMetadataUrl,
  fetch,
}: DiscoveryOptions): Promise<OAuthProtectedResourceMetadata | undefined> {
  const named =
    resourceMetadataUrl !== undefined && URL.canParse(resourceMetadataUrl) ? [resourceMetadataUrl] : [];
  const places = [...named.map((url) => ({ resourceMetadataUrl: url })), {}];
  for (const place of places) {
    let found: OAuthProtectedResourceMetadata;
    try {
      found = await discoverOAuthProtectedResourceMetadata(serverUrl, place, fetch);
    } catch (error) {
      // Only a host that cannot be reached throws this: elsewhere there may be no metadata, or something else at its place.
      if (error instanceof TypeError) throw explainFault(error, "has metadata that cannot be fetched");
      continue;
    }
    requireResource(serverUrl, found.resource);
    return found;
  }
  return undefined;
}

/** A token for another resource than this server is not asked for (RFC 9728, section 3.3). */
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

/** Refuses a URL to which credentials would go in the clear. On this machine they may. */
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

/** Whether a server that refuses a request without saying what it wants has an authorization server. */
export async function offersLogin(
  serverUrl: string,
  { resourceMetadataUrl }: Challenge,
  signal?: AbortSignal,
): Promise<boolean> {
  const fetch = buildGuardedFetch({ guard: new AddressGuard(serverUrl), signal });
  try {
    return (await discover({ serverUrl, resourceMetadataUrl, issuer: undefined, fetch })) !== undefined;
  } catch {
    // Then a login says what is wrong with it.
    return true;
  }
}

/**
 * Adds what identifies the client to a request to an authorization server (RFC 6749, section 2.3.1). In HTTP Basic, id and
 * secret are encoded as a form encodes them, which the client package leaves out.
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

/** A token that no header can carry would otherwise be quoted in an error. */
const TOKEN = /^[\x21-\x7e]{1,65536}$/;

/**
 * The parts of a login that a token response sets (RFC 6749, section 5.1).
 *
 * @param asked the scopes that were asked for, which are those granted where the response names none.
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
 * The error for what failed between ptc and an authorization server.
 *
 * @param what the beginning of the message, which follows the name of the server.
 */
export function explainFault(error: unknown, what: string): AuthorizationError {
  if (error instanceof AuthorizationError) return error;
  return new AuthorizationError(`${what}: ${oneLine(reasonOf(error), MAX_SHOWN_CHARS)}`);
}

/** Whether the authorization server says that what it is shown is valid no more (RFC 6749, section 5.2). */
export function isEndedGrant(error: unknown): boolean {
  return error instanceof OAuthError && error.code === OAuthErrorCode.InvalidGrant;
}

/** Whether the authorization server does not know the client, or no longer does. */
export function isUnknownClient(error: unknown): boolean {
  return (
    error instanceof OAuthError &&
    (error.code === OAuthErrorCode.InvalidClient || error.code === OAuthErrorCode.UnauthorizedClient)
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof IssuerMismatchError && error.kind === "authorization_response")
    return "the answer came from another authorization server than the one that was asked";
  if (error instanceof RegistrationRejectedError) return `HTTP ${error.status}: ${error.body}`;
  if (error instanceof OAuthError) {
    // What the client package could not read as an error of OAuth, it quotes whole.
    if (error.code === OAuthErrorCode.ServerError)
      return error.message.replace(/Invalid OAuth error response:.*Raw body: /s, "");
    return error.message === error.code ? error.code : `${error.code}: ${error.message}`;
  }
  if (error instanceof Error && error.name === "ZodError")
    return "it does not have the form of such an answer";
  if (error instanceof SyntaxError) return "it is not JSON";
  return messageOf(error);
}
