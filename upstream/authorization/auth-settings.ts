/**
 * The configured authorization of a server over HTTP, with every variable filled in.
 *
 * @typeParam Secret the type of a secret: its text, or in a configuration also where to read it.
 */
export type AuthSettings<Secret = string> = (
  | OAuthSettings<Secret>
  | ClientCredentialsSettings<Secret>
  | CallerSettings<Secret>
) &
  CallerTokens<Secret>;

/** Tried before anything else if the caller has a token: the first of them that is set. */
interface CallerTokens<Secret = string> {
  readonly exchange: TokenExchange<Secret> | undefined;
  readonly assertion: ExchangeClient<Secret> | undefined;
}

/** ptc's own client at an authorization server that exchanges the caller's token for another. */
export interface ExchangeClient<Secret = string> {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: Secret | undefined;
  readonly authMethod: "client_secret_basic" | "client_secret_post" | undefined;
}

/** The caller's token is exchanged for one for the server (RFC 8693). */
export interface TokenExchange<Secret = string> extends ExchangeClient<Secret> {
  readonly audience: string | undefined;
  /** Whether the server's URL is sent as `resource` (RFC 8707). */
  readonly resource: boolean;
  /** Whether ptc also sends a token of its own. */
  readonly actor: boolean;
}

interface AnyAuthSettings<Secret> {
  readonly clientId: string | undefined;
  readonly clientSecret: Secret | undefined;
  /** Separated by spaces; by default the scopes that the server asks for. */
  readonly scope: string | undefined;
  /** The only authorization server that is asked for tokens; by default the one that the server names. */
  readonly issuer: string | undefined;
  /** `token_endpoint_auth_method` (RFC 7591); by default one that the authorization server supports. */
  readonly authMethod: "client_secret_basic" | "client_secret_post" | undefined;
}

/** Only the caller's token is used. For a caller without one, only the configured headers are sent. */
export interface CallerSettings<Secret = string> extends AnyAuthSettings<Secret> {
  readonly type: "caller";
}

/** A person logs in with a browser (the authorization code grant with PKCE). */
export interface OAuthSettings<Secret = string> extends AnyAuthSettings<Secret> {
  readonly type: "oauth";
  /** Whether nothing is configured, so that a login is requested only if the server challenges. */
  readonly isDefault: boolean;
  /** The https URL of a document that describes the client; it is also the client's id. */
  readonly clientMetadataUrl: string | undefined;
  /** The name of this machine in the redirect, if the client is registered with a certain name. */
  readonly callbackHost: "127.0.0.1" | "localhost";
  /** The port of the redirect on this machine, if the client is registered with one. */
  readonly callbackPort: number | undefined;
}

/** A machine uses its own credentials (RFC 6749, section 4.4; MCP extension "OAuth Client Credentials"). */
export interface ClientCredentialsSettings<Secret = string> extends AnyAuthSettings<Secret> {
  readonly type: "client_credentials";
  readonly clientId: string;
  /** A key in PKCS#8 PEM or as a JWK, with which the client signs assertions instead of sending a secret (RFC 7523). */
  readonly privateKey: Secret | undefined;
  /** For example `RS256` or `ES256`. */
  readonly signingAlgorithm: string | undefined;
}
