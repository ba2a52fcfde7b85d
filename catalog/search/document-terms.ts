import type { FieldTexts } from "./searchable-text.ts";
import { splitRunTogether } from "./split-run-together.ts";
import { type Token, tokenOf } from "./token.ts";
import { tokenize } from "./tokenize.ts";

/**
 * BM25F's fields, in the order of `FieldTexts`. `pivot` is the length, in words, at which a field counts as it is, and
 * `slope` how much more or less a shorter or longer one counts. The pivots are fixed, not averages over the catalog, so
 * that a tool's impacts do not depend on which other tools there are. In prose, words of grammar do not count.
 */
const FIELDS = [
  { field: "server", isProse: false, weight: 0.7, slope: 0.5, pivot: 2 },
  { field: "name", isProse: false, weight: 4.5, slope: 0.5, pivot: 3 },
  { field: "title", isProse: false, weight: 3, slope: 0.5, pivot: 3 },
  { field: "description", isProse: true, weight: 1, slope: 0.4, pivot: 25 },
  { field: "parameters", isProse: false, weight: 0.8, slope: 0.6, pivot: 6 },
  { field: "parameterDescriptions", isProse: true, weight: 0.5, slope: 0.6, pivot: 40 },
] as const;

/** How slowly a repeated word stops to count: BM25's k1. */
const SATURATION = 3;

/** The terms of a tool, stems and words as they are written, each with its impact on the tool's score, between 0 and 1. */
export interface DocumentTerms {
  readonly terms: readonly string[];
  readonly impacts: readonly number[];
}

/** The terms of one server's tools, in the tools' order. They depend on these tools alone. */
export function documentTerms(tools: readonly FieldTexts[]): DocumentTerms[] {
  const known = new Set<string>();
  const documents = tools.map((texts) => {
    const frequencies: Frequencies = new Map();
    for (const index of PROSE) addField(frequencies, index, proseTokens(texts[index] ?? ""));
    for (const { text } of frequencies.keys()) known.add(text);
    return frequencies;
  });
  return documents.map((frequencies, position) => {
    for (const index of LABELS)
      addField(frequencies, index, labelTokens(tools[position]?.[index] ?? "", known));
    return termsOf(frequencies);
  });
}

type Frequencies = Map<Token, number>;

const PROSE = [...FIELDS.keys()].filter((index) => FIELDS[index]?.isProse);
const LABELS = [...FIELDS.keys()].filter((index) => !FIELDS[index]?.isProse);

function proseTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (const { content } of tokenize(text)) for (const token of content) tokens.push(token);
  return tokens;
}

/** A label's words may be written without seams: such a word counts with the known words that it is made of. */
function labelTokens(text: string, known: ReadonlySet<string>): Token[] {
  const tokens: Token[] = [];
  for (const { parts, tokens: ofWord } of tokenize(text)) {
    tokens.push(...ofWord);
    for (const part of parts) {
      for (const within of splitRunTogether(part.text, known)) tokens.push(tokenOf(within));
    }
  }
  return tokens;
}

function addField(frequencies: Frequencies, index: number, tokens: readonly Token[]): void {
  const { weight, slope, pivot } = FIELDS[index] as (typeof FIELDS)[number];
  const unit = weight / (1 - slope + (slope * tokens.length) / pivot);
  for (const token of tokens) frequencies.set(token, (frequencies.get(token) ?? 0) + unit);
}

function termsOf(frequencies: Frequencies): DocumentTerms {
  const byTerm = new Map<string, number>();
  for (const [{ stem, exact }, frequency] of frequencies) {
    byTerm.set(stem, (byTerm.get(stem) ?? 0) + frequency);
    byTerm.set(exact, (byTerm.get(exact) ?? 0) + frequency);
  }
  const terms: string[] = [];
  const impacts: number[] = [];
  for (const [term, frequency] of byTerm) {
    terms.push(term);
    impacts.push(frequency / (SATURATION + frequency));
  }
  return { terms, impacts };
}
