/**
 * The forms in which a path, or the path of a URL, may be read: as it is written, without `.`, `..` and doubled slashes, and decoded. What
 * compares a path with a pattern has to look at all of them, because it does not know which one the receiver goes by.
 */

const MAX_DECODINGS = 4;
/** Longer texts are compared as they are written, because each form is as long as the text. */
const MAX_CHARS = 64 * 1024;

/** Characters without which a text has one form. */
const HAS_FORMS = /[/\\%]|^\.{1,2}$/;

export interface PlaceForms {
  /** The text itself comes first. */
  readonly forms: readonly string[];
  /** `false` if the text has more forms than these. */
  readonly isWhole: boolean;
}

export function placeForms(text: string): PlaceForms {
  if (!HAS_FORMS.test(text)) return { forms: [text], isWhole: true };
  if (text.length > MAX_CHARS) return { forms: [text], isWhole: false };
  const forms = new Set([text]);
  let current = text;
  for (let count = 0; ; count++) {
    forms.add(normalizePath(current));
    const decoded = decode(current);
    if (decoded === current) return { forms: [...forms], isWhole: true };
    if (count === MAX_DECODINGS) return { forms: [...forms], isWhole: false };
    current = decoded;
  }
}

/**
 * A path without `.`, `..`, empty segments and backslashes. A relative path keeps the `..` that it begins with; an absolute one has
 * nothing above its root, and a URL nothing above its host. A segment counts as `..` also with spaces or parameters behind it, as some
 * servers read it.
 */
export function normalizePath(path: string): string {
  const plain = path.replaceAll("\\", "/");
  if (!plain.includes("/") && !isDots(plain)) return path;
  const isAbsolute = plain.startsWith("/");
  const kept: string[] = [];
  /** How many segments nothing leads out of: those of a scheme and a host. */
  let fixed = 0;
  const segments = plain.split("/");
  for (const [index, segment] of segments.entries()) {
    if (segment === "" && segments[index - 1]?.endsWith(":") === true && index + 1 < segments.length) {
      kept.push(segment);
      fixed = kept.length + 1;
    } else if (segment === "" || segment === ".") continue;
    else if (!isDots(segment)) kept.push(segment);
    else if (kept.length > fixed && kept.at(-1) !== "..") kept.pop();
    else if (!isAbsolute && fixed === 0) kept.push("..");
  }
  const last = segments.at(-1) ?? "";
  const isFolder = kept.length > 0 && (last === "" || last === "." || isDots(last));
  return `${isAbsolute ? "/" : ""}${kept.join("/")}${isFolder ? "/" : ""}`;
}

function isDots(segment: string): boolean {
  return segment.startsWith("..") && /^\.\.(?:;.*)?\s*$/u.test(segment);
}

/** Decodes percent-encoding once, with what some decoders also take for dots and slashes. */
function decode(text: string): string {
  const decoded = text.includes("%")
    ? text
        .replace(/%c0%ae/gi, ".")
        .replace(/%c0%af/gi, "/")
        .replace(/%c1%9c/gi, "\\")
        .replace(/%u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
        .replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
          Buffer.from(bytes.replaceAll("%", ""), "hex").toString("utf8"),
        )
    : text;
  return /[^\p{ASCII}]/u.test(decoded) ? decoded.normalize("NFKC") : decoded;
}
