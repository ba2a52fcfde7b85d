/**
 * Gets tokens for a server on behalf of the caller. The caller's own token is sent only to the configured authorization server: to
 * the server's, in exchange for a token of the same person (RFC 8693), or, across organisations, to the caller's, in exchange for an
 * assertion of the caller's identity (Identity Assertion JWT Authorization Grant, "ID-JAG"; MCP extension "Enterprise-Managed
 * Authorization"), for which the server's own authorization server issues a token (RFC 7523).
 */
import * as oauth from "oauth4webapi";
import type { Clock } from "../../../base/clock.ts";
import { messageOf } from "../../../base/faults.ts";
import { oneLine } from "../../../base/visible-text.ts";
import type { CallerSettings, ExchangeClient, TokenExchange } from "../auth-settings.ts";
import { AuthorizationError } from "../authorization.ts";
import { AddressGuard, buildGuardedFetch } from "../guarded-fetch.ts";
import { isSameIssuer, uniteScopes } from "../login-store.ts";
import { discover, grantedBy, requireSecure } from "./authorization-server.ts";
import type { MachineToken } from "./machine-token.ts";

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token";

export interface CallerTokenOptions {
  serverUrl: string;
  /** The caller's token. */
  subject: string;
  /** The scopes that the server demanded in its challenge, in addition to the configured ones. */
  scope: string | undefined;
  resourceMetadataUrl: string | undefined;
  clock: Pick<Clock, "wallMs">;
  signal?: AbortSignal | undefined;
}

/** Exchanges the caller's token for one for a server. @throws AuthorizationError */
export async function exchangeToken(
  exchange: TokenExchange,
  scopeOfSettings: string | undefined,
  { serverUrl, subject, scope: wanted, clock, signal }: CallerTokenOptions,
): Promise<MachineToken> {
  const server = await AuthorizationServer.of(exchange, signal);
  const scope = uniteScopes(scopeOfSettings, wanted);
  const parameters = new URLSearchParams({
    subject_token: subject,
    subject_token_type: ACCESS_TOKEN,
    requested_token_type: ACCESS_TOKEN,
  });
  if (exchange.resource) parameters.set("resource", resourceOf(serverUrl));
  if (exchange.audience !== undefined) parameters.set("audience", exchange.audience);
  if (scope !== undefined) parameters.set("scope", scope);
  if (exchange.actor) {
    const { access_token: actor } = await server.ask(
      "client_credentials",
      new URLSearchParams(),
      "gave ptc no token of its own to act with (`actor: false` goes without)",
    );
    parameters.set("actor_token", actor);
    parameters.set("actor_token_type", ACCESS_TOKEN);
  }
  const tokens = await server.ask(EXCHANGE, parameters, "did not exchange the caller's token");
  return tokenIn(tokens, scope, clock);
}

/** ptc's client at the server's own authorization server. */
type OwnClient = Pick<CallerSettings, "issuer" | "clientId" | "clientSecret" | "authMethod" | "scope">;

/** Gets a token from a server's authorization server with an assertion of the caller's identity. @throws AuthorizationError */
export async function assertIdentity(
  { issuer, clientId, clientSecret, authMethod, scope: scopeOfSettings }: OwnClient,
  assertion: ExchangeClient,
  { serverUrl, subject, scope: wanted, resourceMetadataUrl, clock, signal }: CallerTokenOptions,
): Promise<MachineToken> {
  const fetch = buildGuardedFetch({ guard: new AddressGuard(serverUrl), signal });
  const found = await discover({ serverUrl, resourceMetadataUrl, issuer, fetch });
  if (found === undefined)
    throw new AuthorizationError("has no authorization server for its `identity_assertion`; check its url");
  const scope = uniteScopes(scopeOfSettings, wanted);
  const parameters = new URLSearchParams({
    requested_token_type: ID_JAG,
    audience: found.issuer,
    resource: found.resource,
    subject_token: subject,
    subject_token_type: isIdToken(subject, assertion.clientId) ? ID_TOKEN : ACCESS_TOKEN,
  });
  if (scope !== undefined) parameters.set("scope", scope);
  const own = await AuthorizationServer.of(assertion, signal);
  const granted = await own.ask(EXCHANGE, parameters, "did not assert who the caller is");
  if (granted.issued_token_type !== ID_JAG)
    throw new AuthorizationError(
      `has an identity provider that gave something else than an assertion (${oneLine(String(granted.issued_token_type), 100)})`,
    );
  const theirs = new AuthorizationServer(
    { ...found.metadata, issuer: found.issuer } as oauth.AuthorizationServer,
    { issuer: found.issuer, clientId: clientId ?? "", clientSecret, authMethod },
    fetch,
  );
  const grant = new URLSearchParams({ assertion: granted.access_token });
  if (scope !== undefined) grant.set("scope", scope);
  const tokens = await theirs.ask(JWT_BEARER, grant, "took no assertion of who the caller is");
  return tokenIn(tokens, scope, clock);
}

/** Requests of ptc's client to an authorization server. */
class AuthorizationServer {
  readonly #metadata: oauth.AuthorizationServer;
  readonly #client: ExchangeClient;
  readonly #fetch: ReturnType<typeof buildGuardedFetch>;

  constructor(
    metadata: oauth.AuthorizationServer,
    client: ExchangeClient,
    fetch: ReturnType<typeof buildGuardedFetch>,
  ) {
    this.#metadata = metadata;
    this.#client = client;
    this.#fetch = fetch;
  }

  /** Looks its metadata up (RFC 8414, or OpenID Connect Discovery). @throws AuthorizationError */
  static async of(client: ExchangeClient, signal: AbortSignal | undefined): Promise<AuthorizationServer> {
    requireSecure(client.issuer, "authorization server");
    const fetch = buildGuardedFetch({ guard: new AddressGuard(client.issuer), signal });
    const issuer = new URL(client.issuer);
    const options = { [oauth.customFetch]: fetchWith(fetch), [oauth.allowInsecureRequests]: true };
    let problem: unknown;
    for (const algorithm of ["oidc", "oauth2"] as const) {
      try {
        const response = await oauth.discoveryRequest(issuer, { ...options, algorithm });
        const metadata = await oauth.processDiscoveryResponse(issuer, response);
        requireSecure(metadata.token_endpoint ?? "", "token endpoint");
        return new AuthorizationServer(metadata, client, fetch);
      } catch (error) {
        problem ??= error;
        if (error instanceof TypeError || error instanceof AuthorizationError) break;
      }
    }
    throw faultOf(
      problem,
      `needs the authorization server ${oneLine(client.issuer, 200)}, whose metadata cannot be used`,
    );
  }

  /** Requests a token. @param what the beginning of a failure's message, phrased to follow the name of the server. */
  async ask(
    grantType: string,
    parameters: URLSearchParams,
    what: string,
  ): Promise<oauth.TokenEndpointResponse> {
    const { clientId: client_id, issuer } = this.#client;
    const client = { client_id };
    try {
      const response = await oauth.genericTokenEndpointRequest(
        this.#metadata,
        client,
        this.#authentication,
        grantType,
        parameters,
        { [oauth.customFetch]: fetchWith(this.#fetch), [oauth.allowInsecureRequests]: true },
      );
      return await oauth.processGenericTokenEndpointResponse(this.#metadata, client, response, {
        // The token type of an assertion is "N_A" (ID-JAG, section 4.3.3).
        recognizedTokenTypes: { n_a() {} },
      });
    } catch (error) {
      const server = isSameIssuer(issuer, this.#metadata.issuer) ? issuer : this.#metadata.issuer;
      throw faultOf(error, `is used on behalf of the caller, and ${oneLine(server, 200)} ${what}`);
    }
  }

  get #authentication(): oauth.ClientAuth {
    const { clientSecret, authMethod } = this.#client;
    if (clientSecret === undefined) return oauth.None();
    const supported = this.#metadata.token_endpoint_auth_methods_supported;
    const isPost =
      authMethod === "client_secret_post" ||
      (authMethod === undefined &&
        supported?.includes("client_secret_basic") === false &&
        supported.includes("client_secret_post"));
    return isPost ? oauth.ClientSecretPost(clientSecret) : oauth.ClientSecretBasic(clientSecret);
  }
}

/** A `fetch` for the library, which passes bodies as parameters. */
function fetchWith(fetch: ReturnType<typeof buildGuardedFetch>) {
  return async (url: string, init: oauth.CustomFetchOptions<string, unknown>) =>
    fetch(url, {
      method: init.method,
      headers: init.headers,
      ...(init.body === undefined || init.body === null ? {} : { body: String(init.body) }),
      ...(init.signal ? { signal: init.signal } : {}),
    });
}

function resourceOf(serverUrl: string): string {
  const url = new URL(serverUrl);
  url.hash = "";
  return url.href;
}

/** Whether a token is for ptc's own client at the identity provider, like ID tokens, and unlike access tokens for ptc. */
function isIdToken(token: string, clientId: string): boolean {
  try {
    const payload: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    const { aud } = payload as { aud?: unknown };
    return (Array.isArray(aud) ? (aud as unknown[]) : [aud]).includes(clientId);
  } catch {
    return false;
  }
}

function tokenIn(
  tokens: oauth.TokenEndpointResponse,
  scope: string | undefined,
  clock: Pick<Clock, "wallMs">,
): MachineToken {
  const { access_token, token_type, expires_in, scope: granted } = tokens;
  const known = {
    access_token,
    token_type,
    ...(expires_in === undefined ? {} : { expires_in }),
    scope: granted,
  };
  const { accessToken: token = "", expiresAt } = grantedBy(known, scope, clock);
  return { token, expiresAt };
}

const MAX_SHOWN_CHARS = 300;

function faultOf(error: unknown, what: string): AuthorizationError {
  if (error instanceof AuthorizationError) return error;
  return new AuthorizationError(`${what}: ${oneLine(reasonOf(error), MAX_SHOWN_CHARS)}`, { cause: error });
}

function reasonOf(error: unknown): string {
  if (error instanceof oauth.ResponseBodyError)
    return error.error_description === undefined ? error.error : `${error.error}: ${error.error_description}`;
  return messageOf(error);
}
