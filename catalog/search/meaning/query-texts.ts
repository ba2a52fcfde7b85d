/** What is compared with tools: longer texts are not compared better. */
const MAX_CHARS = 2_000;
const MAX_SENTENCES = 8;
/** Shorter ones say nothing alone. */
const MIN_CHARS = 12;
const SENTENCE_END = /(?<=[.!?;])\s+|\n+|(?<=[。！？；])/;

/** The texts of a query that are compared with tools: the whole, and its sentences, since a long query often names several needs. */
export function queryTexts(query: string): string[] {
  const whole = query.trim().slice(0, MAX_CHARS);
  const sentences = whole
    .split(SENTENCE_END)
    .map((sentence) => sentence.trim())
    .filter(({ length }) => length >= MIN_CHARS);
  return sentences.length < 2 ? [whole] : [whole, ...sentences.slice(0, MAX_SENTENCES)];
}
