import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** AES-256 in Galois/Counter Mode (NIST SP 800-38D), with a random nonce of 96 bits for each value. */
const ALGORITHM = "aes-256-gcm";
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const SEALING_KEY_BYTES = 32;

/** A sealed value is not what was sealed under this key and for this purpose. */
export class SealingError extends Error {
  override readonly name = "SealingError";
}

/** Encrypts and authenticates bytes. @param purpose what they are and whose, which opening must name as well. */
export function seal(key: Uint8Array, bytes: Uint8Array, purpose: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(purpose));
  return Buffer.concat([
    Uint8Array.of(FORMAT),
    nonce,
    cipher.update(bytes),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
}

/** @throws SealingError when the bytes, the key or the purpose are others than those of sealing. */
export function unseal(key: Uint8Array, sealed: Uint8Array, purpose: string): Buffer {
  if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORMAT)
    throw new SealingError("it is not what was sealed");
  const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(1, 1 + NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(purpose));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
  try {
    const text = decipher.update(sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES));
    return Buffer.concat([text, decipher.final()]);
  } catch (cause) {
    throw new SealingError("it was sealed with another key, or changed since", { cause });
  }
}
