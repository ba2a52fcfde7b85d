/** Who sends a request, as far as that is known before anything is done for it. */
import type { RunContext } from "../../protocol/run-context.ts";

/** What a caller may do with the token of a request. What a rule does not permit, no scope permits. */
export type CallerScope = "ptc:run" | "ptc:approve" | "ptc:admin";

/** Somebody whose request may be answered. */
export interface Caller {
  /** On whose behalf its programs run. */
  readonly context: RunContext;
  readonly scopes: ReadonlySet<CallerScope>;
}

/** Why a request is not answered. Messages go to whoever sent it, and say nothing of anybody. */
export interface Refusal {
  readonly error: "invalid_request" | "invalid_token" | "insufficient_scope" | "temporarily_unavailable";
  readonly message: string;
}

/** Finds out who sends a request. Everything that it throws is a fault of ptc. */
export interface Authenticator {
  /** @param authorization the header of that name; `undefined` where there is none. */
  authenticate(authorization: string | undefined): Promise<Caller | Refusal>;
  /** What clients read to find out where to log in (RFC 9728), without `resource`. */
  readonly resourceMetadata: Readonly<Record<string, unknown>>;
  /** The scopes that a client is told to ask for, of those that a request needs. */
  requestedScopes(): readonly string[];
}

export function isRefusal(answer: Caller | Refusal): answer is Refusal {
  return "error" in answer;
}
