import { refreshAuthorization } from "@modelcontextprotocol/client";
import type { Clock } from "../../../../base/clock.ts";
import { AddressGuard } from "../../../authorization/address-guard.ts";
import { buildGuardedFetch } from "../../../authorization/guarded-fetch.ts";
import type { Login } from "../../../authorization/logins/login-record.ts";
import { authenticateClient } from "./client-authentication.ts";
import { explainFault, isEndedGrant, isUnknownClient } from "./oauth-fault.ts";
import { grantedBy } from "./tokens.ts";

/**
 * Gets new tokens for a login by its refresh token (RFC 6749, section 6), where it was issued and for the same resource.
 * `undefined` when the authorization server does not take it any more.
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
      // The endpoint is the one of the login. Metadata of today could name another for a token of then.
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
