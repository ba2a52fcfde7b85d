/**
 * How a server over HTTP is authorized, as the configuration says, with every variable filled in.
 *
 * @typeParam Secret what stands for a secret: its text, or in a configuration also where it is read from.
 */
export type AuthSettings<Secret = string> = (
  | OAuthSettings<Secret>
  | ClientCredentialsSettings<Secret>
  | CallerSettings<Secret>
) &
  CallerTokens<Secret>;

/** What is tried before anything else where the caller has a token: the first of them that is set. */
interface CallerTokens<Secret = string> {
  readonly exchange: TokenExchange<Secret> | undefined;
  readonly assertion: ExchangeClient<Secret> | undefined;
}

/** ptc's own client at an authorization server that turns the caller's token into another. */
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
  /** Whether ptc shows a token of its own. */
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

/** Only the caller's token counts. Who has none sends what the headers say. */
export interface CallerSettings<Secret = string> extends AnyAuthSettings<Secret> {
  readonly type: "caller";
}

/** A person logs in with a browser (the authorization code grant with PKCE). */
export interface OAuthSettings<Secret = string> extends AnyAuthSettings<Secret> {
  readonly type: "oauth";
  /** Whether the configuration says nothing, so that a login is asked for only when the server challenges. */
  readonly isDefault: boolean;
  /** The https URL of a document that describes the client, which is its id too. */
  readonly clientMetadataUrl: string | undefined;
  /** How the redirect names this machine, where the client is registered with one name. */
  readonly callbackHost: "127.0.0.1" | "localhost";
  /** The port of the redirect on this machine, where the client is registered with one. */
  readonly callbackPort: number | undefined;
}

/** A machine has its own credentials (RFC 6749, section 4.4; MCP extension "OAuth Client Credentials"). */
export interface ClientCredentialsSettings<Secret = string> extends AnyAuthSettings<Secret> {
  readonly type: "client_credentials";
  readonly clientId: string;
  /** A key in PKCS#8 PEM or as a JWK, with which the client signs assertions instead of sending a secret (RFC 7523). */
  readonly privateKey: Secret | undefined;
  /** Such as `RS256` or `ES256`. */
  readonly signingAlgorithm: string | undefined;
}
