import { randomBytes, timingSafeEqual } from "node:crypto";
import {
  exchangeAuthorization,
  type FetchLike,
  RegistrationRejectedError,
  registerClient,
  startAuthorization,
  validateAuthorizationResponseIssuer,
} from "@modelcontextprotocol/client";
import * as z from "zod/mini";
import type { Clock } from "../../../base/clock.ts";
import { oneLine } from "../../../base/visible-text.ts";
import type { OAuthSettings } from "../auth-settings.ts";
import { AuthorizationError } from "../authorization.ts";
import { AddressGuard, buildGuardedFetch } from "../guarded-fetch.ts";
import { Client, includesScopes, type Login, type LoginKey, uniteScopes } from "../login-store.ts";
import {
  authenticateClient,
  type Discovered,
  discover,
  explainFault,
  grantedBy,
  requireSecure,
} from "./authorization-server.ts";

const PKCE_METHOD = "S256";

export interface PersonLoginOptions {
  key: LoginKey;
  settings: OAuthSettings;
  /** The server's challenge to a request without a token. */
  challenge: { resourceMetadataUrl: string | undefined; scope: string | undefined } | undefined;
  /** The URL to which the browser is redirected. */
  redirectUri: string;
  /** The previous login, if there was one. */
  previous: Login | undefined;
  clock: Pick<Clock, "wallMs">;
  signal?: AbortSignal | undefined;
}

/** The data to complete a login that waits for a person, here or in another process. It contains secrets. */
export const KeptLogin = z.object({
  principal: z.string(),
  url: z.string(),
  issuer: z.string(),
  resource: z.string(),
  tokenEndpoint: z.string(),
  revocationEndpoint: z.optional(z.string()),
  authMethods: z.optional(z.array(z.string())),
  /** Whether the authorization server identifies itself in its responses (RFC 9207). */
  namesItself: z.boolean(),
  zone: z.optional(z.enum(["public", "private", "loopback", "forbidden"])),
  client: Client,
  redirectUri: z.string(),
  codeVerifier: z.string(),
  state: z.string(),
  askedScope: z.optional(z.string()),
});
export type KeptLogin = z.infer<typeof KeptLogin>;

/** A login that waits for a person. */
export interface BegunLogin {
  readonly issuer: string;
  /** Input for `completePersonLogin`, to complete it elsewhere. */
  readonly kept: KeptLogin;
  /** The URL that the person should open. */
  readonly url: URL;
  /** Whether a redirect belongs to this login. All others should be ignored. */
  isAnsweredBy(answer: URLSearchParams): boolean;
  /** Completes the login with the redirect. @throws AuthorizationError */
  complete(answer: URLSearchParams): Promise<Login>;
}

/**
 * Begins a person's login at the authorization server that a server trusts. `undefined` if the server offers none.
 *
 * @throws AuthorizationError if no login is possible there, or none that can be trusted.
 */
export async function beginPersonLogin(options: PersonLoginOptions): Promise<BegunLogin | undefined> {
  const { key, settings, challenge, redirectUri, previous, clock, signal } = options;
  const guard = new AddressGuard(key.url);
  const fetch = buildGuardedFetch({ guard, signal });
  const found = await discover({
    serverUrl: key.url,
    resourceMetadataUrl: challenge?.resourceMetadataUrl,
    issuer: settings.issuer,
    fetch,
  });
  if (found === undefined) return undefined;
  const { metadata, issuer, resource } = found;
  if (metadata.code_challenge_methods_supported?.includes(PKCE_METHOD) !== true) {
    throw new AuthorizationError(
      `names the authorization server ${issuer}, which does not say that it supports PKCE with ${PKCE_METHOD}: a login there is not safe`,
    );
  }
  requireSecure(metadata.authorization_endpoint, "authorization endpoint");
  const scope = chooseScope(found, options);
  const choice = {
    settings,
    redirectUri,
    scope,
    registered: reusable(previous, issuer, scope),
    wallMs: clock.wallMs(),
    fetch,
  };
  const client = await chooseClient(found, choice);
  const state = randomBytes(32).toString("base64url");
  let begun: Awaited<ReturnType<typeof startAuthorization>>;
  try {
    begun = await startAuthorization(issuer, {
      metadata,
      clientInformation: { client_id: client.id },
      redirectUrl: redirectUri,
      state,
      resource,
      ...(scope === undefined ? {} : { scope }),
    });
  } catch (error) {
    throw explainFault(error, "cannot be logged in to");
  }
  const kept: KeptLogin = {
    principal: key.principal,
    url: key.url,
    issuer,
    resource,
    tokenEndpoint: metadata.token_endpoint,
    revocationEndpoint: revocationEndpointOf(metadata),
    authMethods: metadata.token_endpoint_auth_methods_supported,
    namesItself: metadata.authorization_response_iss_parameter_supported === true,
    zone: guard.zone,
    client,
    redirectUri,
    codeVerifier: begun.codeVerifier,
    state,
    askedScope: scope,
  };
  return {
    issuer,
    kept,
    url: begun.authorizationUrl,
    isAnsweredBy: (answer) => isAnswerTo(kept, answer),
    complete: (answer) => completePersonLogin(kept, answer, { clock, signal }),
  };
}

/** Whether a redirect belongs to a login. All others should be ignored. */
export function isAnswerTo({ state }: KeptLogin, answer: URLSearchParams): boolean {
  return isSame(answer.get("state") ?? "", state);
}

/** The earlier registration, if it can be used again. A client may be bound to its registered scopes, so more scopes need a new one. */
function reusable(
  previous: Login | undefined,
  issuer: string,
  scope: string | undefined,
): Client | undefined {
  const isOf =
    previous?.issuer === issuer &&
    previous.client.kind === "registered" &&
    previous.accessToken !== undefined;
  return isOf && includesScopes(previous.askedScope, scope) ? previous.client : undefined;
}

/**
 * The scopes to request: those of the configuration, else those of the challenge, else all that the server supports; in addition,
 * those that it has demanded since (MCP 2026-07-28, "Scope Selection Strategy").
 */
function chooseScope(
  { resourceMetadata, metadata }: Discovered,
  { settings, challenge, previous }: PersonLoginOptions,
): string | undefined {
  const wanted = previous?.wantedScope;
  if (settings.scope !== undefined) return uniteScopes(settings.scope, wanted);
  const scope = uniteScopes(challenge?.scope ?? resourceMetadata?.scopes_supported?.join(" "), wanted);
  // Some servers issue a refresh token only with this scope.
  const isOffline = scope !== undefined && metadata.scopes_supported?.includes("offline_access") === true;
  return isOffline ? uniteScopes(scope, "offline_access") : scope;
}

/** Completes a login with the redirect that belongs to it. @throws AuthorizationError */
export async function completePersonLogin(
  kept: KeptLogin,
  answer: URLSearchParams,
  { clock, signal }: { clock: Pick<Clock, "wallMs">; signal?: AbortSignal | undefined },
): Promise<Login> {
  const { issuer, client, resource, tokenEndpoint, authMethods } = kept;
  const iss = answer.get("iss") ?? undefined;
  try {
    // Checked before trusting anything else in the answer, even its errors (RFC 9207, section 2.4).
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: issuer,
      issParameterSupported: kept.namesItself,
    });
  } catch (error) {
    throw explainFault(error, "was not logged in to");
  }
  const code = answer.get("code");
  if (code === null || code === "") {
    const what = answer.get("error") ?? "it holds no code";
    const why = answer.get("error_description");
    throw new AuthorizationError(
      `was not logged in to: the authorization server answered ${oneLine(why === null ? what : `${what}: ${why}`, 300)}`,
    );
  }
  try {
    const guard = new AddressGuard(kept.url, kept.zone);
    const tokens = await exchangeAuthorization(issuer, {
      metadata: {
        issuer,
        authorization_endpoint: tokenEndpoint,
        token_endpoint: tokenEndpoint,
        response_types_supported: ["code"],
        authorization_response_iss_parameter_supported: kept.namesItself,
      },
      clientInformation: { client_id: client.id },
      authorizationCode: code,
      ...(iss === undefined ? {} : { iss }),
      codeVerifier: kept.codeVerifier,
      redirectUri: kept.redirectUri,
      resource,
      addClientAuthentication: (headers, parameters) =>
        authenticateClient(client, authMethods, headers, parameters),
      fetchFn: buildGuardedFetch({ guard, signal }),
    });
    const { principal, url, revocationEndpoint, askedScope } = kept;
    return {
      version: 1,
      principal,
      url,
      issuer,
      resource,
      tokenEndpoint,
      revocationEndpoint,
      authMethods,
      zone: guard.zone,
      client,
      askedScope,
      ...grantedBy(tokens, askedScope, clock),
    };
  } catch (error) {
    throw explainFault(error, "was not logged in to");
  }
}

/** OpenID Connect Discovery metadata may name it too, although that specification does not define it. */
function revocationEndpointOf(metadata: Discovered["metadata"]): string | undefined {
  const endpoint = "revocation_endpoint" in metadata ? metadata.revocation_endpoint : undefined;
  return typeof endpoint === "string" ? endpoint : undefined;
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

interface ClientChoice {
  settings: OAuthSettings;
  redirectUri: string;
  scope: string | undefined;
  /** An earlier registration with the same authorization server that is still valid there. */
  registered: Client | undefined;
  wallMs: number;
  fetch: FetchLike;
}

/**
 * The client with which ptc logs in: the configured one, else the one with the configured metadata document, else one that is
 * registered for this login (MCP 2026-07-28, Authorization: "Client Registration Approaches").
 *
 * @throws AuthorizationError if the authorization server accepts none of them.
 */
export async function chooseClient(found: Discovered, choice: ClientChoice): Promise<Client> {
  const { issuer, metadata } = found;
  const { settings, redirectUri, registered } = choice;
  const { clientId, clientSecret, authMethod, clientMetadataUrl } = settings;
  if (clientId !== undefined)
    return { kind: "configured", id: clientId, secret: clientSecret, authMethod, redirectUri };
  if (clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true)
    return { kind: "document", id: clientMetadataUrl, authMethod: "none", redirectUri };
  if (
    registered?.redirectUri === redirectUri &&
    (registered.expiresAt ?? Number.POSITIVE_INFINITY) > choice.wallMs
  )
    return registered;
  if (metadata.registration_endpoint === undefined) {
    throw new AuthorizationError(
      `needs a client that is registered with ${issuer}, which registers none by itself: register one there with the redirect ` +
        `${redirectUri.replace(/:\d+\//, ":PORT/")}, and write its \`client_id\` under \`auth\` in ptc.yaml`,
    );
  }
  try {
    return await register(found, choice, choice.scope).catch((error: unknown) => {
      if (!(error instanceof RegistrationRejectedError) || choice.scope === undefined) throw error;
      // Some servers refuse to register a client with a scope that they would merely not grant.
      return register(found, choice, undefined);
    });
  } catch (error) {
    throw explainFault(error, "has an authorization server that did not register ptc as a client");
  }
}

async function register(
  { issuer, metadata }: Discovered,
  { redirectUri, fetch }: ClientChoice,
  scope: string | undefined,
): Promise<Client> {
  const methods = metadata.token_endpoint_auth_methods_supported;
  const method = ["none", "client_secret_basic", "client_secret_post"].find((each) =>
    methods?.includes(each),
  );
  const full = await registerClient(issuer, {
    metadata,
    clientMetadata: {
      client_name: "ptc",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      application_type: "native",
      // Without the list, a server supports `client_secret_basic` (RFC 8414, section 2); most also accept a public client.
      token_endpoint_auth_method: method ?? "none",
    },
    ...(scope === undefined ? {} : { scope }),
    fetchFn: fetch,
  });
  return {
    kind: "registered",
    id: full.client_id,
    secret: full.client_secret,
    authMethod: full.token_endpoint_auth_method,
    redirectUri,
    ...(full.client_secret_expires_at ? { expiresAt: full.client_secret_expires_at * 1_000 } : {}),
  };
}
