import type { IncomingMessage, ServerResponse } from "node:http";
import Provider, { type ClientMetadata, type Configuration } from "oidc-provider";
import { vi } from "vitest";
import { listen } from "../../mcp/upstream-http-servers.ts";
import type { TokenVerifier } from "./protected-server.ts";

export interface OidcServer extends TokenVerifier {
  issuer: string;
  /** The requests that came, as `METHOD /path`. */
  requests: string[];
  /** The bodies of requests for tokens. */
  tokenRequests: URLSearchParams[];
  /** The queries of requests for an authorization. */
  authorizations: URLSearchParams[];
  provider: Provider;
  /** Answers requests itself when it returns true. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface OidcOptions {
  clients?: ClientMetadata[];
  scopes?: string[];
  /** Seconds. */
  accessTokenTtl?: number;
  registration?: boolean;
  /** The form of access tokens; opaque by default. */
  accessTokenFormat?: "opaque" | "jwt";
  /** What is said of the person who logs in, beside who it is. */
  claims?: Record<string, unknown>;
  /** Who logs in; `ada` by default. */
  person?: () => string;
  configuration?: Configuration;
}

/** A real OpenID provider on the loopback, whose person always logs in and consents. */
export async function serveOidc(options: OidcOptions = {}): Promise<OidcServer> {
  const { clients = [], scopes = ["read", "write"], accessTokenTtl = 3_600, registration = true } = options;
  const { accessTokenFormat = "opaque", claims = {}, person = () => "ada" } = options;
  const issuer = await listen((request, response) => void handle(request, response));
  // It warns that it keeps everything in memory, which is what a test wants.
  const quiet = [vi.spyOn(console, "warn"), vi.spyOn(console, "info")].map((spy) =>
    spy.mockImplementation(() => {}),
  );
  const provider = new Provider(issuer, {
    clients,
    scopes: ["openid", "offline_access", ...scopes],
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: registration },
      revocation: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context, resource) => ({
          scope: scopes.join(" "),
          audience: resource,
          accessTokenFormat,
          accessTokenTTL: accessTokenTtl,
        }),
      },
    },
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async (_context, client) => client.grantTypeAllowed("refresh_token"),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    ttl: {
      ...{ Interaction: 600, Session: 600, Grant: 86_400, AuthorizationCode: 60 },
      ...{ AccessToken: 3_600, ClientCredentials: 3_600, RefreshToken: 86_400 },
    },
    extraTokenClaims: () => claims,
    cookies: { keys: ["a key of the tests"] },
    ...options.configuration,
  });
  for (const spy of quiet) spy.mockRestore();
  provider.on("server_error", (_context, error) => console.error("oidc-provider:", error));
  const callback = provider.callback();
  const server: OidcServer = {
    issuer,
    provider,
    requests: [],
    tokenRequests: [],
    authorizations: [],
    intercept: () => false,
    async verify(token) {
      const found =
        (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
      if (found === undefined) return undefined;
      return { scopes: (found.scope ?? "").split(" "), audience: String(found.aud) };
    },
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "/", issuer);
    server.requests.push(`${request.method} ${url.pathname}`);
    if (server.intercept(request, response)) return;
    if (url.pathname === "/auth") server.authorizations.push(url.searchParams);
    if (url.pathname === "/token") {
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => server.tokenRequests.push(new URLSearchParams(String(Buffer.concat(chunks)))));
    }
    if (url.pathname.startsWith("/interaction/")) return interact(provider, request, response, person());
    await callback(request, response);
  };
  return server;
}

/** Logs the person in, and consents to all that is asked for. */
async function interact(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
  person: string,
) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    await provider.interactionFinished(request, response, { login: { accountId: person } });
    return;
  }
  const accountId = session?.accountId ?? "";
  const grant = new provider.Grant({ accountId, clientId: String(params.client_id) });
  const { missingOIDCScope, missingResourceScopes } = prompt.details as {
    missingOIDCScope?: string[];
    missingResourceScopes?: Record<string, string[]>;
  };
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {}))
    grant.addResourceScope(resource, scopes.join(" "));
  const grantId = await grant.save();
  const consent = { consent: { grantId } };
  await provider.interactionFinished(request, response, consent, { mergeWithLastSubmission: true });
}
