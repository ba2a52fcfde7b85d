import { randomUUID } from "node:crypto";
import { InvalidGrantError, InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import type {
  AuthorizationParams,
  OAuthServerProvider,
} from "@modelcontextprotocol/sdk/server/auth/provider.js";
import { mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import type { OAuthClientInformationFull, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import express from "express";
import { listen } from "../../mcp/upstream-http-servers.ts";
import type { TokenVerifier } from "./protected-server.ts";

interface Grant {
  clientId: string;
  scopes: string[];
  resource: string | undefined;
  isRevoked: boolean;
}

export interface RouterServer extends TokenVerifier {
  issuer: string;
  clients: Map<string, OAuthClientInformationFull>;
  /** How many requests for tokens came, by grant type. */
  grants: { code: number; refresh: number; revoked: string[] };
  /** Makes every access token invalid, as if it had expired. */
  expireAll(): void;
  /** Ends every grant, refresh tokens included. */
  revokeAll(): void;
  /** The seconds that new tokens say that they are valid. */
  ttl: number;
}

/**
 * An authorization server of another kind on the loopback: RFC 8414 metadata, dynamic registration, and refresh tokens that rotate.
 * A refresh token that is used twice ends its whole grant (OAuth 2.1, section 4.3.1).
 */
export async function serveRouter(): Promise<RouterServer> {
  const app = express();
  const issuerUrl = new URL(await listen(app));
  const clients = new Map<string, OAuthClientInformationFull>();
  const codes = new Map<string, { params: AuthorizationParams; clientId: string }>();
  const access = new Map<string, Grant>();
  const refresh = new Map<string, { grant: Grant; isUsed: boolean }>();
  const counts: RouterServer["grants"] = { code: 0, refresh: 0, revoked: [] };
  const issue = (grant: Grant): OAuthTokens => {
    const tokens = { access_token: `access-${randomUUID()}`, refresh_token: `refresh-${randomUUID()}` };
    access.set(tokens.access_token, grant);
    refresh.set(tokens.refresh_token, { grant, isUsed: false });
    return { ...tokens, token_type: "bearer", expires_in: server.ttl, scope: grant.scopes.join(" ") };
  };
  const provider: OAuthServerProvider = {
    clientsStore: {
      getClient: (id) => clients.get(id),
      registerClient(client) {
        const full = client as OAuthClientInformationFull;
        clients.set(full.client_id, full);
        return full;
      },
    },
    async authorize(client, params, response) {
      const code = randomUUID();
      codes.set(code, { params, clientId: client.client_id });
      const target = new URL(params.redirectUri);
      target.searchParams.set("code", code);
      if (params.state !== undefined) target.searchParams.set("state", params.state);
      response.redirect(target.href);
    },
    challengeForAuthorizationCode: async (_client, code) => codes.get(code)?.params.codeChallenge ?? "",
    async exchangeAuthorizationCode(client, code, _verifier, _redirect, resource) {
      counts.code++;
      const found = codes.get(code);
      codes.delete(code);
      if (found?.clientId !== client.client_id) throw new InvalidGrantError("no such code");
      const { scopes = [] } = found.params;
      return issue({ clientId: client.client_id, scopes, resource: resource?.href, isRevoked: false });
    },
    async exchangeRefreshToken(client, token) {
      counts.refresh++;
      const found = refresh.get(token);
      if (found === undefined || found.grant.clientId !== client.client_id || found.grant.isRevoked)
        throw new InvalidGrantError("no such grant");
      if (found.isUsed) {
        found.grant.isRevoked = true;
        throw new InvalidGrantError("a refresh token was used twice");
      }
      found.isUsed = true;
      return issue(found.grant);
    },
    async verifyAccessToken(token) {
      const grant = access.get(token);
      if (grant === undefined || grant.isRevoked) throw new InvalidTokenError("unknown");
      return { token, clientId: grant.clientId, scopes: grant.scopes };
    },
    async revokeToken(_client, { token }) {
      counts.revoked.push(token);
      const grant = refresh.get(token)?.grant ?? access.get(token);
      if (grant !== undefined) grant.isRevoked = true;
    },
  };
  const unlimited = { rateLimit: false } as const;
  app.use(
    mcpAuthRouter({
      provider,
      issuerUrl,
      scopesSupported: ["read", "write"],
      authorizationOptions: unlimited,
      clientRegistrationOptions: unlimited,
      revocationOptions: unlimited,
      tokenOptions: unlimited,
    }),
  );
  const server: RouterServer = {
    issuer: issuerUrl.href,
    clients,
    grants: counts,
    ttl: 3_600,
    expireAll: () => access.clear(),
    revokeAll() {
      for (const { grant } of refresh.values()) grant.isRevoked = true;
    },
    async verify(token) {
      const grant = access.get(token);
      return grant === undefined || grant.isRevoked
        ? undefined
        : { scopes: grant.scopes, audience: grant.resource };
    },
  };
  return server;
}
