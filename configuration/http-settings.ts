import { isIPv6 } from "node:net";
import { resolve } from "node:path";
import type { HttpSettings, IssuerSettings } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import { type EntrySurroundings, secretOf } from "./outside-values.ts";
import { isLoopbackName } from "./settings/http-settings.ts";
import type { Settings } from "./settings/settings.ts";

type Given = Settings["http"];

/** Problems of `http`, whose keys and types are valid by the schema. */
export function findHttpProblems({ listen, public_url, trusted_proxies, auth }: Given): Problem[] {
  const problems: Problem[] = [];
  const add = (path: readonly PropertyKey[], message: string) =>
    problems.push({ path: ["http", ...path], message });
  if (listen !== undefined && Number(/:(\d+)$/.exec(listen)?.[1]) > 65_535)
    add(["listen"], "has a port above 65535");
  for (const [index, entry] of trusted_proxies.entries()) {
    const [, bits = "0"] = /\/(\d+)$/.exec(entry) ?? [];
    if (Number(bits) > (isIPv6(entry.replace(/\/.*/, "")) ? 128 : 32))
      add(["trusted_proxies", index], "is no network; write one such as 10.0.0.0/8");
  }
  const issuers = auth?.issuers ?? [];
  const twice = issuers.findIndex(
    ({ issuer }, at) => issuers.findIndex((each) => each.issuer === issuer) < at,
  );
  if (twice >= 0) add(["auth", "issuers", twice, "issuer"], "stands twice; keep one of the entries");
  const unreachable = issuers.findIndex(({ login }) => login !== undefined);
  if (unreachable >= 0 && public_url === undefined)
    add(["auth", "issuers", unreachable, "login"], "needs `http.public_url`, where browsers reach ptc");
  const lacking = issuers.findIndex(({ audience }) => audience === undefined);
  if (lacking >= 0 && public_url === undefined)
    add(
      ["auth", "issuers", lacking],
      "needs `audience`, or `http.public_url`, to know which tokens are for ptc",
    );
  if (auth !== undefined && issuers.length === 0 && !auth.tokens)
    add(["auth"], "lets nobody in; add `issuers`, or set `tokens: true`");
  return problems;
}

/** Where the console is, below the origin of its server. */
export const CONSOLE_PATH = "/console";

/** Where people who log in find the console; `undefined` where no issuer can say who sits at a browser. */
export function consoleAddress({ publicUrl, auth }: HttpSettings): string | undefined {
  const hasLogin = auth?.issuers.some(({ login }) => login !== undefined) === true;
  return publicUrl === undefined || !hasLogin ? undefined : new URL(CONSOLE_PATH, publicUrl).href;
}

export function buildHttp(given: Given, surroundings: EntrySurroundings): HttpSettings {
  const { directory } = surroundings;
  return {
    listen: given.listen,
    publicUrl: given.public_url,
    tls: given.tls && {
      cert: resolve(directory, given.tls.cert),
      key: resolve(directory, given.tls.key),
    },
    trustedProxies: given.trusted_proxies,
    drainMs: given.drain_seconds * 1_000,
    auth: given.auth && {
      tokens: given.auth.tokens,
      issuers: given.auth.issuers.map((issuer, index) => buildIssuer(issuer, index, surroundings)),
    },
  };
}

function buildIssuer(
  given: NonNullable<Given["auth"]>["issuers"][number],
  index: number,
  surroundings: EntrySurroundings,
): IssuerSettings {
  const path = ["http", "auth", "issuers", index];
  const { introspection, audience, scopes = {} } = given;
  const secret = secretOf(
    introspection?.client_secret,
    [...path, "introspection", "client_secret"],
    surroundings,
  );
  const off = surroundings.offOf([...path, "introspection"]) ?? surroundings.offOf([...path, "login"]);
  const { login } = given;
  return {
    issuer: given.issuer,
    audiences: audience === undefined ? [] : [audience].flat(),
    algorithms: given.algorithms,
    clockSkewSeconds: given.clock_skew_seconds,
    jwksUrl: given.jwks_url,
    claims: { subject: given.subject, name: given.name, groups: given.groups },
    scopes,
    requestScopes: given.request_scopes,
    login: login && {
      clientId: login.client_id,
      clientSecret: secretOf(login.client_secret, [...path, "login", "client_secret"], surroundings),
      scopes: login.scopes,
    },
    introspection:
      introspection === undefined || secret === undefined
        ? undefined
        : {
            clientId: introspection.client_id,
            clientSecret: secret,
            url: introspection.url,
            cacheMs: introspection.cache_seconds * 1_000,
          },
    ...(off === undefined ? {} : { off }),
  };
}

/** Where ptc listens when nothing says it. */
export const DEFAULT_LISTEN = "127.0.0.1:8080";

/** An address of `http.listen` or `--http`; `undefined` for another text. */
export function parseListen(text: string): { host: string; port: number; isLoopback: boolean } | undefined {
  const [, host = "", port = ""] = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/.exec(text) ?? [];
  if (host === "" || Number(port) > 65_535) return undefined;
  return {
    host: host.replace(/^\[|\]$/g, ""),
    port: Number(port),
    isLoopback: isLoopbackName(host.toLowerCase()),
  };
}

/** The secrets that stand in the settings themselves. */
export function httpSecrets({ auth }: HttpSettings): string[] {
  return (auth?.issuers ?? []).flatMap(({ introspection, login }) =>
    [introspection?.clientSecret, login?.clientSecret].filter((each) => typeof each === "string"),
  );
}
