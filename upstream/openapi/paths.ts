/**
 * Paths of a description (OpenAPI 3.1, "Paths Object"), in the form in which servers read them (RFC 3986, section 6.2.2). One text may
 * be read in several ways, such as `/a%2F..%2Fb`, so that a choice of paths goes by all of them.
 */

/** A key of `paths`. */
export interface PathTemplate {
  /** Without dot segments, empty segments and needless escapes. */
  readonly path: string;
  /** What follows a `?`: names and values, not encoded. A value may have templates. */
  readonly query: readonly (readonly [name: string, value: string])[];
  /** What servers may take the path for, `path` first. Those with a query have another reading with it. */
  readonly readings: readonly string[];
}

const TEMPLATE = /\{[^{}]*\}/g;
/** What stands for a template while a path is read. No path has this character. */
const HIDDEN = /\0(\d+)\0/g;
const MAX_DECODINGS = 4;

/** Reads a key of `paths`; the reason as a text where no request may go there. */
export function readPathTemplate(key: string): PathTemplate | string {
  if (!key.startsWith("/")) return "does not begin with /";
  // URL parsers drop some of them, and take others for a separator.
  if (/[\p{Cc}\u2028\u2029]/u.test(key)) return "has a control character";
  // Their names may hold `/`, `?` and dots, so that something else stands for them meanwhile.
  const templates: string[] = [];
  const hidden = key.replaceAll(TEMPLATE, (template) => `\0${templates.push(template) - 1}\0`);
  const show = (text: string) =>
    text.replaceAll(HIDDEN, (_, index: string) => templates[Number(index)] ?? "");
  const count = (text: string) => text.match(HIDDEN)?.length;
  const [, bare = "", search = ""] = /^([^?#]*)(?:\?([^#]*))?/s.exec(hidden) ?? [];
  const plain = normalizePath(bare);
  const readings = plain === undefined ? undefined : readingsOf(plain);
  if (plain === undefined || readings === undefined) return "leads out of the API, or may be read so";
  if (count(plain) !== count(bare)) return "leads back over a parameter";
  const query = search.split("&").flatMap((pair): [string, string][] => {
    const [, name = "", value = ""] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    return pair === "" ? [] : [[show(decoded(name)), show(decoded(value))]];
  });
  const all = readings.map(show);
  const path = show(plain);
  return { path, query, readings: search === "" ? all : [...all, `${path}?${show(search)}`] };
}

/** Whether a request to a URL stays below another, however a server reads its path. */
export function isBelow(base: URL, url: URL): boolean {
  if (url.origin !== base.origin || url.username !== "" || url.password !== "") return false;
  const folder = folderOf(base.pathname);
  const plain = normalizePath(url.pathname);
  const readings = plain === undefined ? undefined : readingsOf(plain);
  const own = normalizePath(folder);
  return own !== undefined && readings?.every((each) => folderOf(each).startsWith(own)) === true;
}

/** A path with `/` at its end. */
export function folderOf(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}

/** Whether a path, as it would be sent, has a segment that URL parsers or servers read as a folder. */
export function hasDotSegment(path: string): boolean {
  return path.split(/[/\\]/).some((segment) => /^(?:\.|%2e){1,2}(?:;.*)?$/i.test(segment));
}

/**
 * A path without dot segments and empty segments, whose escapes are those of reserved characters alone, in upper case. `undefined` if
 * it leads above its root, or has a segment such as `..;` that some servers read as a dot segment.
 */
function normalizePath(path: string): string | undefined {
  const plain = plainEscapes(path).replaceAll("\\", "/");
  const segments: string[] = [];
  const parts = plain.split("/").slice(1);
  for (const part of parts) {
    if (/^\.{1,2};/.test(part)) return undefined;
    if (part === ".." && segments.pop() === undefined) return undefined;
    if (part !== "" && part !== "." && part !== "..") segments.push(part);
  }
  const isFolder = /^\.{0,2}$/.test(parts.at(-1) ?? "");
  return `/${segments.join("/")}${isFolder && segments.length > 0 ? "/" : ""}`;
}

/** A path whose escapes are those of reserved characters alone, in upper case. */
export function plainEscapes(path: string): string {
  return path.replaceAll(/%(?![0-9A-Fa-f]{2})/g, "%25").replaceAll(/%[0-9A-Fa-f]{2}/g, (triplet) => {
    const character = String.fromCharCode(Number.parseInt(triplet.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : triplet.toUpperCase();
  });
}

/** The path itself, and what it is for a server that decodes its escapes first, or drops parameters of segments (`;`). */
function readingsOf(plain: string): string[] | undefined {
  const readings = new Set([plain]);
  let text = plain;
  for (let times = 0; times < MAX_DECODINGS; times++) {
    const inner = text.replaceAll(/%(?:2[0-9A-F]|5C|3B|2E|[3-7][0-9A-F])/gi, (triplet) =>
      String.fromCharCode(Number.parseInt(triplet.slice(1), 16)),
    );
    if (inner === text) break;
    const read = normalizePath(inner);
    if (read === undefined) return undefined;
    readings.add(read);
    text = read;
  }
  for (const each of [...readings]) {
    const bare = normalizePath(each.replaceAll(/;[^/]*/g, ""));
    if (bare === undefined) return undefined;
    readings.add(bare);
  }
  return [...readings];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
