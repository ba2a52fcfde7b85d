import { domainToASCII } from "node:url";
import type { Leaf } from "../flow/folded-text.ts";
import { entriesOf, type ValueLists } from "./value-lists.ts";

/** What the user named without spelling it out: the bearer of a name in a list, and the host of a page. */

/** Whether the user named an entry of a list. Where others bear the same name, it is not known which one is meant. */
export type Named =
  | { readonly kind: "named" | "unnamed" }
  | { readonly kind: "ambiguous"; readonly name: string; readonly bearers: readonly string[] };

const MIN_NAME_CHARS = 2;
const MAX_BEARERS = 5;

/**
 * Whether the user named the entry of a list that a value is: by its whole name, or by a word of it that no other entry bears. An entry
 * is `Carol Jones <carol@example.com>`, or a value whose own words are its name, such as `carol.jones@example.com`.
 */
export function isNamed(
  lists: ValueLists,
  name: string,
  value: Leaf["value"],
  said: readonly string[],
): Named {
  const entries = entriesOf(lists, name);
  const plain = value === null ? "" : String(value).trim().toLowerCase();
  const own = entries.filter((entry) => entry.value === plain);
  if (own.length === 0 || said.length === 0) return { kind: "unnamed" };
  const texts = said.map(wordsIn);
  if (own.some(({ words }) => words.length > 1 && texts.some((text) => placesIn(text, words).length > 0)))
    return { kind: "named" };
  // Words of another entry's whole name are that entry's.
  const words = new Set(texts.flatMap((text) => wordsLeft(text, entries)));
  let ambiguous: Named = { kind: "unnamed" };
  for (const word of own.flatMap((entry) => entry.words)) {
    if (word.length < MIN_NAME_CHARS || !words.has(word)) continue;
    const bearers = new Set(
      entries.filter((entry) => entry.words.includes(word)).map((entry) => entry.value),
    );
    if (bearers.size === 1) return { kind: "named" };
    ambiguous = { kind: "ambiguous", name: word, bearers: [...bearers].slice(0, MAX_BEARERS) };
  }
  return ambiguous;
}

/** The words of a text as names are compared, in lower case. */
function wordsIn(text: string): string[] {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/['\u2019]s(?![\p{L}\p{N}])/gu, " ")
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== "");
}

function wordsLeft(
  text: readonly string[],
  entries: readonly { readonly words: readonly string[] }[],
): string[] {
  const taken = new Set<number>();
  for (const { words } of entries)
    if (words.length > 1)
      for (const start of placesIn(text, words))
        for (let index = 0; index < words.length; index++) taken.add(start + index);
  return text.filter((_, index) => !taken.has(index));
}

function placesIn(text: readonly string[], words: readonly string[]): number[] {
  return text.flatMap((_, start) =>
    words.every((word, index) => text[start + index] === word) ? [start] : [],
  );
}

/** Endings of files that are also those of hosts. */
const OF_FILES = /\.(?:cc|md|mov|pl|ps|py|rs|sh|zip)$/;
/** A host that is written without its scheme, where it is not a part of an address. */
const HOST =
  /(?<![\p{L}\p{N}@._/-])(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+\p{L}{2,}(?::\d{1,5})?(?![\p{L}\p{N}@-])/giu;
const LINK = /https?:\/\/[^\s<>"'`]+/gi;
const MAX_SAID_CHARS = 512 * 1024;

/** Whether a value is the URL of a page of a host that the user named, as `www.example.com` or by the URL of another page. */
export function isOfSaidHost(value: Leaf["value"], said: readonly string[]): boolean {
  if (typeof value !== "string" || /[\s\\\p{Cc}\p{Cf}]/u.test(value)) return false;
  const host = hostOf(
    /^https?:\/\//i.test(value) ? value : /^[a-z][a-z0-9+.-]*:/i.test(value) ? "" : `https://${value}`,
  );
  if (host === undefined) return false;
  return said.some((text) =>
    hostsIn(text.slice(0, MAX_SAID_CHARS)).some((each) => each === host || `www.${each}` === host),
  );
}

function hostsIn(text: string): string[] {
  const links = [...text.matchAll(LINK)].flatMap(
    ([link]) => hostOf(link.replace(/[.,;:!?)\]}]+$/, "")) ?? [],
  );
  const plain = text.replace(LINK, " ");
  const named = [...plain.matchAll(HOST)].flatMap(([host]) =>
    OF_FILES.test(host.toLowerCase()) ? [] : [asHost(host)],
  );
  return [...links, ...named];
}

/** The host of a URL with its port, unless that is the default one; `undefined` for a URL that names a user, too. */
function hostOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { host, username, password } = new URL(address);
  return username === "" && password === "" && host !== "" ? host.replace(/\.(?=:|$)/, "") : undefined;
}

function asHost(written: string): string {
  const [name = "", port] = written.toLowerCase().split(":");
  const ascii = domainToASCII(name) || name;
  return port === undefined ? ascii : `${ascii}:${port}`;
}
