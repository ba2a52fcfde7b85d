import { randomBytes, timingSafeEqual } from "node:crypto";
import {
  exchangeAuthorization,
  startAuthorization,
  validateAuthorizationResponseIssuer,
} from "@modelcontextprotocol/client";
import type { Clock } from "../../../../base/clock.ts";
import { oneLine } from "../../../../base/text/one-line.ts";
import { AddressGuard } from "../../../authorization/address-guard.ts";
import type { OAuthSettings } from "../../../authorization/auth-settings.ts";
import { AuthorizationError } from "../../../authorization/authorization.ts";
import { buildGuardedFetch } from "../../../authorization/guarded-fetch.ts";
import {
  type Client,
  includesScopes,
  type Login,
  type LoginKey,
  uniteScopes,
} from "../../../authorization/logins/login-record.ts";
import { chooseClient } from "./choose-client.ts";
import { authenticateClient } from "./client-authentication.ts";
import { type Discovered, discover, requireSecure } from "./discovery.ts";
import { explainFault } from "./oauth-fault.ts";
import { grantedBy } from "./tokens.ts";

const PKCE_METHOD = "S256";

export interface PersonLoginOptions {
  key: LoginKey;
  settings: OAuthSettings;
  /** What the server said when it was asked without a token. */
  challenge: { resourceMetadataUrl: string | undefined; scope: string | undefined } | undefined;
  /** Where the browser is sent back to. */
  redirectUri: string;
  /** The login of before, if there was one. */
  previous: Login | undefined;
  clock: Pick<Clock, "wallMs">;
  signal?: AbortSignal | undefined;
}

/** A login that waits for a person. */
export interface BegunLogin {
  readonly issuer: string;
  /** The address that the person is to open. */
  readonly url: URL;
  /** Whether a redirect belongs to this login. Any other is nothing to it. */
  isAnsweredBy(answer: URLSearchParams): boolean;
  /** Turns the redirect into the login. @throws AuthorizationError */
  complete(answer: URLSearchParams): Promise<Login>;
}

/**
 * Begins the login of a person at the authorization server that a server trusts. `undefined` when the server offers none.
 *
 * @throws AuthorizationError when no login is possible there, or none that can be trusted.
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
  const exchange = {
    found,
    client,
    redirectUri,
    codeVerifier: begun.codeVerifier,
    scope,
    key,
    clock,
    guard,
    fetch,
  };
  return {
    issuer,
    url: begun.authorizationUrl,
    isAnsweredBy: (answer) => isSame(answer.get("state") ?? "", state),
    complete: (answer) => completeLogin(answer, exchange),
  };
}

/** The registration of before. A client may be bound to the scopes of its registration, so that more need another one. */
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
 * The scopes to ask for: those of the configuration, else those of the challenge, else all that the server has; and with them
 * those that it has wanted since (MCP 2026-07-28, "Scope Selection Strategy").
 */
function chooseScope(
  { resourceMetadata, metadata }: Discovered,
  { settings, challenge, previous }: PersonLoginOptions,
): string | undefined {
  const wanted = previous?.wantedScope;
  if (settings.scope !== undefined) return uniteScopes(settings.scope, wanted);
  const scope = uniteScopes(challenge?.scope ?? resourceMetadata?.scopes_supported?.join(" "), wanted);
  // With it, some servers give a refresh token that others give without.
  const isOffline = scope !== undefined && metadata.scopes_supported?.includes("offline_access") === true;
  return isOffline ? uniteScopes(scope, "offline_access") : scope;
}

interface Exchange {
  found: Discovered;
  client: Client;
  redirectUri: string;
  codeVerifier: string;
  scope: string | undefined;
  key: LoginKey;
  clock: Pick<Clock, "wallMs">;
  guard: AddressGuard;
  fetch: ReturnType<typeof buildGuardedFetch>;
}

async function completeLogin(answer: URLSearchParams, exchange: Exchange): Promise<Login> {
  const { found, client, redirectUri, codeVerifier, scope, key, clock, guard, fetch } = exchange;
  const { metadata, issuer, resource } = found;
  const iss = answer.get("iss") ?? undefined;
  try {
    // Before anything else of the answer is believed, its errors included (RFC 9207, section 2.4).
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: issuer,
      issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
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
    const tokens = await exchangeAuthorization(issuer, {
      metadata,
      clientInformation: { client_id: client.id },
      authorizationCode: code,
      ...(iss === undefined ? {} : { iss }),
      codeVerifier,
      redirectUri,
      resource,
      addClientAuthentication: (headers, parameters) =>
        authenticateClient(client, metadata.token_endpoint_auth_methods_supported, headers, parameters),
      fetchFn: fetch,
    });
    return {
      version: 1,
      principal: key.principal,
      url: key.url,
      issuer,
      resource,
      tokenEndpoint: metadata.token_endpoint,
      revocationEndpoint: revocationEndpointOf(metadata),
      authMethods: metadata.token_endpoint_auth_methods_supported,
      zone: guard.zone,
      client,
      askedScope: scope,
      ...grantedBy(tokens, scope, clock),
    };
  } catch (error) {
    throw explainFault(error, "was not logged in to");
  }
}

/** Metadata of OpenID Connect Discovery may name it too, though that specification does not. */
function revocationEndpointOf(metadata: Discovered["metadata"]): string | undefined {
  const endpoint = "revocation_endpoint" in metadata ? metadata.revocation_endpoint : undefined;
  return typeof endpoint === "string" ? endpoint : undefined;
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
