/** Adds the encoding `base64url` (RFC 4648, section 5), which this `Buffer` lacks. It reads that alphabet as base64 already. */
import { Buffer } from "buffer";

const NAME = "base64url";

const isIt = (encoding: unknown) => typeof encoding === "string" && encoding.toLowerCase() === NAME;
const known = <T>(encoding: T): T | "base64" => (isIt(encoding) ? "base64" : encoding);

export function installBase64Url(): void {
  const { from, byteLength, isEncoding } = Buffer;
  const { toString: decode, write } = Buffer.prototype;
  const define = (target: object, name: string, value: (...args: never[]) => unknown) =>
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
  define(Buffer, "from", (value: unknown, second?: unknown, third?: unknown) =>
    Reflect.apply(from, Buffer, [value, known(second), third]),
  );
  define(Buffer, "byteLength", (value: string, encoding?: BufferEncoding) =>
    byteLength(value, known(encoding)),
  );
  define(Buffer, "isEncoding", (encoding: unknown) => isIt(encoding) || isEncoding(encoding as string));
  define(Buffer.prototype, "write", function (this: Buffer, ...args: unknown[]) {
    return Reflect.apply(write, this, args.map(known));
  });
  define(Buffer.prototype, "toString", function (this: Buffer, encoding?: unknown, ...range: unknown[]) {
    const text = Reflect.apply(decode, this, [known(encoding), ...range]) as string;
    return isIt(encoding) ? text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "") : text;
  });
}
