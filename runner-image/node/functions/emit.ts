import { isObject } from "../../../base/json.ts";
import { EmittedBlock, MAX_EMITTED_BLOCKS, MAX_EMITTED_BYTES } from "../../../protocol/emitted.ts";

// The program shares this realm and may replace globals.
const { stringify } = JSON;
const { from, byteLength } = Buffer;

/** How to emit a value: without a type, a client could not show bytes. */
interface EmitOptions {
  mimeType?: unknown;
  name?: unknown;
}

const TAKES = "emit takes a text, bytes with { mimeType }, or content blocks as tools return them";

/**
 * Makes the function with which a program sends images, sound, files and texts to the client in addition to its output.
 *
 * @param send receives each block immediately.
 */
export function makeEmit(
  send: (block: EmittedBlock) => void,
): (value: unknown, options?: EmitOptions) => void {
  let blocks = 0;
  let bytes = 0;
  return (value, options = {}) => {
    const emitted = Array.isArray(value) ? value.map(blockOf) : [blockFor(value, options ?? {})];
    const sizes = emitted.map((block) => byteLength(stringify(block)));
    if (blocks + emitted.length > MAX_EMITTED_BLOCKS)
      throw new RangeError(`emit: a program may emit ${MAX_EMITTED_BLOCKS} blocks`);
    const all = sizes.reduce((sum, size) => sum + size, bytes);
    if (all > MAX_EMITTED_BYTES) {
      throw new RangeError(
        `emit: this would make ${all} bytes of base64 and text, and a program may emit ${MAX_EMITTED_BYTES}; emit less, or smaller images`,
      );
    }
    blocks += emitted.length;
    bytes = all;
    for (const block of emitted) send(block);
  };
}

/** The bytes of an image, a sound or a resource that a tool returned. A text is encoded in UTF-8. */
export function bytesOf(value: unknown): Uint8Array {
  if (Array.isArray(value) && value.length === 1) return bytesOf(value[0]);
  if (isObject(value)) {
    const base64 = [value.data, value.blob].find((each) => typeof each === "string");
    if (typeof base64 === "string") return copyOf(from(base64, "base64"));
    if (typeof value.text === "string") return copyOf(from(value.text, "utf8"));
    if (isObject(value.resource)) return bytesOf(value.resource);
    if (Array.isArray(value.contents)) return bytesOf(value.contents);
  }
  throw new TypeError("bytesOf takes one content block with data, such as an image, or one resource");
}

/** Copies bytes out of the pool that small buffers share. */
function copyOf(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer);
}

function blockFor(value: unknown, { mimeType, name }: EmitOptions): EmittedBlock {
  if (typeof value === "string") {
    if (name === undefined && mimeType === undefined) return { type: "text", text: value };
    return checked({ type: "resource", resource: { ...placed(name, mimeType), text: value } });
  }
  const bytes = bytesIn(value);
  if (bytes === undefined) return blockOf(value);
  if (typeof mimeType !== "string")
    throw new TypeError('emit: say what the bytes are: emit(bytes, { mimeType: "image/png" })');
  const base64 = from(bytes).toString("base64");
  if (base64 === "") throw new TypeError("emit: there are no bytes");
  const kind = mimeType.split("/", 1)[0];
  if (name === undefined && (kind === "image" || kind === "audio"))
    return checked({ type: kind, data: base64, mimeType });
  return checked({ type: "resource", resource: { ...placed(name, mimeType), blob: base64 } });
}

function placed(name: unknown, mimeType: unknown): object {
  const file = name === undefined ? "file" : String(name);
  return { uri: `emitted:///${encodeURIComponent(file)}`, mimeType };
}

function bytesIn(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return undefined;
}

/** A tool's content block, reduced to the members that a client is given. */
function blockOf(value: unknown): EmittedBlock {
  if (!isObject(value)) throw new TypeError(`${TAKES}; return other values with globalThis.result`);
  const { type, text, data, mimeType, resource, uri, name, title, description } = value;
  switch (type) {
    case "text":
      return checked({ type, text });
    case "image":
    case "audio":
      return checked({ type, data, mimeType });
    case "resource": {
      const { uri: at, mimeType: kind, text: said, blob } = isObject(resource) ? resource : {};
      return checked({
        type,
        resource: { uri: at, mimeType: kind, ...(said === undefined ? { blob } : { text: said }) },
      });
    }
    case "resource_link":
      return checked({ type, uri, name, title, description, mimeType });
    default:
      throw new TypeError(`${TAKES}; return other values with globalThis.result`);
  }
}

function checked(block: object): EmittedBlock {
  const known = JSON.parse(stringify(block)) as unknown;
  const parsed = EmittedBlock.safeParse(known);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new TypeError(`emit: the block's ${issue?.path.join(".") || "form"} is not what MCP has there`);
}
