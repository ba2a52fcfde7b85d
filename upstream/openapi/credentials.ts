/**
 * The credentials that a description asks for (OpenAPI 3.1, "Security Scheme Object"): keys in queries, headers and cookies, and HTTP
 * authentication. The description says where each goes, and ptc.yaml what it is. They are added to a request as it is sent, so that no
 * URL that anything else sees has them.
 */
import { isObject } from "../../base/json.ts";
import { listUpTo, visibleLine } from "../../base/visible-text.ts";
import { UpstreamError } from "../upstream-error.ts";
import { type ApiDescription, References } from "./description.ts";

/** What begins the names of credentials among the values of a server. No header's name has a slash. */
export const CREDENTIALS = "credentials/";
const MAX_LISTED_CHARS = 500;

/** Headers that HTTP itself needs, and no key may be. */
const NO_KEYS =
  /^(connection|content-.*|expect|host|keep-alive|proxy-.*|sec-.*|te|trailer|transfer-encoding|upgrade|via)$/i;

export interface ApiCredential {
  /** The name of its security scheme. */
  readonly scheme: string;
  readonly in: "query" | "header" | "cookie";
  readonly name: string;
  /** As it is sent, before any encoding. */
  readonly value: string;
}

/** What ptc sends with each request, and no tool has as an argument. */
export type SentAlways = readonly Pick<ApiCredential, "in" | "name">[];

/** The security schemes of a description, by name, with the members that say where a credential goes. */
export type SecuritySchemes = readonly (readonly [name: string, scheme: Readonly<Record<string, unknown>>])[];

const MAX_SCHEMES = 1_000;

export function readSecuritySchemes({ document }: Pick<ApiDescription, "document">): SecuritySchemes {
  const components = isObject(document.components) ? document.components : {};
  const schemes = isObject(components.securitySchemes) ? components.securitySchemes : {};
  const references = new References(document);
  return Object.entries(schemes)
    .slice(0, MAX_SCHEMES)
    .flatMap(([name, entry]) => {
      const found = references.resolve(entry);
      if (found === undefined) return [];
      const { type, name: key, in: place, scheme } = found;
      return [[name, { type, name: key, in: place, scheme }] as const];
    });
}

/**
 * Where ptc sends credentials and headers of its own.
 *
 * @param names the credentials of ptc.yaml, by their schemes. @param headers the names of its headers.
 */
export function placesOf(
  schemes: SecuritySchemes,
  names: readonly string[],
  headers: readonly string[],
): SentAlways {
  const ofSchemes = schemes.flatMap(([own, { type, name, in: place }]): SentAlways => {
    if (!names.includes(own)) return [];
    if (type !== "apiKey") return [{ in: "header", name: "authorization" }];
    const isPlace = place === "query" || place === "header" || place === "cookie";
    return isPlace && typeof name === "string" ? [{ in: place, name }] : [];
  });
  return [...ofSchemes, ...headers.map((name) => ({ in: "header" as const, name }))];
}

/**
 * The credentials of an API.
 *
 * @param values the values of its server, of which those under `credentials/NAME` are meant.
 * @throws UpstreamError where the description has no such scheme, or one that a secret alone does not serve.
 */
export function readCredentials(
  schemes: SecuritySchemes,
  values: Readonly<Record<string, string>>,
): ApiCredential[] {
  return Object.entries(values).flatMap(([key, value]) => {
    if (!key.startsWith(CREDENTIALS)) return [];
    const scheme = key.slice(CREDENTIALS.length);
    const wrong = (what: string): never => {
      throw new UpstreamError("start_failed", `credentials.${scheme}: ${what}`);
    };
    const found = schemes.find(([own]) => own === scheme)?.[1];
    if (found === undefined) {
      const names = listUpTo(
        schemes.map(([own]) => visibleLine(own)),
        MAX_LISTED_CHARS,
      );
      return wrong(
        `the OpenAPI description has no such security scheme; ${names === "" ? "it has none" : `it has ${names}`}`,
      );
    }
    const { type, name, in: place, scheme: method } = found;
    if (type === "apiKey") {
      if (typeof name !== "string" || name === "" || (place === "header" && NO_KEYS.test(name)))
        return wrong("the OpenAPI description sends it under a name that no key may have");
      if (place === "query" || place === "header" || place === "cookie")
        return [{ scheme, in: place, name, value }];
      return wrong("the OpenAPI description does not say where it is sent");
    }
    if (type !== "http" || typeof method !== "string")
      return wrong(
        `it is of type ${visibleLine(String(type)).slice(0, 40)}; write \`auth\` for logins, or \`headers\``,
      );
    const authorization = { scheme, in: "header", name: "authorization" } as const;
    if (method.toLowerCase() !== "basic")
      return [
        { ...authorization, value: `${/^bearer$/i.test(method) ? "Bearer" : visibleLine(method)} ${value}` },
      ];
    if (!value.includes(":")) return wrong("it is HTTP basic; write `USER:PASSWORD`");
    return [{ ...authorization, value: `Basic ${Buffer.from(value).toString("base64")}` }];
  });
}

/** The alternatives of schemes that an operation asks for, of which one has to be met; `undefined` where nothing says so. */
export function readSecurity(own: unknown, ofAll: unknown): readonly (readonly string[])[] | undefined {
  const said = Array.isArray(own) ? own : Array.isArray(ofAll) ? ofAll : undefined;
  return said?.flatMap((each) => (isObject(each) ? [Object.keys(each)] : []));
}

/**
 * The credentials that a request needs: of the first alternative that all are there for, else of any. An operation of which the
 * description says that it needs none is sent none.
 */
export function neededCredentials(
  security: readonly (readonly string[])[] | undefined,
  all: readonly ApiCredential[],
): readonly ApiCredential[] {
  if (security === undefined || all.length === 0) return all;
  const has = (scheme: string) => all.some((each) => each.scheme === scheme);
  const named = security.filter((alternative) => alternative.length > 0);
  const met = named.find((alternative) => alternative.every(has)) ?? named.flat();
  return all.filter(({ scheme }) => met.includes(scheme));
}

/** A request as it is sent, with its credentials. Those in a URL are once in it, wherever it comes from. */
export function withCredentials(
  { url, headers }: { url: URL; headers: Headers },
  credentials: readonly ApiCredential[],
): { url: URL; headers: Headers } {
  if (credentials.length === 0) return { url, headers };
  const sent = { url: new URL(url), headers: new Headers(headers) };
  for (const { in: place, name, value, scheme } of credentials) {
    if (place === "query") {
      const pair = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
      const others = sent.url.search
        .slice(1)
        .split("&")
        .filter((each) => each !== "" && decodeName(each) !== name);
      sent.url.search = [...others, pair].join("&");
      continue;
    }
    try {
      if (place === "header") sent.headers.set(name, value);
      else {
        const others = sent.headers.get("cookie");
        const own = `${name}=${value}`;
        sent.headers.set("cookie", others === null ? own : `${others}; ${own}`);
      }
    } catch {
      throw new UpstreamError(
        "start_failed",
        `credentials.${scheme}: its name or its value holds a character that no HTTP header may`,
      );
    }
  }
  return sent;
}

function decodeName(pair: string): string {
  return new URLSearchParams(pair).keys().next().value ?? "";
}
