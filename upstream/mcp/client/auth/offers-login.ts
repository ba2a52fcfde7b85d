import { AddressGuard } from "../../../authorization/address-guard.ts";
import type { Challenge } from "../../../authorization/authorization.ts";
import { buildGuardedFetch } from "../../../authorization/guarded-fetch.ts";
import { discover } from "./discovery.ts";

/** Whether a server that refuses a request without saying what it wants has an authorization server. */
export async function offersLogin(
  serverUrl: string,
  { resourceMetadataUrl }: Challenge,
  signal?: AbortSignal,
): Promise<boolean> {
  const fetch = buildGuardedFetch({ guard: new AddressGuard(serverUrl), signal });
  try {
    return (await discover({ serverUrl, resourceMetadataUrl, issuer: undefined, fetch })) !== undefined;
  } catch {
    // Then a login says what is wrong with it.
    return true;
  }
}
