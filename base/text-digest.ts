import { hash } from "node:crypto";

/** `sha256:<hex>` over bytes, or over the UTF-8 of a text. */
export function textDigest(text: string | Uint8Array): string {
  return `sha256:${hash("sha256", text)}`;
}
