import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { parseForeignJson } from "../../../base/json.ts";
import { textDigest } from "../../../protocol/canonical-json.ts";
import { checkOwn } from "../audit-file.ts";

/** The end of the log, kept beside it, so that readers notice lines that are missing at its end. */
export interface ChainHead extends ChainEnd {
  /** The size of the log when this was its last line. */
  bytes: number;
  /**
   * The number of the oldest line that ptc has not removed. Anybody can write another number here, so nothing depends on it:
   * a line of the chain says what ptc removed. Earlier versions of ptc still read this number.
   */
  first: number;
}

/** A new head overwrites the old one in one write of this size, so that no crash of ptc leaves half a head. */
const HEAD_BYTES = 256;
const LIMITS = { maxBytes: HEAD_BYTES, maxDepth: 2 };
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const WRITE = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Returns the head, or `undefined` when there is none that ptc has written. @throws Error for a file that cannot be read. */
export function readHead(path: string): ChainHead | undefined {
  try {
    const file = openSync(path, READ);
    try {
      const bytes = Buffer.alloc(HEAD_BYTES);
      return parseHead(bytes.subarray(0, readSync(file, bytes, 0, HEAD_BYTES, 0)).toString("utf8"));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export function writeHead(path: string, { seq, hash, bytes, first }: ChainHead): void {
  const file = openSync(path, WRITE, 0o600);
  try {
    checkOwn(file);
    const text = JSON.stringify({ seq, hash, bytes, first });
    writeSync(file, Buffer.from(`${text.padEnd(HEAD_BYTES - 1)}\n`), 0, HEAD_BYTES, 0);
  } finally {
    closeSync(file);
  }
}

function parseHead(text: string): ChainHead | undefined {
  let value: unknown;
  try {
    value = parseForeignJson(text.trim(), LIMITS);
  } catch {
    return undefined;
  }
  const { seq, hash, bytes, first } = (value ?? {}) as Record<string, unknown>;
  const areNumbers = [seq, bytes, first].every((each) => Number.isSafeInteger(each) && Number(each) >= 0);
  if (!areNumbers || typeof hash !== "string" || !/^(?:none|sha256:[0-9a-f]{64})$/.test(hash))
    return undefined;
  return { seq: Number(seq), hash, bytes: Number(bytes), first: Number(first) };
}

/** The last line of a chain: its number, and the digest of its bytes without the line feed. */
export interface ChainEnd {
  seq: number;
  hash: string;
}

/** The end of a chain without lines. */
export const NO_LINE: ChainEnd = { seq: 0, hash: "none" };

const LINK = /,"seq":([1-9]\d{0,14}),"prev":"(none|sha256:[0-9a-f]{64})"\}$/;

/**
 * Adds the members `seq`, counted from 1, and `prev`, the digest of the line before, to a line.
 *
 * @param line one JSON object with its line feed.
 */
export function linkLine(line: string, { seq, hash }: ChainEnd): { line: string; end: ChainEnd } {
  const body = `${line.slice(0, line.lastIndexOf("}"))},"seq":${seq + 1},"prev":"${hash}"}`;
  return { line: `${body}\n`, end: { seq: seq + 1, hash: textDigest(body) } };
}

const LONGEST_LINK_BYTES = 128;

/** Returns the link of a line, given without its line feed, or `undefined` for a line that is in no chain. */
export function parseLink(line: Buffer): { seq: number; prev: string; end: ChainEnd } | undefined {
  const found = LINK.exec(line.subarray(-LONGEST_LINK_BYTES).toString("latin1"));
  if (found === null) return undefined;
  const [, seq = "", prev = ""] = found;
  return { seq: Number(seq), prev, end: { seq: Number(seq), hash: textDigest(line) } };
}
