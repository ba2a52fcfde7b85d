/** A server's `WWW-Authenticate` challenge (RFC 6750, section 3; RFC 9728, section 5.1). All of it is untrusted text. */
export interface Challenge {
  /** `unauthorized`: HTTP 401. `insufficient_scope`: HTTP 403 with that error. */
  readonly kind: "unauthorized" | "insufficient_scope";
  /** Whether the server names a token scheme, such as `Bearer`. */
  readonly isOfTokens: boolean;
  readonly resourceMetadataUrl: string | undefined;
  readonly scope: string | undefined;
}

/** Provides the token of one principal for requests to one server. */
export interface Authorization {
  /** The current token to send; `undefined` if there is none, in which case the server may still accept the request. */
  token(signal?: AbortSignal): Promise<string | undefined>;
  /**
   * Handles a challenge. Resolves to whether the request should be sent again, with the then current token.
   *
   * @param rejected the token that the request had.
   * @throws LoginRequiredError if a person has to log in first; AuthorizationError if no token can be obtained now.
   */
  challenged(challenge: Challenge, rejected: string | undefined, signal?: AbortSignal): Promise<boolean>;
  /** Every token and secret that was used here, for redaction. */
  secrets(): readonly string[];
}

/** A person has to log in. The MCP client recognises errors about credentials by this name. */
export class LoginRequiredError extends Error {
  override readonly name = "UnauthorizedError";
  /** Why the previous login is not enough, phrased to follow `because`; `undefined` if there was none. */
  readonly why: string | undefined;

  constructor(why?: string) {
    super(why ?? "a login is needed");
    this.why = why;
  }
}

/** The server wants scopes that were already requested, so requesting them again would never end. */
export function notEnough(scope: string | undefined): AuthorizationError {
  const what = scope === undefined ? "other scopes, and does not say which" : `the scopes ${scope}`;
  return new AuthorizationError(
    `wants ${what}: its authorization server was asked for them, and did not grant them, or they are not enough`,
  );
}

/** No token can be obtained, and a login would not change that. The message is phrased to follow the name of a server. */
export class AuthorizationError extends Error {
  override readonly name = "UnauthorizedError";
}

/**
 * What happened to a login: a person logged in or out, its token was renewed, a machine received one, the login ended because it
 * can no longer be renewed, or an attempt failed and may succeed later.
 */
type LoginHappening = "logged_in" | "logged_out" | "renewed" | "machine_token" | "ended" | "failed";

/** An event of a principal's login at a server, for logs. */
export interface LoginEvent {
  principal: string;
  /** The configured name of the server. */
  server: string;
  event: LoginHappening;
  /** Why it failed, if it did. */
  reason?: string | undefined;
}

/** Receives login events. It neither waits nor throws. */
export type OnLogin = (event: LoginEvent) => void;
