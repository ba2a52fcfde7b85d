import { REDACTED, redactedToken } from "./marks.ts";
import { encodedForms } from "./redaction-forms.ts";
import { LiteralFinder, LiteralPrefixes } from "./redaction-literals.ts";
import { MIN_CREDENTIAL_CHARS, secretsIn } from "./redaction-secrets.ts";
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
  /** The kind of token; `undefined` for configured secrets. */
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
   * @param credentials those that are in places for secrets, such as headers.
   * @param knowsTokens whether tokens are found too that tell by their form what they are.
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

  /** Adds a credential, to be found in any of its forms. Costs about as much as making a matcher. */
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

  /** The longest that a secret, in any of its forms, can be. */
  get longest(): number {
    return Math.max(MAX_TOKEN_CHARS, this.#prefixes.longest);
  }

  /**
   * The parts to replace, in order and without overlap: overlapping secrets become one part.
   *
   * @param from only secrets that begin here or later are found; the text before is only context.
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

  /** The first position from which the end of a text could be the beginning of a secret; else its length. */
  unfinishedFrom(text: string): number {
    const secretFrom = this.#prefixes.unfinishedFrom(text);
    const tokenFrom = unfinishedTokenFrom(text);
    // Should a secret begin there, a token before it ends there.
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

/** The text between two positions with the parts in it replaced. Parts that begin before are replaced from there. */
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
