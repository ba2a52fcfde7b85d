/** Signs what ptc posts to configured addresses, as Standard Webhooks defines it, so that receivers know that ptc sent it. */
import { createHmac } from "node:crypto";

/**
 * The headers for posting a JSON text.
 *
 * @param id the id of the message; the same for each retry.
 * @throws Error for an invalid secret
 */
export function signedHeaders(secret: string, id: string, body: string): Record<string, string> {
  const at = Math.floor(Date.now() / 1_000);
  const signature = createHmac("sha256", keyOf(secret)).update(`${id}.${at}.${body}`).digest("base64");
  return {
    "Content-Type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(at),
    "webhook-signature": `v1,${signature}`,
  };
}

/** The key in a secret of the Standard Webhooks format. @throws Error */
function keyOf(secret: string): Buffer {
  const [, encoded = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = Buffer.from(encoded, "base64");
  if (key.length < 24 || key.length > 64)
    throw new Error("its secret must be `whsec_` and 24 to 64 bytes in base64");
  return key;
}

/** Parses an address: https, or http on this machine. @throws Error that does not repeat the text */
export function addressOf(text: string): URL {
  if (URL.canParse(text)) {
    const url = new URL(text);
    const isHere = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
    if (url.protocol === "https:" || (url.protocol === "http:" && isHere)) return url;
  }
  throw new Error("its URL must be an https URL (http on this machine)");
}
