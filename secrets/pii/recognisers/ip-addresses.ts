import { BlockList, isIPv4, isIPv6 } from "node:net";
import { type Excerpt, isEdgeAfter, isEdgeBefore, type PiiRange, wordsBefore } from "../pii-kinds.ts";

/** Addresses that identify nobody: unspecified, loopback and multicast ones, and masks (RFC 6890). */
const NOBODYS = new BlockList();
NOBODYS.addSubnet("0.0.0.0", 8);
NOBODYS.addSubnet("127.0.0.0", 8);
NOBODYS.addSubnet("224.0.0.0", 3);

/** IPv6 addresses that somebody can have: global, unique local and link-local ones, and those that contain an IPv4 address. */
const SOMEBODYS = new BlockList();
SOMEBODYS.addSubnet("2000::", 3, "ipv6");
SOMEBODYS.addSubnet("fc00::", 7, "ipv6");
SOMEBODYS.addSubnet("fe80::", 10, "ipv6");
SOMEBODYS.addSubnet("::ffff:0:0", 96, "ipv6");
SOMEBODYS.addSubnet("64:ff9b::", 96, "ipv6");

/** Words before four numbers that are not an address. */
const NUMBERING =
  /\b(?:v|ver|version|release|rev|revision|build|firmware|driver|section|sect|sec|chapter|clause|rule|figure|table|oid|asn|§)\W{0,4}$/;

const V4 = /\d{1,3}(?:\.\d{1,3}){3}/g;
const V6 = /[0-9a-fA-F]{0,4}:[0-9a-fA-F:.]{1,45}/g;

/** Finds IPv4 and IPv6 addresses that somebody can have. Ignores version numbers, networks (`10.0.0.0/8`) and masks. */
export function findIpAddresses(excerpt: Excerpt): PiiRange[] {
  const { text, from } = excerpt;
  const found: PiiRange[] = [];
  if (text.includes(":", from)) {
    for (const { 0: match, index } of text.matchAll(V6)) {
      // A final sign belongs to the sentence or list around the address.
      const address = match.replace(/[:.]$/, "");
      const end = index + address.length;
      if (index < from || !isIPv6(address) || !SOMEBODYS.check(address, "ipv6")) continue;
      if (
        isEdgeBefore(text, index) &&
        isEdgeAfter(text, end) &&
        !isNetwork(text, end, address.endsWith("::"))
      )
        found.push({ start: index, end, kind: "ip" });
    }
  }
  for (const { 0: address, index } of text.matchAll(V4)) {
    const end = index + address.length;
    if (index < from || !isIPv4(address) || NOBODYS.check(address)) continue;
    const isZero = address.endsWith(".0");
    // Two zeros are a network or a version, as in `Chrome/126.0.0.0`.
    if (address.endsWith(".0.0") || isNetwork(text, end, isZero)) continue;
    if (!isEdgeBefore(text, index) || /\d\.$/.test(text.slice(Math.max(0, index - 2), index))) continue;
    if (!isEdgeAfter(text, end) || /^\.[\p{L}\p{N}]/u.test(text.slice(end, end + 2))) continue;
    if (NUMBERING.test(wordsBefore(excerpt, index))) continue;
    found.push({ start: index, end, kind: "ip" });
  }
  return found;
}

function isNetwork(text: string, end: number, isZero: boolean): boolean {
  return isZero && /^\/\d{1,3}(?!\d)/.test(text.slice(end, end + 5));
}
