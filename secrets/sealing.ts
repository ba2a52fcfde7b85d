import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";

/** AES-256 in Galois/Counter Mode (NIST SP 800-38D), with a random nonce of 96 bits for each value. */
const ALGORITHM = "aes-256-gcm";
const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export const SEALING_KEY_BYTES = 32;

/** A sealed value was not sealed with this key and for this purpose. */
export class SealingError extends Error {
  override readonly name = "SealingError";
}

/** Encrypts and authenticates bytes. @param purpose says what they are and whose. Unsealing requires the same purpose. */
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

/** Reverses `seal`. @throws SealingError when the bytes, the key or the purpose differ from those of sealing. */
export function unseal(key: Uint8Array, sealed: Uint8Array, purpose: string): Buffer {
  if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORMAT)
    throw new SealingError("it is not a sealed value");
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

/** Seals and unseals stored values with its keys. */
export interface Sealer {
  seal(bytes: Uint8Array, purpose: string): Buffer;
  /** @throws SealingError */
  unseal(sealed: Uint8Array, purpose: string): Buffer;
}

/** The format of values that begin with the name of one of several keys. */
const NAMED = 2;
const NAME_BYTES = 4;

/** Several keys. The first one seals and all unseal, so that keys can be rotated. */
export class KeyList implements Sealer {
  readonly #keys: readonly { name: Buffer; key: Uint8Array }[];

  /** @param keys at least one key, each of `SEALING_KEY_BYTES` bytes. */
  constructor(keys: readonly Uint8Array[]) {
    this.#keys = keys.map((key) => ({ name: nameOf(key), key }));
  }

  seal(bytes: Uint8Array, purpose: string): Buffer {
    const [first] = this.#keys;
    if (first === undefined) throw new SealingError("there is no key");
    return Buffer.concat([Uint8Array.of(NAMED), first.name, seal(first.key, bytes, purpose)]);
  }

  unseal(sealed: Uint8Array, purpose: string): Buffer {
    const found = this.#keys.find(({ name }) => name.equals(sealed.subarray(1, 1 + NAME_BYTES)));
    if (sealed[0] !== NAMED || found === undefined)
      throw new SealingError("it was sealed with a key that storage.encryption_key does not list");
    return unseal(found.key, sealed.subarray(1 + NAME_BYTES), purpose);
  }

  /** Whether a value is sealed with the first key. */
  isCurrent(sealed: Uint8Array): boolean {
    return sealed[0] === NAMED && this.#keys[0]?.name.equals(sealed.subarray(1, 1 + NAME_BYTES)) === true;
  }
}

/** A name that distinguishes keys and reveals nothing about them. */
function nameOf(key: Uint8Array): Buffer {
  return createHmac("sha256", key).update("ptc key name").digest().subarray(0, NAME_BYTES);
}

/** Parses a key: 32 bytes in base64 or hexadecimal digits. Returns `undefined` for any other text. */
export function parseSealingKey(text: string): Uint8Array | undefined {
  const trimmed = text.trim();
  if (/^[0-9a-f]{64}$/i.test(trimmed)) return Buffer.from(trimmed, "hex");
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return undefined;
  const key = Buffer.from(trimmed, "base64");
  return key.length === SEALING_KEY_BYTES ? key : undefined;
}
