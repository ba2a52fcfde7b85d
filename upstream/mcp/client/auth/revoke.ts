import { AddressGuard } from "../../../authorization/address-guard.ts";
import { buildGuardedFetch } from "../../../authorization/guarded-fetch.ts";
import type { Login } from "../../../authorization/logins/login-record.ts";
import { authenticateClient } from "./client-authentication.ts";
import { requireSecure } from "./discovery.ts";
import { explainFault } from "./oauth-fault.ts";

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
