/** A `WWW-Authenticate` challenge of a server (RFC 6750, section 3; RFC 9728, section 5.1). All of it is foreign text. */
export interface Challenge {
  /** `unauthorized`: HTTP 401. `insufficient_scope`: HTTP 403 with that error. */
  readonly kind: "unauthorized" | "insufficient_scope";
  /** Whether the server names a scheme of tokens, such as `Bearer`. */
  readonly isOfTokens: boolean;
  readonly resourceMetadataUrl: string | undefined;
  readonly scope: string | undefined;
}

/** The token of one principal for one server, while requests go there. */
export interface Authorization {
  /** The token to send just now; `undefined` when there is none, and the server may still let the request pass. */
  token(signal?: AbortSignal): Promise<string | undefined>;
  /**
   * Handles a challenge. Resolves to whether the request should be sent again, with the token that is current then.
   *
   * @param rejected the token that the request had.
   * @throws LoginRequiredError when a person has to log in first; AuthorizationError when no token can be got now.
   */
  challenged(challenge: Challenge, rejected: string | undefined, signal?: AbortSignal): Promise<boolean>;
  /** Every token and secret that was in use here, for redaction. */
  secrets(): readonly string[];
}

/** A person has to log in. The name is the one by which the MCP client knows that it is about credentials. */
export class LoginRequiredError extends Error {
  override readonly name = "UnauthorizedError";
  /** Why the previous login is not enough. Continues after `because`; `undefined` when there was none. */
  readonly why: string | undefined;

  constructor(why?: string) {
    super(why ?? "a login is needed");
    this.why = why;
  }
}

/** The server wants scopes that were already asked for, so asking again would never end. */
export function notEnough(scope: string | undefined): AuthorizationError {
  const what = scope === undefined ? "other scopes, and does not say which" : `the scopes ${scope}`;
  return new AuthorizationError(
    `wants ${what}: its authorization server was asked for them, and did not grant them, or they are not enough`,
  );
}

/** No token can be got, and a login would not change that. The message continues after the name of a server. */
export class AuthorizationError extends Error {
  override readonly name = "UnauthorizedError";
}

/**
 * What happened to a login: a person logged in or out, its token was renewed, a machine was given one, the login has ended because
 * it is renewed no more, or what was tried has failed and may go another time.
 */
type LoginHappening = "logged_in" | "logged_out" | "renewed" | "machine_token" | "ended" | "failed";

/** One event of the login of a principal at a server, for logs. */
export interface LoginEvent {
  principal: string;
  /** The configured name of the server. */
  server: string;
  event: LoginHappening;
  /** Why, for one that failed. */
  reason?: string | undefined;
}

/** Receives events of logins. It neither waits nor throws. */
export type OnLogin = (event: LoginEvent) => void;
