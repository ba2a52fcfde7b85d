/**
 * What happened to a login: a person logged in or out, its token was renewed, a machine was given one, the login has ended because
 * it is renewed no more, or what was tried has failed and may go another time.
 */
type LoginHappening = "logged_in" | "logged_out" | "renewed" | "machine_token" | "ended" | "failed";

/** One event of the login of a principal at a server, for whoever keeps a log. */
export interface LoginEvent {
  principal: string;
  /** The configured name of the server. */
  server: string;
  event: LoginHappening;
  /** Why, for one that failed. */
  reason?: string | undefined;
}

/** Is told of events of logins. It neither waits, nor throws. */
export type OnLogin = (event: LoginEvent) => void;
