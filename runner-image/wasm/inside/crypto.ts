/** What programs in an interpreter have of node:crypto and of Web Crypto: random values, hashes and HMACs, computed by the process. */
import { Buffer } from "buffer";
import type { HostFunctions } from "../host-functions.ts";

type Data = string | ArrayBuffer | ArrayBufferView;

/** The most bytes that Web Crypto gives at a time. */
const MAX_RANDOM_BYTES = 65_536;
const TWO_POW_48 = 2 ** 48;

export function makeCrypto({ randomBytes: draw, hash, hmac, nowMs }: HostFunctions) {
  const bytesOf = (data: Data, encoding?: string): Uint8Array => {
    if (typeof data === "string") return Buffer.from(data, encoding as BufferEncoding);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    throw new TypeError("the data must be a text, an ArrayBuffer or a view of one");
  };
  const copyOf = (bytes: Uint8Array): ArrayBuffer => bytes.slice().buffer as ArrayBuffer;
  const fill = (view: ArrayBufferView): void => {
    new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(new Uint8Array(draw(view.byteLength)));
  };
  const uuid = (): string => {
    const bytes = new Uint8Array(draw(16));
    bytes[6] = 0x40 | ((bytes[6] ?? 0) & 0x0f);
    bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
    return dashed(bytes);
  };
  const uuidV7 = (): string => {
    const bytes = new Uint8Array(draw(16));
    const now = nowMs();
    for (let index = 0; index < 6; index++) bytes[index] = Math.floor(now / 2 ** (8 * (5 - index))) % 256;
    bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
    bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
    return dashed(bytes);
  };

  class Hash {
    readonly #algorithm: string;
    readonly #key: ArrayBuffer | undefined;
    readonly #parts: Uint8Array[] = [];
    #isDone = false;

    constructor(algorithm: string, key?: Data) {
      this.#algorithm = String(algorithm);
      this.#key = key === undefined ? undefined : copyOf(bytesOf(key));
      // Refuses an algorithm that is not known.
      this.#compute(new Uint8Array());
    }

    update(data: Data, encoding?: string): this {
      if (this.#isDone) throw new Error("Digest already called");
      this.#parts.push(bytesOf(data, encoding).slice());
      return this;
    }

    digest(encoding?: string): Buffer | string {
      if (this.#isDone) throw new Error("Digest already called");
      this.#isDone = true;
      const result = Buffer.from(this.#compute(Buffer.concat(this.#parts)));
      return encoding === undefined || encoding === "buffer"
        ? result
        : result.toString(encoding as BufferEncoding);
    }

    #compute(bytes: Uint8Array): ArrayBuffer {
      const data = copyOf(bytes);
      return this.#key === undefined ? hash(this.#algorithm, data) : hmac(this.#algorithm, this.#key, data);
    }
  }

  const subtle = {
    async digest(algorithm: string | { name: string }, data: ArrayBuffer | ArrayBufferView) {
      const name = typeof algorithm === "string" ? algorithm : algorithm.name;
      if (!/^SHA-(?:1|256|384|512)$/i.test(name))
        throw new DOMException("Unrecognized algorithm name", "NotSupportedError");
      return hash(name.replace("-", ""), copyOf(bytesOf(data)));
    },
  };
  const getRandomValues = <T extends ArrayBufferView>(view: T): T => {
    if (!ArrayBuffer.isView(view) || view instanceof DataView || /^Float/.test(view.constructor.name))
      throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
    if (view.byteLength > MAX_RANDOM_BYTES)
      throw new DOMException(`The requested length exceeds ${MAX_RANDOM_BYTES} bytes`, "QuotaExceededError");
    fill(view);
    return view;
  };
  const webcrypto = { subtle, getRandomValues, randomUUID: uuid };
  const randomInt = (...args: number[]): number => {
    const [low, high] = args.length < 2 ? [0, args[0] ?? 0] : [args[0] ?? 0, args[1] ?? 0];
    const range = high - low;
    if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || range <= 0 || range > TWO_POW_48)
      throw new RangeError('The value of "max" is out of range');
    const limit = TWO_POW_48 - (TWO_POW_48 % range);
    for (;;) {
      const value = new Uint8Array(draw(6)).reduce((sum, byte) => sum * 256 + byte, 0);
      if (value < limit) return low + (value % range);
    }
  };

  const node = {
    createHash: (algorithm: string) => new Hash(algorithm),
    createHmac: (algorithm: string, key: Data) => new Hash(algorithm, key),
    hash: (algorithm: string, data: Data, encoding = "hex") =>
      new Hash(algorithm).update(data).digest(encoding),
    getRandomValues,
    randomBytes: (size: number) => Buffer.from(draw(checkSize(size))),
    randomFillSync<T extends ArrayBufferView>(view: T): T {
      fill(view);
      return view;
    },
    randomInt,
    randomUUID: uuid,
    randomUUIDv7: uuidV7,
    subtle,
    timingSafeEqual(a: ArrayBufferView, b: ArrayBufferView): boolean {
      const [left, right] = [bytesOf(a), bytesOf(b)];
      if (left.length !== right.length) throw new RangeError("Input buffers must have the same byte length");
      return left.reduce((difference, byte, index) => difference | (byte ^ (right[index] ?? 0)), 0) === 0;
    },
    webcrypto,
  };
  return { node, web: webcrypto };
}

function checkSize(size: number): number {
  if (!Number.isInteger(size) || size < 0 || size > 2 ** 31 - 1)
    throw new RangeError('The value of "size" is out of range');
  return size;
}

function dashed(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
