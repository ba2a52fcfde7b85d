import {
  type AuthorizationServerMetadata,
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  type FetchLike,
  type OAuthProtectedResourceMetadata,
  resourceUrlFromServerUrl,
} from "@modelcontextprotocol/client";
import { oneLine } from "../../../../base/visible-text.ts";
import { AuthorizationError } from "../../../authorization/authorization.ts";
import { isSameIssuer } from "../../../authorization/logins/login-record.ts";
import { explainFault } from "./oauth-fault.ts";

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
      if (error instanceof TypeError) throw explainFault(error, "has metadata that cannot be had");
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
