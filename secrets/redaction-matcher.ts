import { LiteralFinder, LiteralPrefixes } from "./redaction-literals.ts";
import { MIN_CREDENTIAL_CHARS, secretsIn } from "./redaction-secrets.ts";
import { REDACTED, redactedToken } from "./text-redaction.ts";
import {
  MAX_TOKEN_CHARS,
  mayBeginToken,
  TOKEN_FINDER,
  TOKEN_LITERALS,
  tokenAt,
  unfinishedTokenFrom,
} from "./token-shapes.ts";

/** A part of a text that is replaced by one mark. */
export interface SecretRange {
  start: number;
  end: number;
  /** The kind of token, or `undefined` for a configured secret. */
  kind: string | undefined;
}

/** Finds the secrets in a text. */
export class SecretMatcher {
  readonly #forms = new Set<string>();
  readonly #knowsTokens: boolean;
  #finder: LiteralFinder;
  #prefixes = new LiteralPrefixes([]);

  /**
   * @param configured values of the configuration. The matcher decides which of them are secrets.
   * @param credentials configured values in places for secrets, such as headers.
   * @param knowsTokens whether to find tokens by their form too.
   */
  constructor(configured: readonly string[], credentials: readonly string[] = [], knowsTokens = true) {
    this.#knowsTokens = knowsTokens;
    this.#finder = knowsTokens ? TOKEN_FINDER : new LiteralFinder([]);
    this.learn(configured, credentials);
  }

  /** Adds values, as for the constructor. */
  learn(configured: readonly string[], credentials: readonly string[]): void {
    this.#know([
      ...configured.flatMap((value) => secretsIn(value)),
      ...credentials.flatMap((value) => secretsIn(value, true)),
    ]);
  }

  /** Adds a credential in all its forms. Costs about as much as making a matcher. */
  add(credential: string): void {
    this.#know(secretsIn(credential, true));
  }

  #know(secrets: readonly string[]): void {
    const before = this.#forms.size;
    for (const form of new Set(secrets.flatMap(encodedForms)))
      if (form.length >= MIN_CREDENTIAL_CHARS) this.#forms.add(form);
    if (this.#forms.size === before) return;
    const literals = this.#knowsTokens ? TOKEN_LITERALS : [];
    this.#finder = new LiteralFinder([...new Set([...this.#forms, ...literals])]);
    this.#prefixes = new LiteralPrefixes([...this.#forms]);
  }

  /** The length of the longest secret, in any of its forms. */
  get longest(): number {
    return Math.max(MAX_TOKEN_CHARS, this.#prefixes.longest);
  }

  /**
   * The parts to replace, in order and without overlap: overlapping secrets become one part.
   *
   * @param from the first position where a secret may begin. The text before is only context.
   */
  find(text: string, from = 0): SecretRange[] {
    if (text.length < MIN_CREDENTIAL_CHARS) return NONE;
    const secrets: SecretRange[] = [];
    const anchors: Anchor[] = [];
    this.#finder.find(text, (start, literal) => {
      if (start < from) return;
      if (this.#forms.has(literal)) secrets.push({ start, end: start + literal.length, kind: undefined });
      if (this.#knowsTokens && mayBeginToken(text, start, literal)) anchors.push({ start, literal });
    });
    const merged = secrets.length < 2 ? secrets : merge(secrets);
    return anchors.length === 0 ? merged : withTokens(text, merged, anchors);
  }

  /** The first position from which the end of a text could be the beginning of a secret, or the length of the text. */
  unfinishedFrom(text: string): number {
    const secretFrom = this.#prefixes.unfinishedFrom(text);
    const tokenFrom = unfinishedTokenFrom(text);
    // If a secret begins there, a token before it ends there.
    return secretFrom === text.length
      ? tokenFrom
      : Math.min(tokenFrom, unfinishedTokenFrom(text.slice(0, secretFrom)));
  }
}

const NONE: SecretRange[] = [];

interface Anchor {
  start: number;
  literal: string;
}

/** Adds the tokens between configured secrets. A secret ends a token before it, as its mark will. */
function withTokens(text: string, secrets: readonly SecretRange[], anchors: Anchor[]): SecretRange[] {
  anchors.sort((a, b) => a.start - b.start);
  const all: SecretRange[] = [];
  let passed = 0;
  let edge = 0;
  for (const { start, literal } of anchors) {
    for (let next = secrets[passed]; next !== undefined && next.start <= start; next = secrets[++passed]) {
      all.push(next);
      edge = next.end;
    }
    if (start < edge) continue;
    const token = tokenAt(text, start, literal, { from: edge, to: secrets[passed]?.start ?? text.length });
    if (token === undefined) continue;
    all.push(token);
    edge = token.end;
  }
  all.push(...secrets.slice(passed));
  return all;
}

function merge(found: SecretRange[]): SecretRange[] {
  found.sort((a, b) => a.start - b.start);
  const merged: SecretRange[] = [];
  for (const range of found) {
    const last = merged.at(-1);
    if (last === undefined || range.start >= last.end) {
      merged.push({ ...range });
      continue;
    }
    last.end = Math.max(last.end, range.end);
  }
  return merged;
}

/** The text between two positions with its ranges replaced. A range that begins before `from` is replaced from there. */
export function replaceRanges(
  text: string,
  ranges: readonly SecretRange[],
  from: number,
  to: number,
): { text: string; count: number } {
  const pieces: string[] = [];
  let at = from;
  let count = 0;
  for (const { start, end, kind } of ranges) {
    if (end <= from || start >= to) continue;
    pieces.push(text.slice(at, Math.max(at, start)), kind === undefined ? REDACTED : redactedToken(kind));
    at = Math.min(end, to);
    count++;
  }
  pieces.push(text.slice(at, to));
  return { text: pieces.join(""), count };
}

/**
 * All forms in which common encoders write a text: unchanged, escaped in JSON (once and twice), in a URL, in HTML, in base64 and
 * base64url at any position, and in hexadecimal. Most secrets look the same in most of these forms.
 */
function encodedForms(secret: string): string[] {
  const bytes = Buffer.from(secret, "utf8");
  const forms = new Set([
    secret,
    ...jsonForms(secret),
    ...percentForms(bytes),
    ...htmlForms(secret),
    ...base64Forms(bytes),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ]);
  return [...forms];
}

/** The characters that each family of JSON writers escapes although JSON does not demand it, and the case of their hex digits. */
const JSON_WRITERS: readonly { escapes: RegExp; upper?: true }[] = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is "all but ASCII"
  { escapes: /[^\x00-\x7f]/g }, // Python, PHP
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  { escapes: /[^\x00-\x7f]/g, upper: true },
  { escapes: /[<>&\u2028\u2029]/g }, // Go
  { escapes: /[<>&']/g, upper: true }, // PHP with JSON_HEX_*
  // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
  { escapes: /[^\x00-\x7e]|["&'+<>`]/g, upper: true }, // .NET
];

function jsonForms(secret: string): string[] {
  const plain = jsonBody(secret);
  const once = [
    plain,
    ...JSON_WRITERS.map(({ escapes, upper }) => writeJson(secret, escapes, upper === true)),
  ];
  const withSlashes = once.map((form) => form.replaceAll("/", "\\/"));
  return [...once, ...withSlashes, ...[...once, ...withSlashes].map(jsonBody)];
}

function writeJson(secret: string, escapes: RegExp, upper: boolean): string {
  // Treats each character separately, so that no escape is escaped again.
  return secret.replace(/[\s\S]/g, (character) => {
    if (character.search(escapes) < 0) return jsonBody(character);
    const digits = character.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\u${upper ? digits.toUpperCase() : digits}`;
  });
}

function jsonBody(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** The characters besides letters and digits that each family of URL encoders leaves unchanged. */
const PERCENT_WRITERS = [
  "-_.~", // RFC 3986, Go, Python with safe=''
  "-_.!~*'()", // encodeURIComponent
  "-_.*", // application/x-www-form-urlencoded
  "-_.~/", // Python
  "-_.~$&+=:@", // Go's path segments
  "-_.!~*'();,/?:@&=+$#", // encodeURI
];

function percentForms(bytes: Buffer): string[] {
  return PERCENT_WRITERS.flatMap((kept) => {
    const upper = Array.from(bytes, (byte) => {
      const character = String.fromCharCode(byte);
      if (/[A-Za-z0-9]/.test(character) || kept.includes(character)) return character;
      return `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    }).join("");
    const lower = upper.replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase());
    return [upper, lower, upper.replaceAll("%20", "+"), lower.replaceAll("%20", "+")];
  });
}

/** The forms in which HTML writers write quotes. `&`, `<` and `>` have only one form. */
const HTML_QUOTES = [
  ['"', "'"],
  ["&quot;", "'"],
  ["&quot;", "&#39;"],
  ["&quot;", "&#x27;"],
  ["&quot;", "&#039;"],
  ["&quot;", "&apos;"],
  ["&#34;", "&#39;"],
] as const;

function htmlForms(secret: string): string[] {
  const base = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return HTML_QUOTES.map(([double, single]) => base.replaceAll('"', double).replaceAll("'", single));
}

/**
 * The base64 of the bytes for each position within a group of three, without the characters at both ends that depend on
 * neighbouring bytes.
 */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const own = [Math.ceil((before * 8) / 6), Math.floor((padded.length * 8) / 6)];
    return [padded.toString("base64").slice(...own), padded.toString("base64url").slice(...own)];
  });
}
