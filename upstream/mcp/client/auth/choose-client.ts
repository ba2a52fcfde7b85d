import { type FetchLike, RegistrationRejectedError, registerClient } from "@modelcontextprotocol/client";
import type { OAuthSettings } from "../../../authorization/auth-settings.ts";
import { AuthorizationError } from "../../../authorization/authorization.ts";
import type { Client } from "../../../authorization/logins/login-record.ts";
import type { Discovered } from "./discovery.ts";
import { explainFault } from "./oauth-fault.ts";

export interface ClientChoice {
  settings: OAuthSettings;
  redirectUri: string;
  scope: string | undefined;
  /** A registration of before with the same authorization server, which is still known there. */
  registered: Client | undefined;
  wallMs: number;
  fetch: FetchLike;
}

/**
 * The client as which ptc logs in: the one that the configuration names, else the one whose metadata document it names, else one
 * that is registered for this login (MCP 2026-07-28, Authorization: "Client Registration Approaches").
 *
 * @throws AuthorizationError when the authorization server takes none of them.
 */
export async function chooseClient(found: Discovered, choice: ClientChoice): Promise<Client> {
  const { issuer, metadata } = found;
  const { settings, redirectUri, registered } = choice;
  const { clientId, clientSecret, authMethod, clientMetadataUrl } = settings;
  if (clientId !== undefined)
    return { kind: "configured", id: clientId, secret: clientSecret, authMethod, redirectUri };
  if (clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true)
    return { kind: "document", id: clientMetadataUrl, authMethod: "none", redirectUri };
  if (
    registered?.redirectUri === redirectUri &&
    (registered.expiresAt ?? Number.POSITIVE_INFINITY) > choice.wallMs
  )
    return registered;
  if (metadata.registration_endpoint === undefined) {
    throw new AuthorizationError(
      `needs a client that is registered with ${issuer}, which registers none by itself: register one there with the redirect ` +
        `${redirectUri.replace(/:\d+\//, ":PORT/")}, and write its \`client_id\` under \`auth\` in ptc.yaml`,
    );
  }
  try {
    return await register(found, choice, choice.scope).catch((error: unknown) => {
      if (!(error instanceof RegistrationRejectedError) || choice.scope === undefined) throw error;
      // Some servers refuse a client for a scope that they would only leave out of what they grant.
      return register(found, choice, undefined);
    });
  } catch (error) {
    throw explainFault(error, "has an authorization server that did not register ptc as a client");
  }
}

async function register(
  { issuer, metadata }: Discovered,
  { redirectUri, fetch }: ClientChoice,
  scope: string | undefined,
): Promise<Client> {
  const methods = metadata.token_endpoint_auth_methods_supported;
  const method = ["none", "client_secret_basic", "client_secret_post"].find((each) =>
    methods?.includes(each),
  );
  const full = await registerClient(issuer, {
    metadata,
    clientMetadata: {
      client_name: "ptc",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      application_type: "native",
      // Without the list, a server supports `client_secret_basic` (RFC 8414, section 2); most take a public client too.
      token_endpoint_auth_method: method ?? "none",
    },
    ...(scope === undefined ? {} : { scope }),
    fetchFn: fetch,
  });
  return {
    kind: "registered",
    id: full.client_id,
    secret: full.client_secret,
    authMethod: full.token_endpoint_auth_method,
    redirectUri,
    ...(full.client_secret_expires_at ? { expiresAt: full.client_secret_expires_at * 1_000 } : {}),
  };
}
