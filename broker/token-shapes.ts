import { LiteralFinder, LiteralPrefixes } from "./redaction-literals.ts";
import { SECRETLINT_SHAPES } from "./token-shapes-secretlint.ts";

/** A token that tells by its form what it is. Never a guess from how random a text looks: digests and ids must pass. */
interface TokenShape {
  /** What stands in the place of one: `[REDACTED:kind]`. */
  readonly kind: string;
  /** The literals that one begins with. */
  readonly anchors: readonly string[];
  /** One, from its anchor on. If only a part of it is secret, that part is last and in a group named `secret`. */
  readonly pattern: RegExp;
  /** The beginning of one, from its anchor to the end of a text; by default, characters that tokens are made of. */
  readonly open?: RegExp;
  /** Its anchor may stand within a word. */
  readonly anywhere?: true;
}

/** Longest token that is recognised, a private key with its many lines included. */
export const MAX_TOKEN_CHARS = 16_384;

/** Characters before a token that decide whether it is one. */
export const TOKEN_CONTEXT_CHARS = 6;

const LINE_BREAK = String.raw`(?:\r?\n|\\r\\n|\\n)`;
const KEY_LABEL = "(?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----";

/** What the preset lacks, as the issuers document it. */
const OWN_SHAPES: readonly TokenShape[] = [
  { kind: "google-api-key", anchors: ["AIza"], pattern: /AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])/ },
  { kind: "google-token", anchors: ["GOCSPX-"], pattern: /GOCSPX-[0-9A-Za-z_-]{28}(?![0-9A-Za-z_-])/ },
  { kind: "google-token", anchors: ["ya29."], pattern: /ya29\.[0-9A-Za-z_-]{32,2048}/ },
  { kind: "pypi-token", anchors: ["pypi-AgE"], pattern: /pypi-AgE[0-9A-Za-z_-]{50,1024}/ },
  { kind: "sendgrid-token", anchors: ["SG."], pattern: /SG\.[\w-]{22}\.[\w-]{43}(?![\w-])/ },
  {
    // Keys of administrators and OAuth tokens, beside the keys that the preset knows.
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

/** Literals are found the faster the longer they are: an anchor of three is looked for with each character after it. */
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

/** One of these stands at the beginning of every token. */
export const TOKEN_LITERALS: readonly string[] = [...CANDIDATES.keys()];

/** No token is shorter than this after its anchor. */
const MIN_REST_CHARS = 8;

/** A first look, so that a text full of anchors costs little: whether a token can begin where this literal stands. */
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

const FINDER = new LiteralFinder(TOKEN_LITERALS);
const PREFIXES = new LiteralPrefixes(TOKEN_LITERALS);

function longEnough(anchor: string): string[] {
  if (anchor.length >= MIN_LITERAL_CHARS) return [anchor];
  return ASCII.filter((_, code) => WORD_CHARACTER[code]).map((character) => anchor + character);
}

interface FoundToken {
  /** Where the secret in it begins. */
  start: number;
  end: number;
  kind: string;
}

/**
 * The token that begins where one of `TOKEN_LITERALS` stands, if one does. Nothing before `edges.from` or from `edges.to` on
 * belongs to it: what stands there is replaced anyway.
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
 * The first position from which the end of a text could be the beginning of a token, or one that goes on; else the length.
 * What stands before is not looked at: it may turn out to be a secret, and so an edge.
 */
export function unfinishedTokenFrom(text: string): number {
  const from = Math.max(0, text.length - MAX_TOKEN_CHARS);
  const tail = text.slice(from);
  const run = trailingRunFrom(tail);
  let unfinished = tail.length;
  FINDER.find(tail, (start, literal) => {
    if (start >= unfinished) return;
    for (const { shape } of CANDIDATES.get(literal) ?? []) {
      const open = shape.open === undefined ? start >= run : shape.open.test(tail.slice(start));
      if (open) unfinished = start;
    }
  });
  return Math.min(from + unfinished, PREFIXES.unfinishedFrom(text));
}

/** Not one expression: a search for a run that ends a text begins anew at each character of each run before it. */
function trailingRunFrom(text: string): number {
  let from = text.length;
  while (from > 0 && TOKEN_CHARACTER[text.charCodeAt(from - 1)] === true) from--;
  return from;
}

/** Whether a token can begin here: not within a word, unless its letters before are those of an escape (`\n`, `%3D`). */
function beginsToken(text: string, at: number): boolean {
  if (at === 0 || WORD_CHARACTER[text.charCodeAt(at - 1)] !== true) return true;
  const escaped = text.charAt(at - 2) === "\\" || text.charAt(at - 3) === "%" || text.charAt(at - 6) === "\\";
  return escaped && ESCAPE.test(text.slice(Math.max(0, at - TOKEN_CONTEXT_CHARS), at));
}

const ESCAPE = /(?:\\[bfnrt]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})$/;
