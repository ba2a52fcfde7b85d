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
  if (value === null) return false;
  const text = String(value).trim();
  if (/^[^:/@\s]+:\/\//.test(pattern))
    return (
      !/[\s\\\p{Cc}\p{Cf}]/u.test(text) &&
      matchesUrl(pattern, text) &&
      !hasUser(text) &&
      !/\/(?:\.|%2e){2}(?:\/|$)/i.test(text)
    );
  const plain = /^[^<>,;@"]*<([^<>\s,;]+)>$/.exec(text)?.[1] ?? text;
  if (pattern.includes("*") && (SEPARATING.test(plain) || countOf(plain, "@") > countOf(pattern, "@")))
    return false;
  return matchesPattern(pattern.toLowerCase(), plain.toLowerCase());
}

function hasUser(address: string): boolean {
  const { username, password } = new URL(address);
  return username !== "" || password !== "";
}

function countOf(text: string, char: string): number {
  return text.split(char).length - 1;
}

/** Whether a value is in a list. */
export function isListed(lists: ValueLists, name: string, value: Leaf["value"]): boolean {
  return Object.hasOwn(lists, name) && (lists[name] ?? []).some((pattern) => matchesValue(pattern, value));
}

/** The places named in arguments, by path: for each value, and for each list and object that contains it. */
export interface NamedPlaces {
  /** Hosts of URLs. A URL that cannot be parsed is included as written. */
  readonly hosts: ReadonlyMap<string, ReadonlySet<string>>;
  /** Domains of e-mail addresses. */
  readonly domains: ReadonlyMap<string, ReadonlySet<string>>;
}

const ADDRESS = /[^\s<>,;:"'()[\]@]+@([^\s<>,;:"'()[\]@]+)/g;
const LINK = /[a-z][a-z0-9+.-]*:[\\/]{2}[^\s<>"'`]*/gi;

export function placesIn(args: unknown, maxLeaves: number): NamedPlaces {
  const hosts = new Map<string, Set<string>>();
  const domains = new Map<string, Set<string>>();
  for (const { path, value } of leavesOf(args, maxLeaves).leaves) {
    if (typeof value !== "string") continue;
    for (const [link] of value.matchAll(LINK)) note(hosts, path, hostOf(link));
    // Text before an `@` in a URL is the user of that URL.
    const rest = value.replace(LINK, " ");
    let found = 0;
    for (const [, domain = ""] of rest.matchAll(ADDRESS)) {
      found++;
      note(domains, path, domain.toLowerCase().replace(/\.$/, ""));
    }
    if (countOf(rest, "@") > found) note(domains, path, rest.trim());
  }
  return { hosts, domains };
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
