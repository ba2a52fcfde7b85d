import { domainToUnicode } from "node:url";
import tlds from "tlds" with { type: "json" };
import type { Excerpt, PiiRange } from "../pii-kinds.ts";

/** Top-level domains that no public registry has but that organisations use for mail (RFC 2606, RFC 6762, appendix G). */
const PRIVATE_TLDS = ["local", "internal", "intranet", "corp", "lan", "home", "test", "invalid", "example"];

const TLDS: ReadonlySet<string> = new Set([...tlds, ...PRIVATE_TLDS]);

/** RFC 5321, section 4.5.3.1. */
const MAX_LOCAL_CHARS = 64;
const MAX_DOMAIN_CHARS = 253;

const LOCAL = /[\p{L}\p{N}\p{M}._%+-]/u;
const DOMAIN = /[\p{L}\p{N}\p{M}.-]/u;
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u;

/** Users in addresses of repositories (`git@github.com:owner/name`), which are not persons. */
const NO_PERSONS = new Set(["git", "hg", "svn"]);

/** Finds e-mail addresses, also with the `%40` of a URL. Walks from each `@` to both sides, at most up to the next one. */
export function findEmails({ text, from }: Excerpt): PiiRange[] {
  const found: PiiRange[] = [];
  let passed = from;
  for (const { 0: at, index } of text.matchAll(/@|%40/g)) {
    if (index < from) continue;
    const start = localFrom(text, index, passed);
    const domainFrom = index + at.length;
    const end = domainTo(text, domainFrom);
    passed = Math.max(passed, end ?? domainFrom);
    if (end === undefined || start === index) continue;
    if (NO_PERSONS.has(text.slice(start, index).toLowerCase()) || text.slice(start - 3, start) === "://")
      continue;
    found.push({ start, end, kind: "email" });
  }
  return found;
}

function localFrom(text: string, at: number, from: number): number {
  const least = Math.max(from, at - MAX_LOCAL_CHARS);
  let start = at;
  while (start > least && (LOCAL.test(text.charAt(start - 1)) || isApostrophe(text, start - 1, least)))
    start--;
  // The walk may have stopped in the middle of a surrogate pair or an escape.
  if (/[\udc00-\udfff]/.test(text.charAt(start))) start++;
  const before = text.charAt(start - 1);
  if (before === "\\" && /^[bfnrt]/.test(text.slice(start))) start++;
  else if (before === "\\" && /^u[0-9a-fA-F]{4}/.test(text.slice(start, start + 5))) start += 5;
  const escaped = /^(?:%[0-9a-fA-F]{2})+/.exec(text.slice(start, at));
  if (escaped !== null) start += escaped[0].length;
  while (start < at && /[.%-]/.test(text.charAt(start))) start++;
  return Math.min(start, at);
}

/** Whether there is an apostrophe within a name (`o'brien`). One at its beginning is a quotation mark. */
function isApostrophe(text: string, at: number, least: number): boolean {
  return text.charAt(at) === "'" && at > least && /\p{L}/u.test(text.charAt(at - 1));
}

/** The end of the domain that begins here, if its last label is a top-level domain. */
function domainTo(text: string, from: number): number | undefined {
  const most = Math.min(text.length, from + MAX_DOMAIN_CHARS);
  let to = from;
  while (to < most && DOMAIN.test(text.charAt(to))) to++;
  const labels = text.slice(from, to).split(".");
  const wrong = labels.findIndex((label) => label.length > 63 || !LABEL.test(label));
  let count = wrong < 0 ? labels.length : wrong;
  // Text after the domain can look like a part of it: `at a@b.org.Then`, `a@b.com-`.
  const [last = ""] = labels.slice(count, count + 1);
  const begun = /^[\p{L}\p{N}]+/u.exec(last)?.[0];
  if (begun !== undefined && begun.length <= 63 && isTopLevel(begun)) {
    labels[count] = begun;
    count++;
  }
  while (count > 1 && !isTopLevel(labels[count - 1] ?? "")) count--;
  if (count < 2) return undefined;
  return from + labels.slice(0, count).join(".").length;
}

/** Whether a label is a top-level domain, which may be written in ASCII (RFC 5890, section 2.3.2.1). */
function isTopLevel(label: string): boolean {
  const name = label.toLowerCase();
  return TLDS.has(name.startsWith("xn--") ? domainToUnicode(name) : name);
}
