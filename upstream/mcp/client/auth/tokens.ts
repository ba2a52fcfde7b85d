import type { OAuthTokens } from "@modelcontextprotocol/client";
import type { Clock } from "../../../../base/clock.ts";
import { AuthorizationError } from "../../../authorization/authorization.ts";
import type { Login } from "../../../authorization/logins/login-record.ts";

type Granted = Pick<Login, "accessToken" | "refreshToken" | "expiresAt" | "scope">;

/** A token that no header can carry would otherwise be told of in an error. */
const TOKEN = /^[\x21-\x7e]{1,65536}$/;

/**
 * The parts of a login that a token response sets (RFC 6749, section 5.1).
 *
 * @param asked the scopes that were asked for, which are those granted where the response names none.
 */
export function grantedBy(
  tokens: OAuthTokens,
  asked: string | undefined,
  clock: Pick<Clock, "wallMs">,
): Granted {
  if (tokens.token_type.toLowerCase() !== "bearer")
    throw new AuthorizationError("got a token of a kind that ptc does not know; only Bearer is");
  if (!TOKEN.test(tokens.access_token)) throw new AuthorizationError("got something that is no token");
  const { refresh_token: refreshToken, expires_in: seconds, scope = asked } = tokens;
  return {
    accessToken: tokens.access_token,
    refreshToken,
    expiresAt:
      seconds === undefined || !Number.isFinite(seconds) ? undefined : clock.wallMs() + seconds * 1_000,
    scope,
  };
}
