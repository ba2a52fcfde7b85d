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
 * Gets new tokens for a login by its refresh token (RFC 6749, section 6), where it was issued and for the same resource.
 * `undefined` when the authorization server no longer accepts it.
 *
 * @throws AuthorizationError when nothing is known of the login, because the authorization server cannot be reached or fails.
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
      // The endpoint is that of the login. Newer metadata could name another one for this token.
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
 * Has the authorization server forget the tokens of a login (RFC 7009). Whether it offers that.
 *
 * @throws AuthorizationError when it did not do so.
 */
export async function revokeLogin(login: Login, signal?: AbortSignal): Promise<boolean> {
  const { revocationEndpoint, refreshToken, accessToken, client, authMethods } = login;
  if (revocationEndpoint === undefined) return false;
  const fetch = buildGuardedFetch({ guard: new AddressGuard(login.url, login.zone), signal });
  const what = "has an authorization server that did not revoke its tokens";
  try {
    const url = requireSecure(revocationEndpoint, "revocation endpoint");
    // With the refresh token, most servers revoke the others too, and some revoke only the one that is named.
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
