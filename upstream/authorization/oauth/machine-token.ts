import { createPrivateKey } from "node:crypto";
import { createPrivateKeyJwtAuth, fetchToken, type OAuthClientProvider } from "@modelcontextprotocol/client";
import type { Clock } from "../../../base/clock.ts";
import type { ClientCredentialsSettings } from "../auth-settings.ts";
import { AuthorizationError } from "../authorization.ts";
import { AddressGuard, buildGuardedFetch } from "../guarded-fetch.ts";
import { uniteScopes } from "../login-store.ts";
import { authenticateClient, discover, explainFault, grantedBy } from "./authorization-server.ts";

export interface MachineLoginOptions {
  serverUrl: string;
  settings: ClientCredentialsSettings;
  resourceMetadataUrl: string | undefined;
  /** The scopes that the server demanded, in addition to the configured ones. */
  scope: string | undefined;
  clock: Pick<Clock, "wallMs">;
  signal?: AbortSignal | undefined;
}

export interface MachineToken {
  token: string;
  expiresAt: number | undefined;
}

/**
 * Gets a token for a machine with its own credentials (RFC 6749, section 4.4), a secret or a key (RFC 7523).
 *
 * @throws AuthorizationError
 */
export async function fetchMachineToken(options: MachineLoginOptions): Promise<MachineToken> {
  const { serverUrl, settings, resourceMetadataUrl, clock, signal } = options;
  const fetchFn = buildGuardedFetch({ guard: new AddressGuard(serverUrl), signal });
  const found = await discover({ serverUrl, resourceMetadataUrl, issuer: settings.issuer, fetch: fetchFn });
  if (found === undefined)
    throw new AuthorizationError("has no authorization server for its `auth` in ptc.yaml; check its url");
  const { issuer, metadata, resource, resourceMetadata } = found;
  const scope = uniteScopes(
    settings.scope ?? options.scope ?? resourceMetadata?.scopes_supported?.join(" "),
    settings.scope === undefined ? undefined : options.scope,
  );
  try {
    const tokens = await fetchToken(
      providerOf(settings, metadata.token_endpoint_auth_methods_supported),
      issuer,
      {
        metadata,
        resource,
        ...(scope === undefined ? {} : { scope }),
        fetchFn,
      },
    );
    const { accessToken: token = "", expiresAt } = grantedBy(tokens, scope, clock);
    return { token, expiresAt };
  } catch (error) {
    throw explainFault(error, "got no token for its client_credentials");
  }
}

function providerOf(
  settings: ClientCredentialsSettings,
  supported: readonly string[] | undefined,
): OAuthClientProvider {
  const { clientId: id, clientSecret: secret, privateKey, authMethod } = settings;
  return {
    redirectUrl: undefined,
    clientMetadata: { redirect_uris: [] },
    clientInformation: () => ({ client_id: id }),
    tokens: () => undefined,
    saveTokens() {},
    redirectToAuthorization() {},
    saveCodeVerifier() {},
    codeVerifier: () => "",
    prepareTokenRequest: (scope) =>
      new URLSearchParams({ grant_type: "client_credentials", ...(scope === undefined ? {} : { scope }) }),
    addClientAuthentication:
      privateKey === undefined
        ? (headers, parameters) =>
            authenticateClient({ kind: "configured", id, secret, authMethod }, supported, headers, parameters)
        : createPrivateKeyJwtAuth({
            issuer: id,
            subject: id,
            ...keyOf(privateKey, settings.signingAlgorithm),
          }),
  };
}

/** The configured key and algorithm; the default algorithm depends on the kind of key (RFC 7518, section 3.1). */
function keyOf(text: string, algorithm: string | undefined): { privateKey: string; alg: string } {
  try {
    const isJwk = text.trimStart().startsWith("{");
    const key = createPrivateKey(isJwk ? { key: JSON.parse(text), format: "jwk" } : text);
    const curve = key.asymmetricKeyDetails?.namedCurve ?? "";
    const alg =
      algorithm ?? ALGORITHMS[key.asymmetricKeyType === "ec" ? curve : (key.asymmetricKeyType ?? "")];
    if (alg === undefined) throw new Error("no algorithm for this kind of key");
    return { privateKey: key.export({ type: "pkcs8", format: "pem" }).toString(), alg };
  } catch {
    throw new AuthorizationError(
      "has a `private_key` in ptc.yaml that cannot sign; write a key in PKCS#8 PEM or as a JWK, for RSA or an EC curve",
    );
  }
}

const ALGORITHMS: Readonly<Record<string, string>> = {
  rsa: "RS256",
  "rsa-pss": "PS256",
  prime256v1: "ES256",
  secp384r1: "ES384",
  secp521r1: "ES512",
};
