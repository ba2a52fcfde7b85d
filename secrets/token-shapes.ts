import { LiteralFinder, LiteralPrefixes } from "./redaction-literals.ts";
import { SECRETLINT_SHAPES } from "./token-shapes-secretlint.ts";

/** The form of a kind of token. It never depends on how random a text looks, because digests and ids must pass. */
interface TokenShape {
  /** Names the kind in the mark `[REDACTED:kind]`. */
  readonly kind: string;
  /** The literals that such a token begins with. */
  readonly anchors: readonly string[];
  /** Matches a token from its anchor on. If only its end is secret, that part is in a group named `secret`. */
  readonly pattern: RegExp;
  /** Matches an unfinished token from its anchor to the end of a text. By default, any token characters match. */
  readonly open?: RegExp;
  /** Whether the anchor may be inside a word. */
  readonly anywhere?: true;
}

/** The length of the longest recognised token, which is a private key with its many lines. */
export const MAX_TOKEN_CHARS = 16_384;

/** The number of characters before a token that decide about it. */
export const TOKEN_CONTEXT_CHARS = 6;

const LINE_BREAK = String.raw`(?:\r?\n|\\r\\n|\\n)`;
const KEY_LABEL = "(?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----";

/** Shapes that the preset lacks, as their issuers document them. */
const OWN_SHAPES: readonly TokenShape[] = [
  { kind: "google-api-key", anchors: ["AIza"], pattern: /AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])/ },
  { kind: "google-token", anchors: ["GOCSPX-"], pattern: /GOCSPX-[0-9A-Za-z_-]{28}(?![0-9A-Za-z_-])/ },
  { kind: "google-token", anchors: ["ya29."], pattern: /ya29\.[0-9A-Za-z_-]{32,2048}/ },
  { kind: "ptc-token", anchors: ["ptc_"], pattern: /ptc_[0-9A-Za-z_-]{43}(?![0-9A-Za-z_-])/ },
  { kind: "pypi-token", anchors: ["pypi-AgE"], pattern: /pypi-AgE[0-9A-Za-z_-]{50,1024}/ },
  { kind: "sendgrid-token", anchors: ["SG."], pattern: /SG\.[\w-]{22}\.[\w-]{43}(?![\w-])/ },
  {
    // Administrator keys and OAuth tokens, in addition to the keys that the preset knows.
    kind: "anthropic-token",
    anchors: ["sk-ant-"],
    pattern: /sk-ant-[a-z]{3,10}\d\d-[A-Za-z0-9_-]{80,128}(?![A-Za-z0-9_-])/,
  },
  {
    kind: "jwt",
    anchors: ["eyJ"],
    pattern: /eyJ[A-Za-z0-9_-]{10,4096}\.eyJ[A-Za-z0-9_-]{10,8192}\.[A-Za-z0-9_-]{16,2048}/,
  },
  {
    // RFC 3986, section 3.2.1: the user information of an authority. A placeholder such as `${PASSWORD}`, `<password>` or
    // `password` is not a secret: descriptions of tools show addresses with them.
    kind: "url-password",
    anchors: ["://", "://:"],
    pattern:
      /:\/\/[^\s/?#:@"'<>\\]{0,256}:(?!(?:pass(?:w(?:or)?d)?|pwd|secret|changeme|x{3,}|\.{3})@)(?<secret>[^\s/?#@"'<>\\[{$*][^\s/?#@"'<>\\]{0,255})(?=@)/i,
    open: /^:\/\/[^\s/?#:@"'<>\\]{0,256}(?::[^\s/?#@"'<>\\]{0,256})?$/,
    anywhere: true,
  },
  {
    kind: "aws-secret-key",
    anchors: ["ecretAccessKey", "ecret_access_key", "ECRET_ACCESS_KEY"],
    pattern:
      /ECRET_?ACCESS_?KEY\\{0,3}["']?\s{0,8}[:=]\s{0,8}\\{0,3}["']?(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/i,
    open: /^\w+\\{0,3}["']?\s{0,8}[:=]?\s{0,8}\\{0,3}["']?[A-Za-z0-9/+]*$/,
    anywhere: true,
  },
  {
    kind: "private-key",
    anchors: ["-----BEGIN "],
    pattern: new RegExp(
      `-----BEGIN ${KEY_LABEL}(?:${LINE_BREAK}[A-Za-z-]{1,32}: [^\\r\\n\\\\]{1,256})*${LINE_BREAK}*[A-Za-z0-9+/]{48,}` +
        `(?:${LINE_BREAK}+[A-Za-z0-9+/=]+)*${LINE_BREAK}*(?:-----END ${KEY_LABEL})?`,
    ),
    open: /^-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}(?:[A-Z]{0,16}|PRIVATE KEY[ A-Z-]{0,11}|PRIVATE KEY(?: BLOCK)?-----(?![\s\S]*-----END [A-Z0-9 ]{1,64}-----)[^"'<>{}]*)$/,
  },
];

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const TOKEN_CHARACTER = ASCII.map((character) => /[A-Za-z0-9_.+/=:-]/.test(character));
const WORD_CHARACTER = ASCII.map((character) => /[A-Za-z0-9_-]/.test(character));

/** Longer literals are found faster, so the search combines a shorter anchor with each character that may follow it. */
const MIN_LITERAL_CHARS = 4;

interface Candidate {
  readonly shape: TokenShape;
  readonly pattern: RegExp;
}

const CANDIDATES = new Map<string, Candidate[]>();
for (const shape of [...OWN_SHAPES, ...SECRETLINT_SHAPES] as TokenShape[]) {
  const candidate = { shape, pattern: new RegExp(`^(?:${shape.pattern.source})`, shape.pattern.flags) };
  for (const literal of shape.anchors.flatMap(longEnough)) {
    CANDIDATES.set(literal, [...(CANDIDATES.get(literal) ?? []), candidate]);
  }
}

/** Every token begins with one of these. */
export const TOKEN_LITERALS: readonly string[] = [...CANDIDATES.keys()];

/** The minimum length of a token after its anchor. */
const MIN_REST_CHARS = 8;

/** A cheap first check, so that a text full of anchors costs little: whether a token can begin at this literal. */
export function mayBeginToken(text: string, start: number, literal: string): boolean {
  const candidates = CANDIDATES.get(literal);
  if (candidates === undefined) return false;
  const end = start + literal.length;
  for (let at = end; at < end + MIN_REST_CHARS; at++) {
    if (TOKEN_CHARACTER[text.charCodeAt(at)] !== true)
      return candidates.some(({ shape }) => shape.open !== undefined);
  }
  return true;
}

/** Finds the literals that tokens begin with. */
export const TOKEN_FINDER = new LiteralFinder(TOKEN_LITERALS);
const PREFIXES = new LiteralPrefixes(TOKEN_LITERALS);

function longEnough(anchor: string): string[] {
  if (anchor.length >= MIN_LITERAL_CHARS) return [anchor];
  return ASCII.filter((_, code) => WORD_CHARACTER[code]).map((character) => anchor + character);
}

interface FoundToken {
  /** Where the secret part begins. */
  start: number;
  end: number;
  kind: string;
}

/**
 * The token that begins at one of `TOKEN_LITERALS`, if there is one. It is between `edges.from` and `edges.to`, because
 * the text outside is replaced anyway.
 */
export function tokenAt(
  text: string,
  start: number,
  literal: string,
  edges: { from: number; to: number },
): FoundToken | undefined {
  const begins = start === edges.from || beginsToken(text, start);
  for (const { shape, pattern } of CANDIDATES.get(literal) ?? []) {
    if (!begins && shape.anywhere === undefined) continue;
    const match = pattern.exec(text.slice(start, Math.min(start + MAX_TOKEN_CHARS, edges.to)));
    if (match === null) continue;
    const end = start + match[0].length;
    return { start: end - (match.groups?.secret ?? match[0]).length, end, kind: shape.kind };
  }
  return undefined;
}

/**
 * The first position from which the end of a text could be the beginning of a token, or a token that continues, or the length of
 * the text. Ignores the text before that position, which may turn out to be a secret and therefore an edge.
 */
export function unfinishedTokenFrom(text: string): number {
  const from = Math.max(0, text.length - MAX_TOKEN_CHARS);
  const tail = text.slice(from);
  const run = trailingRunFrom(tail);
  let unfinished = tail.length;
  TOKEN_FINDER.find(tail, (start, literal) => {
    if (start >= unfinished) return;
    for (const { shape } of CANDIDATES.get(literal) ?? []) {
      const open = shape.open === undefined ? start >= run : shape.open.test(tail.slice(start));
      if (open) unfinished = start;
    }
  });
  return Math.min(from + unfinished, PREFIXES.unfinishedFrom(text));
}

/** The start of the token characters at the end. A regular expression would retry at each character of each earlier run. */
function trailingRunFrom(text: string): number {
  let from = text.length;
  while (from > 0 && TOKEN_CHARACTER[text.charCodeAt(from - 1)] === true) from--;
  return from;
}

/** Whether a token can begin here: not within a word, unless the letters before it belong to an escape (`\n`, `%3D`). */
function beginsToken(text: string, at: number): boolean {
  if (at === 0 || WORD_CHARACTER[text.charCodeAt(at - 1)] !== true) return true;
  const escaped = text.charAt(at - 2) === "\\" || text.charAt(at - 3) === "%" || text.charAt(at - 6) === "\\";
  return escaped && ESCAPE.test(text.slice(Math.max(0, at - TOKEN_CONTEXT_CHARS), at));
}

const ESCAPE = /(?:\\[bfnrt]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})$/;
