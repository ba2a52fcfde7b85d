/** Who sends a request, and what they may do with the token that they send. */
import type { Scope } from "../configuration/configuration.ts";
import type { RunContext } from "../protocol/run-context.ts";

/** An authenticated sender of a request. */
export interface Caller {
  /** On whose behalf programs run: the principal, with groups and a name. */
  readonly context: RunContext;
  /** What the token may be used for. A scope permits nothing that rules do not permit. */
  readonly scopes: ReadonlySet<Scope>;
}

/** Why a request is refused. Messages go to its sender, and reveal nothing about anybody. */
export interface Refusal {
  /** The codes of RFC 6750 (section 3.1). `invalid_request`: there is no token. `temporarily_unavailable`: ptc cannot identify its owner now. */
  readonly error: "invalid_request" | "invalid_token" | "insufficient_scope" | "temporarily_unavailable";
  readonly message: string;
}

/** Finds out who sends a request. */
export interface Authenticator {
  /**
   * @param authorization the header of that name; `undefined` where there is none.
   * @param address the address that the request comes from.
   */
  authenticate(authorization: string | undefined, address?: string): Promise<Caller | Refusal>;
  /** What clients read to find out where to log in (RFC 9728), without `resource`. */
  readonly resourceMetadata: Readonly<Record<string, unknown>>;
  /** The scopes that clients should request. */
  readonly requestedScopes: readonly string[];
}

export function isRefusal<T extends object>(answer: T | Refusal): answer is Refusal {
  return "error" in answer;
}

export function invalidToken(message: string): Refusal {
  return { error: "invalid_token", message };
}

const MAX_SUBJECT_CHARS = 255;

/**
 * The principal of somebody whom an issuer knows: issuer, `#` and subject. No issuer contains a `#` (RFC 8414, section 2), so no
 * two people have the same principal, and none is `local`.
 *
 * @returns `undefined` for a subject that is not a text of 1 to 255 visible characters (OpenID Connect Core, section 2).
 */
export function principalOf(issuer: string, subject: unknown): string | undefined {
  if (typeof subject !== "string" || subject === "" || subject.length > MAX_SUBJECT_CHARS) return undefined;
  return /^[^\p{C}\p{Z}]+(?: [^\p{C}\p{Z}]+)*$/u.test(subject) ? `${issuer}#${subject}` : undefined;
}

/** The issuer of ptc's own tokens, which is not a URL. */
const OWN_ISSUER = "token";

/** The principal of a token of this name. */
export function principalOfToken(name: string): string {
  return `${OWN_ISSUER}#${name}`;
}
