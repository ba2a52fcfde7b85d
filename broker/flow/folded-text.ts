/**
 * Texts in the form in which values are compared: only letters and digits, folded to one case and one form of writing. What separates
 * them is kept beside them. A piece of a labelled text is found whatever separates its letters, because it may have been trimmed,
 * quoted, split or joined. A text without labels explains only what it has with the same separators (`leadAt`, `gapAt`, `trailAt`).
 */

/** Flags of a folded character. */
export const WORD_START = 1;
/** The first character of an atom, a piece without spaces, quotes, brackets, commas and the like: an address, path, name or word. */
export const ATOM_START = 2;
/** Follows the `@` of an address, or the `//` of a URL. */
export const ADDRESS = 4;
/** Preceded only by `-` or `_` in its atom, as in the names of kinds and states. */
export const HYPHENED = 8;
/** A capital letter. */
export const UPPER = 16;

/** Characters between two words that do not end an atom. */
const JOINERS = new Set([..."@._/:%+#=&-~?$!"].map((char) => char.charCodeAt(0)));

const HYPHENS = new Set([..."-_"].map((char) => char.charCodeAt(0)));
const AT = "@".charCodeAt(0);
const SLASH = "/".charCodeAt(0);

/** From here on there are ideographs and other characters of scripts without spaces, each of which begins a word. */
const FIRST_WITHOUT_SPACES = 0x2e80;

/** The folded form of each ASCII character; 0 if it is left out. */
const ASCII = new Uint8Array(128);
for (let code = 0; code < 128; code++) {
  const char = String.fromCharCode(code);
  if (/[a-z0-9]/.test(char)) ASCII[code] = code;
  else if (/[A-Z]/.test(char)) ASCII[code] = code + 32;
}

/** Which other characters count: 1 yes, 2 no, 0 not determined yet. */
const others = new Uint8Array(0x10000);

function counts(code: number): boolean {
  const known = others[code];
  if (known !== 0) return known === 1;
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  const yes = isSurrogate || /[\p{L}\p{N}]/u.test(String.fromCharCode(code));
  others[code] = yes ? 1 : 2;
  return yes;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about everything that is not ASCII.
const NOT_ASCII = /[^\x00-\x7f]/;

/** What separates two folded characters, as far as comparisons need it. */
interface Gap {
  readonly text: string;
  /** What stands before the next character without a space, quote, bracket or the like between them; `undefined` if there is none. */
  readonly lead: string | undefined;
  /** The same after the previous character. Punctuation that ends a sentence does not count. */
  readonly trail: string | undefined;
  /** The same at the beginning and at the end of a text. */
  readonly first: string;
  readonly last: string;
}

const BOUNDARY = /[\s"'`()[\]{}<>,;|]/;
const AFTER_BOUNDARY = /[^\s"'`()[\]{}<>,;|]*$/;
const BEFORE_BOUNDARY = /^[^\s"'`()[\]{}<>,;|]*/;
const ENDS_SENTENCE = /^[.!?:\u2026]+$/;
/** The marks of a handle and of a number or channel do not belong to the name. */
const MARKS = /^[@#]$/;
const MAX_GAP_CHARS = 12;
const MAX_GAPS = 60_000;
/** A separator that is like no other. */
const OTHER_GAP = 0xffff;

function gapOf(text: string): Gap {
  const after = withoutMark(AFTER_BOUNDARY.exec(text)?.[0] ?? "");
  const before = BEFORE_BOUNDARY.exec(text)?.[0] ?? "";
  const trail = ENDS_SENTENCE.test(before) ? "" : before;
  const isBounded = BOUNDARY.test(text);
  // A value may follow its name directly, as in `to=bob` and `site:example.com`.
  const lead = isBounded ? after : /[=:]$/.test(text) && text.length === 1 ? "" : undefined;
  return { text, lead, trail: isBounded ? trail : undefined, first: after, last: trail };
}

function withoutMark(lead: string): string {
  return MARKS.test(lead) ? "" : lead;
}

/** Folded texts one after the other, each followed by a 0, which no match crosses. */
export class FoldedText {
  codes: Uint16Array;
  flags: Uint8Array;
  /** What stands before each character, and before the 0, by its number. */
  #gapsAt: Uint16Array;
  readonly #gaps: Gap[] = [gapOf("")];
  readonly #gapNumbers = new Map<string, number>([["", 0]]);
  length = 0;
  #flag = WORD_START | ATOM_START;
  #last = 0;
  #gap = "";

  constructor(capacity = 64) {
    this.codes = new Uint16Array(capacity);
    this.flags = new Uint8Array(capacity);
    this.#gapsAt = new Uint16Array(capacity);
  }

  static of(text: string): FoldedText {
    const folded = new FoldedText(text.length + 1);
    folded.push(text);
    return folded;
  }

  /** Adds a text, and the 0 that ends it. Returns the number of folded characters. */
  push(text: string): number {
    const start = this.length;
    this.append(text);
    return this.end() - start - 1;
  }

  /** Adds a part of a text. */
  append(text: string): void {
    const plain = NOT_ASCII.test(text) ? text.normalize("NFKC") : text;
    this.#reserve(plain.length + 1);
    const { codes, flags } = this;
    let at = this.length;
    let flag = this.#flag;
    for (let index = 0; index < plain.length; index++) {
      const code = plain.charCodeAt(index);
      let folded = 0;
      let isUpper = false;
      if (code < 128) {
        folded = ASCII[code] ?? 0;
        isUpper = folded > code;
      } else if (counts(code)) {
        folded = lowerOf(code);
        isUpper = folded !== code;
      }
      if (folded === 0) {
        if (flag === 0 && HYPHENS.has(code)) flag = HYPHENED;
        else if (!HYPHENS.has(code)) flag &= ~HYPHENED;
        flag |= JOINERS.has(code) ? WORD_START : WORD_START | ATOM_START;
        if (code === AT || (code === SLASH && this.#last === SLASH)) flag |= ADDRESS;
        else if ((flag & ATOM_START) !== 0) flag &= ~ADDRESS;
        this.#addToGap(plain[index] ?? "");
      } else {
        codes[at] = folded;
        flags[at] = (folded >= FIRST_WITHOUT_SPACES ? flag | WORD_START : flag) | (isUpper ? UPPER : 0);
        this.#gapsAt[at] = this.#takeGap();
        flag = 0;
        at++;
      }
      this.#last = code;
    }
    this.#flag = flag;
    this.length = at;
  }

  /** Ends a text. Returns the length of all. */
  end(): number {
    this.#reserve(1);
    this.codes[this.length] = 0;
    this.flags[this.length] = WORD_START | ATOM_START;
    this.#gapsAt[this.length] = this.#takeGap();
    this.#flag = WORD_START | ATOM_START;
    this.#last = 0;
    return ++this.length;
  }

  #addToGap(char: string): void {
    if (this.#gap.length > MAX_GAP_CHARS) return;
    if (!/\s/.test(char)) this.#gap += /[\u2018\u2019\u201c\u201d]/.test(char) ? '"' : char;
    else if (!this.#gap.endsWith(" ")) this.#gap += " ";
  }

  #takeGap(): number {
    if (this.#gap === "") return 0;
    const gap = this.#gap;
    this.#gap = "";
    if (gap.length > MAX_GAP_CHARS) return OTHER_GAP;
    const known = this.#gapNumbers.get(gap);
    if (known !== undefined) return known;
    if (this.#gaps.length >= MAX_GAPS) return OTHER_GAP;
    const number = this.#gaps.push(gapOf(gap)) - 1;
    this.#gapNumbers.set(gap, number);
    return number;
  }

  /** The separators before a character; `undefined` if there are many. */
  gapAt(at: number): string | undefined {
    return this.#gaps[this.#gapsAt[at] ?? 0]?.text;
  }

  /** Whether anything separates a character from the one before it. */
  hasGapAt(at: number): boolean {
    return this.#gapsAt[at] !== 0;
  }

  /** What belongs to a word that begins at a character, before it, such as the `/` of a path; `undefined` if none begins there. */
  leadAt(at: number): string | undefined {
    const gap = this.#gaps[this.#gapsAt[at] ?? 0];
    if (gap === undefined) return undefined;
    if (at === 0 || this.codes[at - 1] === 0) return gap.first;
    return this.#isInNumber(at, gap) ? undefined : gap.lead;
  }

  /** What belongs to a word that ends before a character, after its last letter or digit; `undefined` if none ends there. */
  trailAt(at: number): string | undefined {
    const gap = this.#gaps[this.#gapsAt[at] ?? 0];
    if (gap === undefined) return undefined;
    if (this.codes[at] === 0) return gap.last;
    return this.#isInNumber(at, gap) ? undefined : gap.trail;
  }

  /** Whether a sign stands between digits, as in `1,500` and `10:30`. */
  #isInNumber(at: number, { text }: Gap): boolean {
    return text.length === 1 && text !== " " && isDigit(this.codes[at - 1]) && isDigit(this.codes[at]);
  }

  #reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.codes.length) return;
    const capacity = Math.max(needed, this.codes.length * 2);
    const codes = new Uint16Array(capacity);
    codes.set(this.codes.subarray(0, this.length));
    const flags = new Uint8Array(capacity);
    flags.set(this.flags.subarray(0, this.length));
    const gapsAt = new Uint16Array(capacity);
    gapsAt.set(this.#gapsAt.subarray(0, this.length));
    this.codes = codes;
    this.flags = flags;
    this.#gapsAt = gapsAt;
  }
}

export function isDigit(code = 0): boolean {
  return code >= 48 && code <= 57;
}

const lowered = new Uint16Array(0x10000);

/** The lower case of a character that has one of the same length. */
function lowerOf(code: number): number {
  const known = lowered[code];
  if (known !== undefined && known !== 0) return known;
  const lower = String.fromCharCode(code).toLowerCase();
  const found = lower.length === 1 ? lower.charCodeAt(0) : code;
  lowered[code] = found;
  return found;
}

const MAX_LAYERS = 3;
const MIN_BASE64_CHARS = 12;
const BASE64 = /[A-Za-z0-9+/_-]{12,}={0,2}/g;
const HEX = /\b(?:[0-9a-fA-F]{2}){8,}\b/g;
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp|commat|period|colon|sol));/g;
const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  commat: "@",
  period: ".",
  colon: ":",
  sol: "/",
};

/**
 * A text itself, and its decoded forms: from percent-encoding, HTML character references, escapes of JSON strings, base64 and
 * hexadecimal, also nested. The decoded forms have at most `maxChars` together.
 */
export function readings(text: string, maxChars = 2 * text.length + 4_096): string[] {
  const known = new Set([text]);
  let layer = [text];
  let chars = 0;
  for (let depth = 0; depth < MAX_LAYERS && layer.length > 0; depth++) {
    const next: string[] = [];
    for (const each of layer)
      for (const decoded of decodings(each)) {
        if (known.has(decoded) || chars + decoded.length > maxChars) continue;
        chars += decoded.length;
        known.add(decoded);
        next.push(decoded);
      }
    layer = next;
  }
  return [...known];
}

function* decodings(text: string): Generator<string> {
  if (text.includes("%")) {
    const decoded = text.replace(/(?:%[0-9a-fA-F]{2})+/g, (bytes) =>
      Buffer.from(bytes.replaceAll("%", ""), "hex").toString("utf8"),
    );
    if (decoded !== text) yield decoded.includes("+") ? decoded.replaceAll("+", " ") : decoded;
  }
  if (text.includes("&")) {
    const decoded = text.replace(ENTITY, (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return NAMED[name] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    });
    if (decoded !== text) yield decoded;
  }
  if (text.includes("\\")) {
    const decoded = text.replace(
      /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([nrtbf]))/g,
      (_, u?: string, x?: string) =>
        u === undefined && x === undefined ? " " : String.fromCharCode(Number.parseInt(u ?? x ?? "", 16)),
    );
    if (decoded !== text) yield decoded;
  }
  if (text.length < MIN_BASE64_CHARS) return;
  for (const [found] of text.matchAll(BASE64)) {
    const decoded = Buffer.from(found, "base64").toString("utf8");
    if (isReadable(decoded)) yield decoded;
  }
  for (const [found] of text.matchAll(HEX)) {
    const decoded = Buffer.from(found, "hex").toString("utf8");
    if (isReadable(decoded)) yield decoded;
  }
}

/** Whether decoded bytes are a text: only printable characters and spaces. */
function isReadable(text: string): boolean {
  return text.length >= 4 && !/[^\t\n\r\x20-\x7e\u00a0-\uffef]/.test(text);
}

/** A value within a JSON value that is neither a list nor an object, with its path as rules write it. */
export interface Leaf {
  readonly path: string;
  readonly value: string | number | boolean | null;
}

/**
 * The values in a JSON value, at most `maxLeaves`, including the names of members below the first level, which may be data.
 * `isWhole` says whether these are all.
 */
export function leavesOf(value: unknown, maxLeaves: number): { leaves: Leaf[]; isWhole: boolean } {
  const leaves: Leaf[] = [];
  const open: [path: string, value: unknown][] = [["", value]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (leaves.length >= maxLeaves || open.length > maxLeaves) return { leaves, isWhole: false };
    const [path, each] = next;
    if (Array.isArray(each)) {
      for (let index = Math.min(each.length, maxLeaves) - 1; index >= 0; index--)
        open.push([`${path}[${index}]`, each[index]]);
      if (each.length > maxLeaves) return { leaves, isWhole: false };
    } else if (typeof each === "object" && each !== null) {
      const members = Object.entries(each);
      for (const [name, member] of members.toReversed()) {
        if (path !== "") leaves.push({ path, value: name });
        open.push([memberPath(path, name), member]);
      }
    } else if (typeof each === "bigint") leaves.push({ path, value: String(each) });
    else if (each !== undefined) leaves.push({ path, value: each as Leaf["value"] });
  }
  return { leaves, isWhole: true };
}

/** The path of a member, as in `message.subject` and `headers["x.y"]`. */
export function memberPath(path: string, name: string): string {
  if (name === "" || /[.[\]"]/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === "" ? name : `${path}.${name}`;
}

/** Whether a path equals another or leads to something in it: `to[0]` and `to.name` are within `to`. */
export function isWithin(path: string, other: string): boolean {
  if (!path.startsWith(other)) return false;
  return path.length === other.length || path[other.length] === "." || path[other.length] === "[";
}
