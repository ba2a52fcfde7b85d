import { refreshAuthorization } from "@modelcontextprotocol/client";
import type { Clock } from "../../../base/clock.ts";
import { AddressGuard, buildGuardedFetch } from "../guarded-fetch.ts";
import type { Login } from "../login-store.ts";
import {
  authenticateClient,
  explainFault,
  grantedBy,
  isEndedGrant,
  isUnknownClient,
  requireSecure,
} from "./authorization-server.ts";

/**
 * Gets new tokens for a login with its refresh token (RFC 6749, section 6), from its issuer and for the same resource. `undefined`
 * if the authorization server no longer accepts it.
 *
 * @throws AuthorizationError if the authorization server cannot be reached or fails, so that the state of the login is not known.
 */
export async function refreshLogin(
  login: Login,
  clock: Pick<Clock, "wallMs">,
  signal?: AbortSignal,
): Promise<Login | undefined> {
  const { refreshToken, client } = login;
  if (refreshToken === undefined) return undefined;
  const fetchFn = buildGuardedFetch({ guard: new AddressGuard(login.url, login.zone), signal });
  try {
    const tokens = await refreshAuthorization(login.issuer, {
      // Uses the endpoint of the login, because newer metadata could name another one for this token.
      metadata: {
        issuer: login.issuer,
        authorization_endpoint: login.tokenEndpoint,
        token_endpoint: login.tokenEndpoint,
        response_types_supported: ["code"],
      },
      clientInformation: { client_id: client.id },
      refreshToken,
      ...(login.resource === undefined ? {} : { resource: login.resource }),
      addClientAuthentication: (headers, parameters) =>
        authenticateClient(client, login.authMethods, headers, parameters),
      fetchFn,
    });
    return { ...login, ...grantedBy(tokens, login.scope, clock) };
  } catch (error) {
    if (isEndedGrant(error) || isUnknownClient(error)) return undefined;
    throw explainFault(error, "cannot have its login renewed");
  }
}

/**
 * Revokes the tokens of a login at the authorization server (RFC 7009). Returns whether the server offers that.
 *
 * @throws AuthorizationError if it failed.
 */
export async function revokeLogin(login: Login, signal?: AbortSignal): Promise<boolean> {
  const { revocationEndpoint, refreshToken, accessToken, client, authMethods } = login;
  if (revocationEndpoint === undefined) return false;
  const fetch = buildGuardedFetch({ guard: new AddressGuard(login.url, login.zone), signal });
  const what = "has an authorization server that did not revoke its tokens";
  try {
    const url = requireSecure(revocationEndpoint, "revocation endpoint");
    // Most servers revoke all tokens with the refresh token, but some revoke only the named one.
    for (const [hint, token] of [
      ["refresh_token", refreshToken],
      ["access_token", accessToken],
    ] as const) {
      if (token === undefined) continue;
      const headers = new Headers({
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
      });
      const parameters = new URLSearchParams({ token, token_type_hint: hint });
      authenticateClient(client, authMethods, headers, parameters);
      const { ok, status } = await fetch(url, { method: "POST", headers, body: parameters.toString() });
      if (!ok) throw new Error(`HTTP ${status}`);
    }
    return true;
  } catch (error) {
    throw explainFault(error, what);
  }
}
