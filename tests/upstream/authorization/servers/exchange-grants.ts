import { randomUUID } from "node:crypto";
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from "jose";
import type { ClientMetadata, JWK } from "oidc-provider";
import { type OidcServer, serveOidc } from "./oidc-server.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";

export interface ExchangingServer extends OidcServer {
  /** A token with which somebody calls ptc. */
  callerToken(accountId: string, scope?: string): Promise<string>;
  /** What a token says of whom it stands for, and who acts. */
  claimsOf(
    token: string,
  ): Promise<{ sub: string | undefined; act: unknown; scope: string | undefined } | undefined>;
  /** People to whom no token is given by exchange. */
  refused: Set<string>;
  jwks: { keys: JWK[] };
}

const PTC: ClientMetadata = {
  client_id: "ptc",
  client_secret: "a secret: with + and %",
  grant_types: ["client_credentials", EXCHANGE],
  response_types: [],
  redirect_uris: [],
};
export const CLIENT = { id: "ptc", secret: PTC.client_secret as string };

/** A real OpenID provider that also exchanges tokens (RFC 8693), and gives out assertions of who somebody is (ID-JAG). */
export async function serveExchanging({
  expiresIn = 600,
  grants = [] as string[],
} = {}): Promise<ExchangingServer> {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(privateKey)), alg: "RS256", use: "sig", kid: "k" } as JWK;
  const agent: ClientMetadata = {
    client_id: "agent",
    token_endpoint_auth_method: "none",
    grant_types: [],
    response_types: [],
    redirect_uris: [],
  };
  const oidc = await serveOidc({
    clients: [{ ...PTC, grant_types: [...(PTC.grant_types ?? []), ...grants] }, agent],
    configuration: { jwks: { keys: [key] } },
  });
  const { provider, issuer } = oidc;
  const refused = new Set<string>();
  /** Who acts with a token. It is no part of what the provider keeps of an opaque one. */
  const acts = new Map<string, { sub: string | undefined }>();
  const parameters = [
    "subject_token",
    "subject_token_type",
    "requested_token_type",
    "audience",
    "resource",
    "scope",
    "actor_token",
    "actor_token_type",
  ];
  provider.registerGrantType(
    EXCHANGE,
    async (context) => {
      const { client } = context.oidc;
      const params = (context.oidc.params ?? {}) as Record<string, string | undefined>;
      const subject = await provider.AccessToken.find(String(params.subject_token));
      if (client === undefined || subject?.isValid !== true || refused.has(subject.accountId)) {
        context.status = 400;
        context.body = { error: "invalid_grant", error_description: "the subject token is not taken" };
        return;
      }
      const { accountId } = subject;
      if (params.requested_token_type === ID_JAG) {
        const assertion = await new SignJWT({
          ...{ client_id: client.clientId, resource: params.resource, scope: params.scope },
        })
          .setProtectedHeader({ alg: "RS256", kid: "k", typ: "oauth-id-jag+jwt" })
          .setIssuer(issuer)
          .setSubject(accountId)
          .setAudience(String(params.audience))
          .setJti(randomUUID())
          .setIssuedAt()
          .setExpirationTime("5 minutes")
          .sign(privateKey);
        context.body = {
          access_token: assertion,
          issued_token_type: ID_JAG,
          token_type: "N_A",
          expires_in: 300,
        };
        return;
      }
      const actor = params.actor_token && (await provider.ClientCredentials.find(String(params.actor_token)));
      const token = new provider.AccessToken({
        ...{ accountId, client, scope: String(params.scope ?? "read"), gty: EXCHANGE, grantId: randomUUID() },
        ...{ aud: String(params.resource), expiresIn, expiresWithSession: false },
      });
      const value = await token.save();
      if (actor) acts.set(value, { sub: actor.clientId });
      context.body = {
        access_token: value,
        issued_token_type: ACCESS_TOKEN,
        token_type: "Bearer",
        expires_in: expiresIn,
        scope: token.scope,
      };
    },
    parameters,
  );
  return Object.assign(oidc, {
    refused,
    jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: "RS256", kid: "k" } as JWK] },
    async callerToken(accountId: string, scope = "ptc:run") {
      const client = await provider.Client.find("agent");
      if (client === undefined) throw new Error("no client");
      const token = new provider.AccessToken({
        ...{ accountId, client, scope, gty: "authorization_code", grantId: randomUUID() },
        ...{ aud: "https://ptc.example.com/mcp", expiresWithSession: false },
      });
      return token.save();
    },
    async claimsOf(value: string) {
      const token = await provider.AccessToken.find(value);
      return token && { sub: token.accountId, act: acts.get(value), scope: token.scope };
    },
  });
}

/** The authorization server of another organisation, which gives tokens to whom an identity provider asserts. */
export async function serveAsserted(idp: ExchangingServer): Promise<ExchangingServer> {
  const own = await serveExchanging({ grants: [JWT_BEARER] });
  const { provider, issuer } = own;
  const used = new Set<string>();
  provider.registerGrantType(
    JWT_BEARER,
    async (context) => {
      const { client } = context.oidc;
      const params = (context.oidc.params ?? {}) as Record<string, string | undefined>;
      const keys = createLocalJWKSet(idp.jwks as Parameters<typeof createLocalJWKSet>[0]);
      try {
        const { payload, protectedHeader } = await jwtVerify(String(params.assertion), keys, {
          ...{ issuer: idp.issuer, audience: issuer, typ: "oauth-id-jag+jwt" },
          requiredClaims: ["jti", "exp", "sub", "client_id", "resource"],
        });
        if (client === undefined || protectedHeader.alg !== "RS256" || used.has(String(payload.jti)))
          throw new Error("used twice");
        used.add(String(payload.jti));
        const token = new provider.AccessToken({
          ...{
            accountId: `theirs ${payload.sub}`,
            client,
            scope: String(params.scope ?? "read"),
            gty: JWT_BEARER,
          },
          ...{ grantId: randomUUID(), aud: String(payload.resource), expiresWithSession: false },
        });
        context.body = { access_token: await token.save(), token_type: "Bearer", expires_in: 600 };
      } catch (error) {
        context.status = 400;
        context.body = { error: "invalid_grant", error_description: String(error) };
      }
    },
    ["assertion", "scope"],
  );
  return own;
}
