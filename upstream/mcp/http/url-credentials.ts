import { decodePercent } from "../../../secrets/redaction-secrets.ts";

/**
 * A target's URL and headers as `fetch` takes them. `fetch` refuses a URL with a user in it, so that user and password become a
 * header of Basic authentication (RFC 7617), unless there is an `authorization` header already.
 */
export function splitCredentials(target: { url: string; headers: Readonly<Record<string, string>> }): {
  url: URL;
  headers: Headers;
} {
  const url = new URL(target.url);
  const headers = new Headers(target.headers);
  if (url.username !== "" || url.password !== "") {
    const user = `${decodePercent(url.username)}:${decodePercent(url.password)}`;
    if (!headers.has("authorization"))
      headers.set("authorization", `Basic ${Buffer.from(user).toString("base64")}`);
    url.username = "";
    url.password = "";
  }
  return { url, headers };
}
