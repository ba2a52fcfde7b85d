import { domainToASCII } from "node:url";
import { normalizePath, type PlaceForms, placeForms } from "../../base/place-forms.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";
import { type Leaf, leavesOf } from "../flow/folded-text.ts";

/**
 * Checks of single values for rules, `accepts` and labels: whether they match a pattern or are in a named list, and which hosts and
 * domains they name. A value that somebody else may read differently than it is written (`..`, `%2e`, backslashes) matches a pattern
 * for certain if it does so however it is read, and possibly if it does so in one of these ways.
 */

/** Named lists of patterns: `lists` in ptc.yaml. */
export type ValueLists = Readonly<Record<string, readonly string[]>>;

/** A pattern of a URL in its parts. */
interface UrlPattern {
  /** With its colon. */
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
}

/** How much has to be known of a match: `certain` where it permits something, `possible` where it restricts something. */
export type MatchKind = "certain" | "possible";

/**
 * Matches a URL part by part, so that a `*` in the host does not match anything after the host. The path is compared as URLs are
 * normalized, and in all of its forms.
 */
export function matchesUrl(pattern: string, address: string, kind: MatchKind = "certain"): boolean {
  const { scheme, host, path } = readUrlPattern(pattern);
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  // A URL does not contain its default port.
  const usual = url.protocol === "https:" ? /:(?:443|\*)$/ : /:(?:80|\*)$/;
  const shown = url.port === "" ? host.replace(usual, "") : host;
  if (
    !matchesPattern(scheme, url.protocol) ||
    !matchesPattern(shown, url.host.toLowerCase().replace(/\.(?=:|$)/, ""))
  )
    return false;
  const { forms, isWhole } = placeForms(url.pathname);
  if (kind === "certain") return isWhole && forms.every((form) => matchesPattern(path, form));
  return !isWhole || forms.some((form) => matchesPattern(path.toLowerCase(), form.toLowerCase()));
}

function readUrlPattern(pattern: string): UrlPattern {
  const [, scheme = "", host = "", path = "/*"] = /^([^:]+):\/\/([^/]+)(\/.*)?$/.exec(pattern) ?? [];
  const [name = "", port] = splitPort(host.toLowerCase());
  // URLs have the ASCII form of a host.
  const ascii = name.replace(/[^.*]+/g, (label) => domainToASCII(label) || label);
  return {
    scheme: `${scheme.toLowerCase()}:`,
    host: port === undefined ? ascii : `${ascii}:${port}`,
    path: /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(path) ? normalizePath(path.replace(/%2e/gi, ".")) : path,
  };
}

function splitPort(host: string): [name: string, port?: string] {
  const [, name, port] = /^(.*):(\d+|\*)$/.exec(host) ?? [];
  return name === undefined || port === undefined ? [host] : [name, port];
}

/** Characters that `*` does not match: a value with them names several things, or something other than it seems to. */
const SEPARATING = /[\s,;<>"'|\\\p{Cc}\p{Cf}]/u;

/**
 * Whether a value matches a pattern of a list, ignoring case: a URL by scheme, host and path, any other text as a whole. `*` stands
 * for any characters except spaces, separators and a second `@`. The name before an address in `<...>` does not count. A path matches
 * a pattern with `*` only if it does so in all of its forms, so that none leads out of a folder.
 */
export function matchesValue(pattern: string, value: Leaf["value"]): boolean {
  const read = value === null ? undefined : readValue(value);
  return read !== undefined && matchesRead(pattern, read);
}

/** Whether a value, or a part of it, matches a pattern in any way in which it may be read. */
export function mayMatchValue(pattern: string, value: Leaf["value"]): boolean {
  if (value === null) return false;
  const text = String(value);
  if (matchesValue(pattern, value)) return true;
  if (HAS_SCHEME.test(pattern))
    return addressesIn(text, pattern).some((each) => matchesUrl(pattern, each, "possible"));
  const plain = pattern.toLowerCase();
  const { plain: whole } = readValue(text);
  return [whole, ...whole.split(SEPARATING)].some((piece) => {
    const { forms, isWhole } = placeForms(piece);
    return (
      !isWhole ||
      forms.some((form) =>
        [form, form.replace(/[./]+$/, "")].some(
          (each) => each !== "" && matchesPattern(plain, each.toLowerCase()),
        ),
      )
    );
  });
}

/** The addresses that a text may be for somebody who reads it as a URL of the pattern's scheme. */
function addressesIn(text: string, pattern: string): string[] {
  const scheme = /^[^:*]+/.exec(pattern)?.[0] ?? "https";
  const pieces = [text.trim(), ...text.split(/[\s,;<>"'|]/)].filter((each) => each !== "");
  return pieces.flatMap((piece) => {
    const { forms } = placeForms(piece);
    const rest = piece.replace(/^[\\/]+/, "");
    return [piece, ...forms.slice(2), `${scheme}://${rest}`];
  });
}

/** A value as patterns are compared with it. It may be long and the patterns many, so that it is read once for all of them. */
interface ReadValue {
  readonly text: string;
  /** Without the name before an address, in lower case. */
  readonly plain: string;
  readonly isSeparated: boolean;
  readonly ats: number;
  /** The forms of `plain` as a path. */
  readonly forms: () => PlaceForms;
}

function readValue(value: NonNullable<Leaf["value"]>): ReadValue {
  const text = String(value).trim();
  const plain = withoutName(text).toLowerCase();
  let known: PlaceForms | undefined;
  return {
    text,
    plain,
    isSeparated: SEPARATING.test(plain),
    ats: countOf(plain, "@"),
    forms: () => {
      known ??= placeForms(plain);
      return known;
    },
  };
}

/** What stands in `<...>` after a name, or else the text. */
function withoutName(text: string): string {
  return /^[^<>,;@"]*<([^<>\s,;]+)>$/.exec(text)?.[1] ?? text;
}

const HAS_SCHEME = /^[^:/@\s]+:\/\//;

function matchesRead(pattern: string, { text, plain, isSeparated, ats, forms }: ReadValue): boolean {
  if (HAS_SCHEME.test(pattern))
    return (
      !/[\s\\\p{Cc}\p{Cf}]/u.test(text) &&
      matchesUrl(pattern, text) &&
      !hasUser(text) &&
      !/\/(?:\.|%2e){2}(?:\/|$)/i.test(text)
    );
  const wanted = withoutName(pattern).toLowerCase();
  if (!wanted.includes("*")) return wanted === plain;
  if (isSeparated || ats > countOf(wanted, "@") || !matchesPattern(wanted, plain)) return false;
  const { forms: all, isWhole } = forms();
  const climbs = leadingDots(wanted);
  return isWhole && all.every((form) => leadingDots(form) <= climbs && matchesPattern(wanted, form));
}

/** How many folders up a relative path begins. */
function leadingDots(path: string): number {
  return (/^(?:\.\.\/)+/.exec(path)?.[0].length ?? 0) / 3 + (path === ".." ? 1 : 0);
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
    texts: new Set(list.filter(isText).map((pattern) => withoutName(pattern).toLowerCase())),
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

/** An entry of a list that means one value: the value, and the words of the name that it bears. Both are in lower case. */
export interface NamedEntry {
  readonly value: string;
  readonly words: readonly string[];
}

const readEntries = new WeakMap<readonly string[], readonly NamedEntry[]>();

/** The entries of a list that mean one value each. */
export function entriesOf(lists: ValueLists, name: string): readonly NamedEntry[] {
  const list = Object.hasOwn(lists, name) ? (lists[name] ?? []) : [];
  const known = readEntries.get(list);
  if (known !== undefined) return known;
  const entries = list
    .filter((entry) => !entry.includes("*"))
    .map((entry) => {
      const text = entry.trim();
      const value = withoutName(text);
      // A number of an account has no name in it.
      const own = text.includes("@") || !/\p{N}/u.test(text) ? text.replace(/@.*$/, "") : "";
      const bearer = value === text ? own : text.slice(0, text.lastIndexOf("<"));
      const words =
        bearer
          .normalize("NFKC")
          .toLowerCase()
          .match(/[\p{L}\p{M}]+/gu) ?? [];
      return { value: value.toLowerCase(), words };
    });
  readEntries.set(list, entries);
  return entries;
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
