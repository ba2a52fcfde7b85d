import { matchesPattern } from "../../protocol/tool-names.ts";
import { type Leaf, leavesOf } from "../flow/folded-text.ts";

/** Checks of single values for rules and `accepts`: whether they are in a named list, and which hosts and domains they name. */

/** Named lists of patterns: `lists` in ptc.yaml. */
export type ValueLists = Readonly<Record<string, readonly string[]>>;

/** Matches a URL part by part, so that a `*` in the host does not match anything after the host. */
export function matchesUrl(pattern: string, address: string): boolean {
  const [, scheme = "", host = "", path = "/*"] = /^([^:]+):\/\/([^/]+)(\/.*)?$/.exec(pattern) ?? [];
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  // A URL does not contain its default port.
  const usual = url.protocol === "https:" ? /:(?:443|\*)$/ : /:(?:80|\*)$/;
  const shown = url.port === "" ? host.replace(usual, "") : host;
  return (
    matchesPattern(`${scheme.toLowerCase()}:`, url.protocol) &&
    matchesPattern(shown.toLowerCase(), url.host.replace(/\.(?=:|$)/, "")) &&
    matchesPattern(path, url.pathname)
  );
}

/** Characters that `*` does not match: a value with them names several things, or something other than it seems to. */
const SEPARATING = /[\s,;<>"'|\\\p{Cc}\p{Cf}]/u;

/**
 * Whether a value matches a pattern of a list, ignoring case: a URL by scheme, host and path, any other text as a whole. `*` stands
 * for any characters except spaces, separators and a second `@`. The name before an address in `<...>` does not count.
 */
export function matchesValue(pattern: string, value: Leaf["value"]): boolean {
  const read = value === null ? undefined : readValue(value);
  return read !== undefined && matchesRead(pattern, read);
}

/** A value as patterns are compared with it. It may be long and the patterns many, so that it is read once for all of them. */
interface ReadValue {
  readonly text: string;
  /** Without the name before an address, in lower case. */
  readonly plain: string;
  readonly isSeparated: boolean;
  readonly ats: number;
}

function readValue(value: NonNullable<Leaf["value"]>): ReadValue {
  const text = String(value).trim();
  const plain = (/^[^<>,;@"]*<([^<>\s,;]+)>$/.exec(text)?.[1] ?? text).toLowerCase();
  return { text, plain, isSeparated: SEPARATING.test(plain), ats: countOf(plain, "@") };
}

const HAS_SCHEME = /^[^:/@\s]+:\/\//;

function matchesRead(pattern: string, { text, plain, isSeparated, ats }: ReadValue): boolean {
  if (HAS_SCHEME.test(pattern))
    return (
      !/[\s\\\p{Cc}\p{Cf}]/u.test(text) &&
      matchesUrl(pattern, text) &&
      !hasUser(text) &&
      !/\/(?:\.|%2e){2}(?:\/|$)/i.test(text)
    );
  if (pattern.includes("*") && (isSeparated || ats > countOf(pattern, "@"))) return false;
  return matchesPattern(pattern.toLowerCase(), plain);
}

function hasUser(address: string): boolean {
  const { username, password } = new URL(address);
  return username !== "" || password !== "";
}

function countOf(text: string, char: string): number {
  return text.split(char).length - 1;
}

/** A list that was read once: the texts that mean themselves, and all other patterns. */
interface ReadList {
  readonly texts: ReadonlySet<string>;
  readonly patterns: readonly string[];
}

const readLists = new WeakMap<readonly string[], ReadList>();

function readList(list: readonly string[]): ReadList {
  const known = readLists.get(list);
  if (known !== undefined) return known;
  const isText = (pattern: string) => !pattern.includes("*") && !HAS_SCHEME.test(pattern);
  const read = {
    texts: new Set(list.filter(isText).map((pattern) => pattern.toLowerCase())),
    patterns: list.filter((pattern) => !isText(pattern)),
  };
  readLists.set(list, read);
  return read;
}

/** Whether a value is in a list. */
export function isListed(lists: ValueLists, name: string, value: Leaf["value"]): boolean {
  const list = Object.hasOwn(lists, name) ? lists[name] : undefined;
  if (list === undefined || value === null) return false;
  const { texts, patterns } = readList(list);
  const read = readValue(value);
  return texts.has(read.plain) || patterns.some((pattern) => matchesRead(pattern, read));
}

/** The places named in arguments, by path: for each value, and for each list and object that contains it. */
export interface NamedPlaces {
  /** Hosts of URLs. A URL that cannot be parsed is included as written. */
  readonly hosts: ReadonlyMap<string, ReadonlySet<string>>;
  /** Domains of e-mail addresses. */
  readonly domains: ReadonlyMap<string, ReadonlySet<string>>;
}

const AFTER_SCHEME = /:[\\/]{2}/g;
const REST_OF_LINK = /[^\s<>"'`]*/y;
const OF_SCHEME = /[a-z0-9+.-]/i;
const OF_ADDRESS = /[^\s<>,;:"'()[\]@]/;
const DOMAIN_BEGINS = /@([^\s<>,;:"'()[\]@]+)/g;
/** How many places are named at most. Each is noted for its value and for all that contains it. */
const MAX_PLACES = 2_000;

/** @returns `undefined` if more places are named, or in more values, than rules can handle. */
export function placesIn(args: unknown, maxLeaves: number): NamedPlaces | undefined {
  const hosts = new Map<string, Set<string>>();
  const domains = new Map<string, Set<string>>();
  let places = 0;
  for (const { path, value } of leavesOf(args, maxLeaves).leaves) {
    if (typeof value !== "string") continue;
    const { links, rest } = linksIn(value);
    const named = domainsIn(rest);
    places += links.length + named.length;
    if (places > MAX_PLACES) return undefined;
    for (const link of links) note(hosts, path, hostOf(link));
    for (const domain of named) note(domains, path, domain.toLowerCase().replace(/\.$/, ""));
    if (countOf(rest, "@") > named.length) note(domains, path, rest.trim());
  }
  return { hosts, domains };
}

/**
 * The URLs in a text, and the text without them: what comes before an `@` in a URL is the user of that URL. Each is found from its
 * `://`, because a search for its scheme would begin anew at every character.
 */
function linksIn(text: string): { links: string[]; rest: string } {
  const links: string[] = [];
  let [rest, end] = ["", 0];
  for (const { index } of text.matchAll(AFTER_SCHEME)) {
    if (index < end) continue;
    let start = index;
    while (start > end && OF_SCHEME.test(text[start - 1] ?? "")) start--;
    while (start < index && !/[a-z]/i.test(text[start] ?? "")) start++;
    if (start === index) continue;
    rest += `${text.slice(end, start)} `;
    REST_OF_LINK.lastIndex = index;
    end = index + (REST_OF_LINK.exec(text)?.[0].length ?? 0);
    links.push(text.slice(start, end));
  }
  return { links, rest: rest + text.slice(end) };
}

/** The domains of the e-mail addresses in a text, each found from its `@`. */
function domainsIn(text: string): string[] {
  const domains: string[] = [];
  let end = 0;
  for (const match of text.matchAll(DOMAIN_BEGINS)) {
    if (match.index <= end || !OF_ADDRESS.test(text[match.index - 1] ?? "")) continue;
    domains.push(match[1] ?? "");
    end = match.index + match[0].length;
  }
  return domains;
}

function hostOf(link: string): string {
  if (link.includes("\\") || !URL.canParse(link)) return link;
  return new URL(link).hostname.replace(/\.$/, "") || link;
}

function note(places: Map<string, Set<string>>, path: string, place: string): void {
  for (const each of withThoseAbove(path)) {
    const known = places.get(each);
    if (known === undefined) places.set(each, new Set([place]));
    else known.add(place);
  }
}

/** A path, and those of the lists and objects that contain it: `to[0].name`, `to[0]`, `to`. */
export function withThoseAbove(path: string): string[] {
  const steps = path.match(/\[(?:"(?:[^"\\]|\\.)*"|\d+)\]|\.?[^.[\]]+/g) ?? [];
  return steps.map((_, index) => steps.slice(0, steps.length - index).join(""));
}
