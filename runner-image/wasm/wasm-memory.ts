/** Bounds the memory of a WebAssembly module, whatever its own code asks for: the engine of WebAssembly refuses to let it grow further. */

const PAGE_BYTES = 64 * 1024;
const PREAMBLE_BYTES = 8;
const MEMORY_SECTION = 5;
const HAS_MAXIMUM = 1;

/**
 * A copy of a module with one memory (WebAssembly core specification, 5.5.8) that may grow to `bytes` at most, and begins with
 * `firstBytes` or what the module says, whichever is more. @throws Error
 */
export function withMaximumMemory(
  module: Uint8Array,
  bytes: number,
  firstBytes = 0,
): Uint8Array<ArrayBuffer> {
  for (let at = PREAMBLE_BYTES; at < module.length; ) {
    const [id] = [module[at]];
    const size = readNumber(module, at + 1);
    const start = size.end;
    const end = start + size.value;
    if (id === MEMORY_SECTION) {
      const count = readNumber(module, start);
      const flags = module[count.end] ?? 0;
      if (count.value !== 1 || (flags & ~HAS_MAXIMUM) !== 0)
        throw new Error("the module has another kind of memory");
      const least = readNumber(module, count.end + 1);
      const first = Math.max(least.value, Math.ceil(firstBytes / PAGE_BYTES));
      const most = Math.max(first, Math.floor(bytes / PAGE_BYTES));
      const content = [1, HAS_MAXIMUM, ...encodeNumber(first), ...encodeNumber(most)];
      return Buffer.concat([
        module.subarray(0, at),
        Uint8Array.of(MEMORY_SECTION, ...encodeNumber(content.length), ...content),
        module.subarray(end),
      ]);
    }
    at = end;
  }
  throw new Error("the module has no memory of its own");
}

/** Reads an unsigned LEB128 number. */
function readNumber(bytes: Uint8Array, start: number): { value: number; end: number } {
  let value = 0;
  let end = start;
  for (let place = 1; ; place *= 128) {
    const byte = bytes[end++];
    if (byte === undefined) throw new Error("the module ends too soon");
    value += (byte % 128) * place;
    if (byte < 128) return { value, end };
  }
}

function encodeNumber(value: number): number[] {
  const bytes = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(128 + (rest % 128));
  bytes.push(rest);
  return bytes;
}
