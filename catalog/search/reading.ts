import type { SearchableTool } from "./searchable-text.ts";
import { tokenize } from "./words.ts";

/** Verbs that ask for what is there, and words that begin a question. */
const READING = new Set(
  "browse check count describe display fetch find get inspect list look lookup query read retrieve search see show tell view what which".split(
    " ",
  ),
);
/** Verbs that ask for a change. */
const CHANGING = new Set(
  "add append apply approve archive assign book buy cancel close commit copy create delete deploy disable drop edit enable execute insert install invite kill merge modify move open order pay post publish push put rebase reject remove rename replace reset restart restore run save schedule send set start stop submit sync transfer turn undo update upload write".split(
    " ",
  ),
);
/** A verb is sought among the first words of a query. The rest mostly says of what. */
const FIRST_WORDS = 6;
const MAX_QUERY_CHARS = 300;

/** Whether a query asks for what is there: it begins with a verb of reading, and no verb of changing comes before it. */
export function asksToRead(query: string): boolean {
  const words = wordsOf(query.slice(0, MAX_QUERY_CHARS)).slice(0, FIRST_WORDS);
  const verb = words.find((word) => READING.has(word) || CHANGING.has(word));
  return verb !== undefined && READING.has(verb);
}

/** The share of its score that a tool keeps which changes something, as its hint or the first verb in its name says. */
const CHANGES_BY_HINT = 0.5;
const CHANGES_BY_NAME = 0.8;

/** The weight of a tool for a query that asks to read something. A tool that may be meant for reading keeps its score. */
export function weightForReading({ name, annotations }: SearchableTool): number {
  const { readOnlyHint } = annotations ?? {};
  if (readOnlyHint === true) return 1;
  if (readOnlyHint === false) return CHANGES_BY_HINT;
  const [first] = wordsOf(name).filter((word) => READING.has(word) || CHANGING.has(word));
  return first !== undefined && CHANGING.has(first) ? CHANGES_BY_NAME : 1;
}

function wordsOf(text: string): string[] {
  return tokenize(text).flatMap(({ parts }) => parts.map(({ text: word }) => word));
}
