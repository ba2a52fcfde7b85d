/** Reads the name in TLS's ClientHello (RFC 8446, section 4.1.2; RFC 6066, section 3), as far as it has arrived. */

const RECORD = { headerBytes: 5, handshake: 0x16 };
const HANDSHAKE = { headerBytes: 4, clientHello: 1 };
const RANDOM_END = 2 + 32;
const EXTENSION_SERVER_NAME = 0;
const NAME_TYPE_HOST = 0;

export interface ServerName {
  /** Whether the whole message has arrived. */
  isWhole: boolean;
  /** The name in lower case; undefined if there is none, or not yet. */
  name: string | undefined;
}

/** @returns undefined for what is no ClientHello. */
export function readServerName(bytes: Buffer): ServerName | undefined {
  const unfinished: ServerName = { isWhole: false, name: undefined };
  const pieces: Buffer[] = [];
  let length = 0;
  let wanted: number | undefined;
  // A message may be in several records.
  for (let at = 0; wanted === undefined || length < wanted; ) {
    if (at + RECORD.headerBytes > bytes.length)
      return at < bytes.length && bytes[at] !== RECORD.handshake ? undefined : unfinished;
    const size = bytes.readUInt16BE(at + 3);
    if (bytes[at] !== RECORD.handshake || bytes[at + 1] !== 3 || size === 0) return undefined;
    const piece = bytes.subarray(at + RECORD.headerBytes, at + RECORD.headerBytes + size);
    pieces.push(piece);
    length += piece.length;
    at += RECORD.headerBytes + size;
    const begin = pieces.length === 1 ? piece : Buffer.concat(pieces);
    if (length >= 1 && begin[0] !== HANDSHAKE.clientHello) return undefined;
    if (length >= HANDSHAKE.headerBytes) wanted ??= HANDSHAKE.headerBytes + begin.readUIntBE(1, 3);
    if (piece.length < size && (wanted === undefined || length < wanted)) return unfinished;
  }
  const hello = Buffer.concat(pieces).subarray(HANDSHAKE.headerBytes, wanted);
  try {
    return { isWhole: true, name: nameIn(hello) };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** @throws RangeError where a length leads out of the message. */
function nameIn(hello: Buffer): string | undefined {
  let at = RANDOM_END;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  if (at === hello.length) return undefined;
  const end = at + 2 + hello.readUInt16BE(at);
  at += 2;
  if (end > hello.length) throw new RangeError("extensions");
  let found: string | undefined;
  while (at < end) {
    const type = hello.readUInt16BE(at);
    const size = hello.readUInt16BE(at + 2);
    at += 4;
    if (at + size > end) throw new RangeError("extension");
    if (type === EXTENSION_SERVER_NAME) {
      // Two names would leave it to the other end which one counts.
      if (found !== undefined) throw new RangeError("two names");
      found = hostNameIn(hello.subarray(at, at + size));
    }
    at += size;
  }
  return found;
}

function hostNameIn(list: Buffer): string {
  const size = list.readUInt16BE(3);
  if (list.readUInt16BE(0) !== 3 + size || list.length !== 5 + size || list.readUInt8(2) !== NAME_TYPE_HOST)
    throw new RangeError("server name");
  return list.toString("latin1", 5).toLowerCase();
}
