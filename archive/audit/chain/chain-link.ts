import { textDigest } from "../../../protocol/canonical-json.ts";

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

/** The link of a line without its line feed; `undefined` for one that is in no chain. */
export function parseLink(line: Buffer): { seq: number; prev: string; end: ChainEnd } | undefined {
  const found = LINK.exec(line.subarray(-LONGEST_LINK_BYTES).toString("latin1"));
  if (found === null) return undefined;
  const [, seq = "", prev = ""] = found;
  return { seq: Number(seq), prev, end: { seq: Number(seq), hash: textDigest(line) } };
}
