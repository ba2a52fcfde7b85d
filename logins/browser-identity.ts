/**
 * Identifies the person at a browser, who logs in at an issuer of `http.auth` through ptc's client there (OpenID Connect, authorization
 * code with PKCE). The result is a principal, which binds a login at a server to the person that it is for.
 */
import * as oauth from "oauth4webapi";
import { messageOf } from "../base/faults.ts";
import { RecentlyUsed } from "../base/recently-used.ts";
import { oneLine } from "../base/visible-text.ts";
import { outgoingFetch } from "../system/outgoing.ts";

/** ptc's own client at an issuer. */
export interface BrowserIssuer {
  /** The issuer, exactly as its tokens name it in `iss`. */
  readonly issuer: string;
  readonly clientId: string;
  /** `undefined` for a public client. */
  readonly clientSecret: string | undefined;
  /** The scopes that it requests besides `openid`. */
  readonly scopes: readonly string[];
  /** The claim whose value never changes for a person. */
  readonly subject: string;
}

/** The values that the same browser must return with the answer. They are secret. */
export interface AskedBrowser {
  readonly issuer: string;
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** ptc cannot establish who the person is. The message is one line for that person. */
export class IdentityError extends Error {
  override readonly name = "IdentityError";
}

const PATIENCE_MS = 15_000;

/** The address to which ptc redirects the browser. @throws IdentityError */
export async function askBrowser(
  issuer: BrowserIssuer,
  redirectUri: string,
): Promise<{ url: URL; asked: AskedBrowser }> {
  const server = await metadataOf(issuer);
  if (server.authorization_endpoint === undefined)
    throw new IdentityError(`${issuer.issuer} has no place where people log in`);
  const asked: AskedBrowser = {
    issuer: issuer.issuer,
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    codeVerifier: oauth.generateRandomCodeVerifier(),
  };
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    client_id: issuer.clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: ["openid", ...issuer.scopes].join(" "),
    state: asked.state,
    nonce: asked.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(asked.codeVerifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return { url, asked };
}

/** The subject for whom the issuer answers. @throws IdentityError */
export async function identifyBrowser(
  issuer: BrowserIssuer,
  asked: AskedBrowser,
  answer: URLSearchParams,
  redirectUri: string,
): Promise<unknown> {
  return (await browserClaims(issuer, asked, answer, redirectUri))[issuer.subject];
}

/** What the issuer says about the person at the browser: the claims of its ID token. @throws IdentityError */
export async function browserClaims(
  issuer: BrowserIssuer,
  asked: AskedBrowser,
  answer: URLSearchParams,
  redirectUri: string,
): Promise<Readonly<Record<string, unknown>>> {
  const server = await metadataOf(issuer);
  const client = { client_id: issuer.clientId };
  const { clientSecret } = issuer;
  const supported = server.token_endpoint_auth_methods_supported;
  const secretly =
    supported?.includes("client_secret_basic") === false ? oauth.ClientSecretPost : oauth.ClientSecretBasic;
  try {
    const parameters = oauth.validateAuthResponse(server, client, answer, asked.state);
    const response = await oauth.authorizationCodeGrantRequest(
      ...([server, client, clientSecret === undefined ? oauth.None() : secretly(clientSecret)] as const),
      ...([parameters, redirectUri, asked.codeVerifier, options()] as const),
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: asked.nonce,
      requireIdToken: true,
    });
    await oauth.validateApplicationLevelSignature(server, response, options());
    return oauth.getValidatedIdTokenClaims(tokens) ?? {};
  } catch (error) {
    throw new IdentityError(`${issuer.issuer} did not say who you are: ${oneLine(reasonOf(error), 300)}`);
  }
}

/** How long metadata is valid, and how soon ptc requests it again after a failure. */
const METADATA_COUNTS_MS = 10 * 60_000;
const RETRY_AFTER_MS = 2_000;
const MAX_ISSUERS = 100;

interface Known {
  found: Promise<oauth.AuthorizationServer>;
  until: number;
}

const known = new RecentlyUsed<string, Known>({ maxEntries: MAX_ISSUERS });

/** The metadata of an issuer. It is cached, because anybody can begin a login. @throws IdentityError */
async function metadataOf({ issuer }: BrowserIssuer): Promise<oauth.AuthorizationServer> {
  let entry = known.get(issuer);
  if (entry === undefined || entry.until <= performance.now()) {
    const asked: Known = { found: fetchMetadata(issuer), until: performance.now() + METADATA_COUNTS_MS };
    asked.found.catch(() => {
      asked.until = performance.now() + RETRY_AFTER_MS;
    });
    known.set(issuer, asked);
    entry = asked;
  }
  return entry.found;
}

async function fetchMetadata(issuer: string): Promise<oauth.AuthorizationServer> {
  try {
    const url = new URL(issuer);
    return await oauth.processDiscoveryResponse(url, await oauth.discoveryRequest(url, options()));
  } catch (error) {
    throw new IdentityError(`${issuer} cannot be asked who you are: ${oneLine(reasonOf(error), 300)}`);
  }
}

/** The configuration lists the issuers. It refuses addresses without https, except those on this machine. */
function options() {
  return {
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: (
      url: string,
      { method, headers, body }: oauth.CustomFetchOptions<string, unknown>,
    ) =>
      outgoingFetch(url, {
        method,
        headers,
        redirect: "manual",
        ...(body === undefined || body === null ? {} : { body: String(body) }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      }),
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return error.error_description === undefined ? error.error : `${error.error}: ${error.error_description}`;
  return messageOf(error);
}
