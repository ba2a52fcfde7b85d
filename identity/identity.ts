/**
 * Authenticates requests over HTTP. A request has a bearer token: one of ptc's own, one that an issuer has signed, or one that ptc
 * introspects at an issuer. The result is a principal (issuer and subject) with groups and scopes, on which everything else in ptc depends. A
 * token itself does not leave this folder, except for the token exchange that a server's `auth` configures (`callerToken`).
 */
import { decodeJwt } from "jose";
import { clock } from "../base/clock.ts";
import { messageOf } from "../base/faults.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { SCOPES } from "../configuration/settings/http-settings.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { ConfiguredSecret } from "../upstream/secret-source.ts";
import { ownLoginSecrets } from "../upstream/secret-sources.ts";
import { type Authenticator, type Caller, invalidToken, isRefusal, type Refusal } from "./caller.ts";
import { Issuer } from "./issuer.ts";
import { TOKEN_PREFIX, Tokens } from "./tokens.ts";

const MAX_TOKEN_CHARS = 16 * 1024;
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export interface IdentityOptions {
  env: EnvironmentVariables;
  onWarning: (message: string) => void;
}

/** The authentication that `http.auth` configures; `undefined` if it configures none. Nothing is fetched before it is needed. */
export function openAuthenticator(
  configuration: Pick<Configuration, "directory" | "storage" | "http">,
  { env, onWarning }: IdentityOptions,
): Authenticator | undefined {
  const { auth, publicUrl } = configuration.http;
  if (auth === undefined) return undefined;
  const tokens = auth.tokens ? Tokens.open(configuration, env) : undefined;
  const issuers = auth.issuers.map(
    (settings) =>
      new Issuer(settings, {
        audiences: settings.audiences.length > 0 ? settings.audiences : [publicUrl ?? ""],
        clientSecret: () => secretOf(settings, env),
        clock,
        onWarning,
      }),
  );
  return new BearerTokens(tokens, issuers, onWarning);
}

async function secretOf(
  { introspection, off }: Issuer["settings"],
  env: EnvironmentVariables,
): Promise<string> {
  if (off !== undefined) throw new Error(off);
  return (await readSecret(introspection?.clientSecret, env)) ?? "";
}

async function readSecret(
  secret: ConfiguredSecret | undefined,
  env: EnvironmentVariables,
): Promise<string | undefined> {
  if (secret === undefined || typeof secret === "string") return secret;
  const { sources } = ownLoginSecrets(env);
  return secret.prefix + (await sources.read(secret, AbortSignal.timeout(SECRET_PATIENCE_MS)));
}

/** The issuers at which people log in with a browser, with ptc's client there. Their secrets are read each time. */
export async function browserIssuers({ http }: Pick<Configuration, "http">, env: EnvironmentVariables) {
  const known = (http.auth?.issuers ?? []).flatMap(({ issuer, login, claims: { subject }, off }) =>
    login === undefined || off !== undefined ? [] : [{ issuer, subject, ...login }],
  );
  return Promise.all(
    known.map(async (each) => ({ ...each, clientSecret: await readSecret(each.clientSecret, env) })),
  );
}

const SECRET_PATIENCE_MS = 10_000;

/** Bearer tokens (RFC 6750), accepted only in the header. */
class BearerTokens implements Authenticator {
  readonly resourceMetadata: Readonly<Record<string, unknown>>;
  readonly requestedScopes: readonly string[];
  readonly #tokens: Tokens | undefined;
  readonly #issuers: readonly Issuer[];
  readonly #onWarning: (message: string) => void;

  constructor(tokens: Tokens | undefined, issuers: readonly Issuer[], onWarning: (message: string) => void) {
    this.#tokens = tokens;
    this.#issuers = issuers;
    this.#onWarning = onWarning;
    this.requestedScopes = [...new Set(issuers.flatMap(scopesToAsk))];
    this.resourceMetadata = {
      ...(issuers.length === 0
        ? {}
        : { authorization_servers: issuers.map(({ settings }) => settings.issuer) }),
      ...(this.requestedScopes.length === 0 ? {} : { scopes_supported: this.requestedScopes }),
      bearer_methods_supported: ["header"],
      resource_name: "ptc",
    };
  }

  async authenticate(authorization: string | undefined, address?: string): Promise<Caller | Refusal> {
    if (authorization === undefined) return { error: "invalid_request", message: "log in first" };
    const token = authorization.length > MAX_TOKEN_CHARS ? undefined : BEARER.exec(authorization)?.[1];
    if (token === undefined) return invalidToken("the Authorization header holds no bearer token");
    const caller = await this.#callerOf(token, address);
    if (isRefusal(caller)) return caller;
    if (!token.startsWith(TOKEN_PREFIX)) await this.#learnGroups(caller);
    return { ...caller, context: { ...caller.context, callerToken: () => token } };
  }

  /** Rules and limits for the owner's current groups also apply to the owner's tokens. */
  async #learnGroups({ context: { principal, groups } }: Caller): Promise<void> {
    try {
      await this.#tokens?.learnGroups(principal, groups);
    } catch (error) {
      this.#onWarning(`the groups of somebody's tokens cannot be kept: ${messageOf(error)}`);
    }
  }

  async #callerOf(token: string, address: string | undefined): Promise<Caller | Refusal> {
    if (token.startsWith(TOKEN_PREFIX) && this.#tokens !== undefined) {
      try {
        return await this.#tokens.callerOf(token);
      } catch (error) {
        this.#onWarning(`tokens cannot be looked up: ${messageOf(error)}`);
        return {
          error: "temporarily_unavailable",
          message: "whose the token is cannot be found out now; try again",
        };
      }
    }
    const issuer = JWT.test(token) ? issuerIn(token) : undefined;
    const signer = this.#issuers.find(({ settings }) => settings.issuer === issuer);
    if (signer !== undefined) return signer.verify(token);
    let refusal: Refusal = invalidToken(
      issuer === undefined ? "the token is not known" : "the token is of an issuer that does not count here",
    );
    for (const each of this.#issuers.filter(({ answers }) => answers)) {
      const caller = await each.introspect(token, address);
      if (!isRefusal(caller)) return caller;
      refusal = caller;
    }
    return refusal;
  }
}

/** The issuer that a token claims. The claim is not verified here. */
function issuerIn(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** The scopes that clients request: the configured ones, else the ptc scopes that the issuer grants under their own names. */
function scopesToAsk({ settings: { requestScopes, scopes } }: Issuer): readonly string[] {
  return requestScopes ?? SCOPES.filter((scope) => scopes[scope] === undefined);
}
