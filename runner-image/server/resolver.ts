/** A name server (RFC 1035) inside the sandbox of a server. Nothing that it is asked leaves the sandbox by it. */

import { createSocket } from "node:dgram";

const HEADER_BYTES = 12;
const TYPE = { address: 1, address6: 28 };
const CLASS_INTERNET = 1;
const NO_SUCH_NAME = 3;
const TTL_S = 60;
const MAX_LABEL = 63;

interface Question {
  id: number;
  name: string;
  type: number;
  /** The question as it was sent. */
  bytes: Buffer;
}

/**
 * Listens on 127.0.0.1, port 53. Resolves when it listens, or cannot.
 *
 * @param find the IPv4 address of a name in lower case; undefined if there is no such name.
 */
export function listenForNames(find: (name: string) => Promise<string | undefined>): Promise<void> {
  const socket = createSocket("udp4");
  socket.on("message", (message, { port, address }) => {
    const question = readQuestion(message);
    if (question === undefined) return;
    void find(question.name).then((found) => socket.send(answer(question, found), port, address));
  });
  return new Promise((resolve) => {
    socket.on("error", (error) => {
      process.stderr.write(`names: ${error.message}\n`);
      resolve();
    });
    socket.bind(53, "127.0.0.1", resolve);
  });
}

/** The one question of a message; undefined if it is none. */
export function readQuestion(message: Buffer): Question | undefined {
  if (message.length < HEADER_BYTES || message.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > MAX_LABEL || at + 1 + length > message.length) return undefined;
    at += 1 + length;
    if (length === 0) break;
    labels.push(message.toString("latin1", at - length, at));
  }
  if (at + 4 > message.length) return undefined;
  return {
    id: message.readUInt16BE(0),
    name: labels.join(".").toLowerCase(),
    type: message.readUInt16BE(at),
    bytes: message.subarray(HEADER_BYTES, at + 4),
  };
}

/** The answer to a question, with an address if the name has one of the type that was asked for. */
export function answer({ id, type, bytes }: Question, address: string | undefined): Buffer {
  const has = address !== undefined && type === TYPE.address;
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(id, 0);
  // A response, recursion desired and available.
  header.writeUInt16BE(0x8180 | (address === undefined ? NO_SUCH_NAME : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(has ? 1 : 0, 6);
  if (!has) return Buffer.concat([header, bytes]);
  const record = Buffer.alloc(16);
  // The name is that of the question.
  record.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  record.writeUInt16BE(TYPE.address, 2);
  record.writeUInt16BE(CLASS_INTERNET, 4);
  record.writeUInt32BE(TTL_S, 6);
  record.writeUInt16BE(4, 10);
  address.split(".").forEach((part, index) => {
    record[12 + index] = Number(part);
  });
  return Buffer.concat([header, bytes, record]);
}
