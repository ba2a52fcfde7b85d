/**
 * Where requests go (OpenAPI 3.1, "Server Object"). A path or an operation may have servers of its own. Requests of an operation go
 * there where that is below the URL of the API, and to the API's own URL where they are those of the whole description. Everything
 * else is another API, to which no credentials go: such an operation is left out.
 */
import { isObject } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { zoneOf } from "../authorization/guarded-fetch.ts";
import { UpstreamError } from "../upstream-error.ts";
import { folderOf, isBelow } from "./paths.ts";

const MAX_SERVERS = 100;

/** The URLs of a list of servers, with the defaults of their variables. One with a variable that has none is left out. */
export function serverUrls(servers: unknown): string[] {
  const urls = (Array.isArray(servers) ? servers : []).slice(0, MAX_SERVERS).flatMap((server: unknown) => {
    if (!isObject(server) || typeof server.url !== "string") return [];
    const variables = isObject(server.variables) ? server.variables : {};
    let isWhole = true;
    const url = server.url.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
      const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
      const value = isObject(variable)
        ? (variable.default ?? (Array.isArray(variable.enum) ? variable.enum[0] : undefined))
        : undefined;
      isWhole &&= typeof value === "string" || typeof value === "number";
      return String(value);
    });
    return isWhole ? [url] : [];
  });
  return [...new Set(urls)];
}

/**
 * The URL of the API according to its description. Because descriptions are not trusted, it must be on a public host, or on the host
 * of the description.
 *
 * @param from the URL of the description, against which its URLs are resolved; `undefined` for a file.
 * @throws UpstreamError
 */
export function baseOf(urls: readonly string[], from: URL | undefined): URL {
  const resolved = resolveAll(urls, from);
  const [first] = resolved;
  // Swagger 2.0 names one host once for each scheme.
  const url =
    resolved.find(
      (each) => each.protocol === "https:" && each.host === first?.host && each.pathname === first.pathname,
    ) ?? first;
  const advice = "say with base_url where the API is";
  if (url === undefined)
    throw new UpstreamError("protocol_error", `the OpenAPI description names no host; ${advice}`);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isName = !/^[\d.]+$|:/.test(host);
  const isHere = host === "localhost" || host.endsWith(".localhost");
  if (url.origin !== from?.origin && (isHere || (!isName && zoneOf(host) !== "public")))
    throw new UpstreamError(
      "protocol_error",
      `the OpenAPI description leads to ${visibleLine(url.host)}, which is no public host; ${advice}`,
    );
  url.username = "";
  url.password = "";
  return url;
}

/**
 * Where the requests of an operation with servers of its own go: the first of them that is below the URL of the API, or that is, or is
 * below, one of the whole description, which the API's URL stands for. `undefined` where none is.
 *
 * @param own the operation's servers.
 * @param all those of the whole description.
 */
export function placeOf(
  own: readonly string[],
  all: readonly string[],
  { base, from }: { base: URL; from: URL | undefined },
): URL | undefined {
  const known = resolveAll(all, from ?? base);
  for (const url of resolveAll(own, from ?? base)) {
    if (isBelow(base, url)) return url;
    for (const root of known)
      if (isBelow(root, url)) {
        const place = new URL(base);
        place.pathname =
          folderOf(base.pathname) + folderOf(url.pathname).slice(folderOf(root.pathname).length);
        if (isBelow(base, place)) return place;
      }
  }
  return undefined;
}

function resolveAll(urls: readonly string[], from: URL | undefined): URL[] {
  return urls.flatMap((text) => {
    const url = URL.canParse(text, from?.href) ? new URL(text, from?.href) : undefined;
    return url !== undefined && /^https?:$/.test(url.protocol) ? [url] : [];
  });
}
