import { type Fetch, outgoingFetch } from "../../system/outgoing.ts";
import type { Authorization, Challenge } from "./authorization.ts";

/** The most times that one request is sent: unchanged, with a newer token, and with a token for more scopes. */
const MAX_SENDS = 3;

/**
 * Adds a server's token only to requests to the server's own origin. A challenged request was not carried out, and is sent again if
 * there is another token.
 */
export function buildAuthorizedFetch(fetch: Fetch, serverUrl: URL, authorization: Authorization): Fetch {
  return async (input, init = {}) => {
    if (new URL(input).origin !== serverUrl.origin) return fetch(input, init);
    const signal = init.signal ?? undefined;
    for (let sends = 1; ; sends++) {
      const token = await authorization.token(signal);
      const response = await fetch(input, token === undefined ? init : withToken(init, token));
      const challenge = challengeOf(response);
      if (challenge === undefined || sends === MAX_SENDS) return response;
      const isAnother = await authorization.challenged(challenge, token, signal);
      if (!isAnother) return response;
      await response.body?.cancel().catch(() => {});
    }
  };
}

function withToken(init: RequestInit, token: string): RequestInit {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${token}`);
  // Following a redirect makes a new request, for which this function decides again what to add.
  return { ...init, headers, redirect: "manual" };
}

/** The challenge in a response; `undefined` if a token would not help. */
function challengeOf({ status, headers }: Pick<Response, "status" | "headers">): Challenge | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const parameters = tokenParameters(headers.get("www-authenticate") ?? "");
  if (status === 403 && parameters?.get("error") !== "insufficient_scope") return undefined;
  return {
    kind: status === 401 ? "unauthorized" : "insufficient_scope",
    isOfTokens: parameters !== undefined,
    resourceMetadataUrl: parameters?.get("resource_metadata"),
    scope: parameters?.get("scope"),
  };
}

const MAX_HEADER_CHARS = 8_192;

/**
 * The parameters of the `Bearer` challenge in a `WWW-Authenticate` header, which may contain challenges of other schemes (RFC 9110,
 * section 11.6.1). Of two parameters with one name, the first counts.
 */
function tokenParameters(header: string): Map<string, string> | undefined {
  const begin = /(?:^|,)\s*Bearer(?:\s|,|$)/i.exec(header);
  if (begin === null) return undefined;
  const parameters = new Map<string, string>();
  let rest = header.slice(begin.index + begin[0].length).slice(0, MAX_HEADER_CHARS);
  for (;;) {
    const next = /^[\s,]*([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/.exec(rest);
    if (next === null) return parameters;
    const [all, name = "", quoted, bare = ""] = next;
    const value = quoted === undefined ? bare : quoted.replace(/\\(.)/g, "$1");
    if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value);
    rest = rest.slice(all.length);
  }
}

const PATIENCE_MS = 20_000;
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "ptc", version: "0" } },
};

/**
 * Sends a server a first request without a token, and returns its challenge; `undefined` if it does not challenge or cannot be
 * reached.
 */
export async function askForChallenge(
  {
    transport,
    url,
    headers,
  }: { transport: "http" | "sse" | "openapi"; url: string; headers: Readonly<Record<string, string>> },
  signal?: AbortSignal,
): Promise<Challenge | undefined> {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  const isStream = transport !== "http";
  try {
    const response = await outgoingFetch(url, {
      method: isStream ? "GET" : "POST",
      headers: {
        ...headers,
        accept: isStream ? "text/event-stream, */*;q=0.5" : "application/json, text/event-stream",
        ...(isStream ? {} : { "content-type": "application/json" }),
      },
      ...(isStream ? {} : { body: JSON.stringify(INITIALIZE) }),
      redirect: "manual",
      signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    });
    const challenge = challengeOf(response);
    await response.body?.cancel().catch(() => {});
    return challenge;
  } catch {
    return undefined;
  }
}
