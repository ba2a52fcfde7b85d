import crypto, { createCipheriv, createHash } from "node:crypto";
import { setFlagsFromString } from "node:v8";
import vm from "node:vm";
import { replaceFunction } from "./replace-function.ts";

const { randomBytes, randomFill, randomFillSync, randomInt, randomUUID, setEngine } = crypto;
const { createContext, isContext, runInContext, runInNewContext } = vm;
const { nextTick } = process;

/**
 * Loading this library calls `RAND_poll` of the OpenSSL in this process (../../reseed-library.ts). Node.js has no function for
 * that, and loads no other native code here.
 */
const RESEED_LIBRARY = `/opt/ptc/reseed-${process.arch}.so`;

type Callback = (error: null, value: unknown) => void;

/**
 * Gives the program randomness that follows from a seed: `Math.random`, also in new contexts of node:vm, and the random bytes,
 * numbers and UUIDs of node:crypto and Web Crypto. Keys, nonces and signatures that OpenSSL generates internally are untouched.
 */
export class ProgramRandomness {
  #numbers = new Keystream(randomBytes(32), "Math.random");
  #bytes = new Keystream(randomBytes(32), "crypto");
  #contexts = new Keystream(randomBytes(32), "node:vm");
  readonly #nowMs: () => number;

  /** `nowMs` is the program's clock: some UUIDs carry the time. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  seed(seed: Uint8Array): void {
    this.#numbers = new Keystream(seed, "Math.random");
    this.#bytes = new Keystream(seed, "crypto");
    this.#contexts = new Keystream(seed, "node:vm");
  }

  /** Seeds OpenSSL from the kernel, and everything else from OpenSSL. */
  renew(): void {
    try {
      setEngine(RESEED_LIBRARY);
    } catch {
      // It is not an engine, so Node.js refuses it after loading it. Whether OpenSSL was seeded shows in what it draws.
    }
    this.seed(randomBytes(32));
  }

  /** Replaces the realm's own randomness. Arguments are checked by the replaced functions. */
  install(): void {
    replaceFunction(Math, "random", () => this.#numbers.fraction());
    replaceFunction(crypto, "randomBytes", (size: number, done?: Callback) => this.#randomBytes(size, done));
    replaceFunction(crypto, "pseudoRandomBytes", (size: number, done?: Callback) =>
      this.#randomBytes(size, done),
    );
    replaceFunction(crypto, "randomFillSync", (...args: Parameters<typeof randomFillSync>) =>
      this.#randomFillSync(...args),
    );
    replaceFunction(crypto, "randomFill", (...args: unknown[]) => this.#randomFill(args));
    replaceFunction(crypto, "randomInt", (...args: unknown[]) => this.#randomInt(args));
    replaceFunction(crypto, "randomUUID", (options?: crypto.RandomUUIDOptions) => {
      if (options !== undefined) randomUUID(options);
      return this.#uuid(4);
    });
    replaceFunction(crypto, "randomUUIDv7", (options?: crypto.RandomUUIDOptions) => {
      if (options !== undefined) randomUUID(options);
      return this.#uuid(7);
    });
    this.#installWebCrypto();
    this.#installContexts();
    // An engine is native code, and programs may load none.
    replaceFunction(crypto, "setEngine", () => {
      throw new Error("engines of OpenSSL are native code, which is not loaded here");
    });
  }

  /** V8 seeds `Math.random` of each new context when it is first called there. */
  #installContexts(): void {
    const makeContext = (...args: Parameters<typeof createContext>) => {
      if (typeof args[0] === "object" && args[0] !== null && isContext(args[0]))
        return createContext(...args);
      setFlagsFromString(`--random-seed=${1 + Math.floor(this.#contexts.fraction() * MAX_V8_SEED)}`);
      try {
        const context = createContext(...args);
        runInContext("Math.random()", context);
        return context;
      } finally {
        // Threads have seeds of their own.
        setFlagsFromString("--random-seed=0");
      }
    };
    replaceFunction(vm, "createContext", makeContext);
    replaceFunction(vm, "runInNewContext", (...[code, object, options]: Parameters<typeof runInNewContext>) =>
      runInNewContext(code, makeContext(object, contextOptions(options)), options),
    );
    const { prototype } = vm.Script;
    const original = prototype.runInNewContext;
    replaceFunction(
      prototype,
      "runInNewContext",
      function (this: vm.Script, ...[object, options]: Parameters<typeof original>) {
        return original.call(this, makeContext(object, contextOptions(options)), options);
      },
    );
  }

  #installWebCrypto(): void {
    const prototype = Object.getPrototypeOf(crypto.webcrypto) as crypto.webcrypto.Crypto;
    const { getRandomValues, randomUUID: webRandomUUID } = prototype;
    const fill = (array: Uint8Array) => this.#fill(array);
    const uuid = () => this.#uuid(4);
    replaceFunction(
      prototype,
      "getRandomValues",
      function (this: unknown, ...args: [Uint8Array<ArrayBuffer>]) {
        Reflect.apply(getRandomValues, this, args);
        return fill(args[0]);
      },
    );
    replaceFunction(prototype, "randomUUID", function (this: unknown) {
      Reflect.apply(webRandomUUID, this, []);
      return uuid();
    });
  }

  #randomBytes(size: number, done?: Callback): Buffer | undefined {
    if (done !== undefined && typeof done !== "function") return randomBytes(size, done) as never;
    const bytes = this.#fill(randomBytes(size));
    if (done === undefined) return bytes;
    nextTick(done, null, bytes);
    return undefined;
  }

  #randomFillSync<T extends NodeJS.ArrayBufferView>(buffer: T, offset?: number, size?: number): T {
    randomFillSync(buffer, offset, size);
    const unit = "BYTES_PER_ELEMENT" in buffer ? Number(buffer.BYTES_PER_ELEMENT) : 1;
    const start = (offset ?? 0) * unit;
    this.#fill(buffer, start, size === undefined ? buffer.byteLength - start : size * unit);
    return buffer;
  }

  #randomFill(args: unknown[]): void {
    const at = args.findIndex((arg, index) => index > 0 && typeof arg === "function");
    // Without a callback it throws, saying which argument is wrong.
    if (at === -1) Reflect.apply(randomFill, crypto, args);
    const filled = this.#randomFillSync(...(args.slice(0, at) as [Uint8Array]));
    nextTick(args[at] as Callback, null, filled);
  }

  #randomInt(args: unknown[]): number | undefined {
    const done = args.findLast((arg) => typeof arg === "function") as Callback | undefined;
    const [first, second] = args.filter((arg) => arg !== done) as [number, number | undefined];
    Reflect.apply(randomInt, crypto, done === undefined ? args : [first, second]);
    const value = second === undefined ? this.#below(first) : first + this.#below(second - first);
    if (done === undefined) return value;
    nextTick(done, null, value);
    return undefined;
  }

  /** A whole number in [0, range), uniformly distributed. */
  #below(range: number): number {
    const all = 2 ** 48;
    const limit = all - (all % range);
    const bytes = Buffer.alloc(6);
    for (;;) {
      this.#bytes.fill(bytes);
      const value = bytes.readUIntBE(0, 6);
      if (value < limit) return value % range;
    }
  }

  /** RFC 9562. */
  #uuid(version: 4 | 7): string {
    const bytes = Buffer.alloc(16);
    this.#bytes.fill(bytes);
    if (version === 7) bytes.writeUIntBE(this.#nowMs(), 0, 6);
    bytes[6] = (version << 4) | (bytes.readUInt8(6) & 0x0f);
    bytes[8] = 0x80 | (bytes.readUInt8(8) & 0x3f);
    const hex = bytes.toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  #fill<T extends NodeJS.ArrayBufferView>(array: T, start = 0, length = array.byteLength - start): T {
    const buffer = ArrayBuffer.isView(array) ? array.buffer : array;
    const offset = ArrayBuffer.isView(array) ? array.byteOffset : 0;
    this.#bytes.fill(new Uint8Array(buffer, offset + start, length));
    return array;
  }
}

/** V8's seed is a signed 32-bit number, and 0 means none. */
const MAX_V8_SEED = 2 ** 31 - 2;

/** The options of a run in a new context that concern the context. */
function contextOptions(options: vm.RunningScriptInNewContextOptions | string = {}): vm.CreateContextOptions {
  if (typeof options === "string") return {};
  const { contextName, contextOrigin, contextCodeGeneration, microtaskMode } = options;
  return {
    ...(contextName === undefined ? {} : { name: contextName }),
    ...(contextOrigin === undefined ? {} : { origin: contextOrigin }),
    ...(contextCodeGeneration === undefined ? {} : { codeGeneration: contextCodeGeneration }),
    ...(microtaskMode === undefined ? {} : { microtaskMode }),
  };
}

const BLOCK_BYTES = 4_096;
const ZEROS = new Uint8Array(BLOCK_BYTES);
const TWO_POW_26 = 2 ** 26;
const TWO_POW_53 = 2 ** 53;

/** Random bytes that follow from a seed: AES-256 in counter mode. Streams of one seed under different names are independent. */
export class Keystream {
  readonly #seed: Uint8Array;
  readonly #name: string;
  /** Created when the first byte is taken: most programs take none. */
  #cipher: ReturnType<typeof createCipheriv> | undefined;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  readonly #words = new Uint32Array(this.#block.buffer);
  #used = BLOCK_BYTES;

  /** `seed` is at least 16 bytes that nobody can guess. */
  constructor(seed: Uint8Array, name: string) {
    this.#seed = seed;
    this.#name = name;
  }

  /** Overwrites all of `target` with the next bytes. */
  fill(target: Uint8Array): void {
    for (let done = 0; done < target.length; ) {
      if (this.#used === BLOCK_BYTES) this.#refill();
      const count = Math.min(target.length - done, BLOCK_BYTES - this.#used);
      target.set(this.#block.subarray(this.#used, this.#used + count), done);
      done += count;
      this.#used += count;
    }
  }

  /** A number in [0, 1) with 53 random bits. Only for a stream that is used for nothing else. */
  fraction(): number {
    if (this.#used === BLOCK_BYTES) this.#refill();
    const at = this.#used / 4;
    this.#used += 8;
    const high = (this.#words[at] as number) >>> 5;
    const low = (this.#words[at + 1] as number) >>> 6;
    return (high * TWO_POW_26 + low) / TWO_POW_53;
  }

  #refill(): void {
    this.#cipher ??= this.#makeCipher();
    this.#block.set(this.#cipher.update(ZEROS));
    this.#used = 0;
  }

  #makeCipher(): ReturnType<typeof createCipheriv> {
    const key = createHash("sha256").update(this.#name).update("\0").update(this.#seed).digest();
    return createCipheriv("aes-256-ctr", key, new Uint8Array(16));
  }
}
