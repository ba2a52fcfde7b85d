/**
 * One trusted issuer of `http.auth.issuers`: this module verifies tokens that it has signed with its keys, and introspects
 * others. Libraries do both; this module decides how long to wait for an answer, how large it may be, and how long it is valid.
 */
import { createHash } from "node:crypto";
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import * as oauth from "oauth4webapi";
import { Allowance } from "../base/allowance.ts";
import { messageOf } from "../base/faults.ts";
import { RecentlyUsed } from "../base/recently-used.ts";
import type { IssuerSettings } from "../configuration/configuration.ts";
import { outgoingFetch } from "../system/outgoing.ts";
import { type Caller, invalidToken, isRefusal, type Refusal } from "./caller.ts";
import { callerOf } from "./claims.ts";

const PATIENCE_MS = 5_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** A token may name an unknown key. How soon ptc then fetches the keys again, and how long they are valid. */
const REFETCH_AFTER_MS = 30_000;
const KEYS_COUNT_MS = 10 * 60_000;
/** How long metadata is valid, and how soon ptc fetches it again after a failure. */
const METADATA_COUNTS_MS = 60 * 60_000;
const RETRY_AFTER_MS = 2_000;
const MAX_ANSWERS = 10_000;
/** How many never accepted tokens ptc introspects, for one address and for all. */
const UNKNOWN_OF_ONE = { burst: 30, perSecond: 0.5 };
const UNKNOWN_OF_ALL = { burst: 300, perSecond: 10 };

interface IssuerOptions {
  /** Of tokens; at least one. */
  audiences: readonly string[];
  /** Reads the secret of ptc's own client. @throws Error of one line */
  clientSecret: () => Promise<string>;
  clock: { monotonicMs(): number };
  onWarning: (message: string) => void;
}

/** An answer of the introspection endpoint about an opaque token. */
interface Answer {
  caller: Promise<Caller | Refusal>;
  until: number;
}

export class Issuer {
  readonly settings: IssuerSettings;
  readonly #options: IssuerOptions;
  /** Answers about valid tokens, and about all others. Anybody can make up the latter, so they must not evict the former. */
  readonly #answers = new RecentlyUsed<string, Answer>({ maxEntries: MAX_ANSWERS });
  readonly #refusals = new RecentlyUsed<string, Answer>({ maxEntries: MAX_ANSWERS });
  /** The rate limits for tokens that were never accepted. */
  readonly #allowance: Allowance;
  #metadata: { value: Promise<oauth.AuthorizationServer>; until: number } | undefined;
  #keys: { url: string; set: JWTVerifyGetKey } | undefined;

  constructor(settings: IssuerSettings, options: IssuerOptions) {
    this.settings = settings;
    this.#options = options;
    this.#allowance = new Allowance(UNKNOWN_OF_ONE, UNKNOWN_OF_ALL, () => options.clock.monotonicMs());
  }

  /** Whether ptc introspects unsigned tokens. */
  get answers(): boolean {
    return this.settings.introspection !== undefined;
  }

  /** The caller of a token that this issuer is said to have signed (RFC 9068, and RFC 7519). */
  async verify(token: string): Promise<Caller | Refusal> {
    const { issuer, algorithms, clockSkewSeconds } = this.settings;
    let keys: JWTVerifyGetKey;
    try {
      keys = await this.#keySet();
    } catch (error) {
      return this.#unavailable(error);
    }
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer,
        audience: [...this.#options.audiences],
        algorithms: [...algorithms],
        clockTolerance: clockSkewSeconds,
        requiredClaims: ["exp"],
      });
      return callerOf(payload, this.settings);
    } catch (error) {
      return this.#refusalOf(error);
    }
  }

  /**
   * The caller of a token, by introspection at this issuer (RFC 7662). Answers, refusals included, are valid for some seconds.
   *
   * @param address the address that the token comes from. The number of never accepted tokens of one address is limited.
   */
  async introspect(token: string, address = ""): Promise<Caller | Refusal> {
    const { introspection } = this.settings;
    if (introspection === undefined) return invalidToken("the token is not known");
    const key = createHash("sha256").update(token).digest("base64url");
    const now = this.#options.clock.monotonicMs();
    const counted = this.#answers.get(key);
    const known = counted ?? this.#refusals.get(key);
    if (known !== undefined && now < known.until) return known.caller;
    if (counted === undefined && !this.#allowance.take(address))
      return {
        error: "temporarily_unavailable",
        message: "too many tokens that are not known come from there; try again in a minute",
      };
    const caller = this.#ask(token);
    const answer = { caller, until: now + introspection.cacheMs };
    this.#refusals.set(key, answer);
    void caller.then((came) => {
      if (!isRefusal(came)) {
        this.#refusals.delete(key);
        this.#answers.set(key, answer);
        return;
      }
      if (came.error === "temporarily_unavailable") answer.until = 0;
      else this.#answers.delete(key);
    });
    return caller;
  }

  async #ask(token: string): Promise<Caller | Refusal> {
    const { issuer, introspection, claims, clockSkewSeconds } = this.settings;
    if (introspection === undefined) return invalidToken("the token is not known");
    const { clientId, url } = introspection;
    let said: oauth.IntrospectionResponse;
    try {
      const metadata = url === undefined ? await this.#discover() : { issuer, introspection_endpoint: url };
      const client = { client_id: clientId };
      const authentication = oauth.ClientSecretBasic(await this.#options.clientSecret());
      const response = await oauth.introspectionRequest(
        metadata,
        client,
        authentication,
        token,
        insecure(issuer),
      );
      said = await oauth.processIntrospectionResponse(metadata, client, response);
    } catch (error) {
      return this.#unavailable(error);
    }
    if (!said.active) return invalidToken("the token has ended, or is not known");
    const audiences = [said.aud ?? []].flat();
    if (said.iss !== undefined && said.iss !== issuer) return invalidToken("the token is another issuer's");
    if (!audiences.some((each) => this.#options.audiences.includes(each)))
      return invalidToken("the token is for another audience");
    const nowSeconds = Date.now() / 1_000;
    if (said.exp !== undefined && said.exp + clockSkewSeconds < nowSeconds)
      return invalidToken("the token has expired");
    if (said.nbf !== undefined && said.nbf - clockSkewSeconds > nowSeconds)
      return invalidToken("the token does not count yet");
    return callerOf({ ...said }, { ...this.settings, claims });
  }

  /** Its keys. The library fetches them when a token names an unknown key, but not too often. */
  async #keySet(): Promise<JWTVerifyGetKey> {
    const url = this.settings.jwksUrl ?? (await this.#discover()).jwks_uri;
    if (url === undefined) throw new Error("its metadata names no keys (jwks_uri)");
    if (this.#keys?.url !== url)
      this.#keys = {
        url,
        set: createRemoteJWKSet(new URL(url), {
          timeoutDuration: PATIENCE_MS,
          cooldownDuration: REFETCH_AFTER_MS,
          cacheMaxAge: KEYS_COUNT_MS,
          [customFetch]: boundedFetch,
        }),
      };
    return this.#keys.set;
  }

  /** Its metadata: by OpenID Connect Discovery, else by RFC 8414. */
  #discover(): Promise<oauth.AuthorizationServer> {
    const now = this.#options.clock.monotonicMs();
    if (this.#metadata !== undefined && now < this.#metadata.until) return this.#metadata.value;
    const found = { value: this.#fetchMetadata(), until: now + METADATA_COUNTS_MS };
    this.#metadata = found;
    found.value.catch(() => {
      found.until = this.#options.clock.monotonicMs() + RETRY_AFTER_MS;
    });
    return found.value;
  }

  async #fetchMetadata(): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(this.settings.issuer);
    const discover = async (algorithm: "oidc" | "oauth2") => {
      const response = await oauth.discoveryRequest(issuer, { algorithm, ...insecure(issuer.href) });
      return oauth.processDiscoveryResponse(new URL(this.settings.issuer), response);
    };
    try {
      return await discover("oidc");
    } catch (error) {
      return discover("oauth2").catch(() => Promise.reject(error));
    }
  }

  #refusalOf(error: unknown): Refusal {
    if (error instanceof errors.JWTExpired) return invalidToken("the token has expired");
    if (error instanceof errors.JWTClaimValidationFailed)
      return invalidToken(WRONG_CLAIMS[error.claim] ?? "the token has a claim that is not right");
    if (error instanceof errors.JOSEAlgNotAllowed)
      return invalidToken("the token is signed by an algorithm that does not count here");
    const isOurs =
      error instanceof errors.JWKSTimeout ||
      (error instanceof errors.JOSEError && error.code === "ERR_JOSE_GENERIC") ||
      error instanceof errors.JWKSInvalid ||
      !(error instanceof errors.JOSEError);
    return isOurs ? this.#unavailable(error) : invalidToken("the token is not signed by its issuer");
  }

  #unavailable(error: unknown): Refusal {
    const { issuer } = this.settings;
    this.#options.onWarning(`issuer ${issuer} could not be asked: ${messageOf(error)}`);
    return {
      error: "temporarily_unavailable",
      message: "whose the token is cannot be found out now; try again",
    };
  }
}

const WRONG_CLAIMS: Readonly<Record<string, string>> = {
  aud: "the token is for another audience",
  iss: "the token is another issuer's",
  nbf: "the token does not count yet",
  exp: "the token does not say when it expires",
};

/** The `fetch` options of the libraries. An issuer on this machine may be reached without TLS, which the settings have checked. */
function insecure(url: string) {
  return {
    [oauth.customFetch]: boundedFetch,
    [oauth.allowInsecureRequests]: url.startsWith("http:"),
  };
}

/** Follows no redirects, and refuses large and late answers. */
async function boundedFetch(url: string | URL, init: object = {}): Promise<Response> {
  const given = init as RequestInit;
  const limit = AbortSignal.timeout(PATIENCE_MS);
  const signal = given.signal ? AbortSignal.any([given.signal, limit]) : limit;
  const response = await outgoingFetch(url, { ...given, redirect: "manual", signal });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new TypeError(`its answer has more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  const hasBody = status !== 204 && status !== 304 && status >= 200;
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers });
}
