import { visibleLine } from "./visible-text.ts";

/** Letters and digits, with the marks on them. */
const WORD = /[\p{L}\p{M}\p{Nd}_]+/gu;
const LETTER = /\p{L}/gu;
const SCRIPTS = [
  "Latin",
  "Cyrillic",
  "Greek",
  "Armenian",
  "Hebrew",
  "Arabic",
  "Georgian",
  "Cherokee",
  "Coptic",
];
const LETTER_OF = SCRIPTS.map((name) => new RegExp(`\\p{Script=${name}}`, "u"));
/** What is no letter of these scripts is not weighed: Japanese mixes four with Latin, and none of them looks like it. */
const WEIGHED = new RegExp(`[${SCRIPTS.map((name) => `\\p{Script=${name}}`).join("")}]`, "gu");

/** Letters of Cyrillic, and of Greek, that look like Latin ones (Unicode's confusables.txt). */
const LOOKALIKES: readonly { script: RegExp; all: RegExp }[] = [
  { script: /\p{Script=Cyrillic}/gu, all: /^[АВЕЅІЈКМНОРСТУХаеорсухѕіјһԁԛԝӏ]+$/u },
  { script: /\p{Script=Greek}/gu, all: /^[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυχι]+$/u },
];
/** One such letter alone is a word in several languages. */
const MIN_LOOKALIKES = 2;

/** Characters without ink that `visibleLine` leaves, and spaces that are not the space. */
const BLANK = /(?! )[\p{Zs}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Letters and digits in another form, such as those for mathematics. */
const OTHER_FORM = /(?![\0-\u00ff])[\p{L}\p{Nd}]/gu;

/**
 * Text on one line, for a person who decides by it: as `visibleLine` has it, and what would pass for something else is written
 * as `\u{...}` too. That is what has no ink, letters and digits that are another form of an ASCII one, letters of a word that
 * mixes scripts (UTS #39, section 5), and letters of a text whose every letter of that script looks like a Latin one.
 */
export function unmistakableLine(text: string): string {
  const shown = visibleLine(text).replace(BLANK, escapeCharacter).replace(OTHER_FORM, escapeOtherForm);
  return LOOKALIKES.reduce(escapeLookalikes, shown.replace(WORD, escapeMixed));
}

/** Where Latin is among the scripts, the others are the strangers; else all but the first. */
function escapeMixed(word: string): string {
  const letters = word.match(WEIGHED) ?? [];
  const scripts = new Set(letters.map(scriptOf));
  if (scripts.size < 2) return word;
  const own = scripts.has(0) ? 0 : [...scripts][0];
  return word.replace(WEIGHED, (letter) => (scriptOf(letter) === own ? letter : escapeCharacter(letter)));
}

function scriptOf(letter: string): number {
  return LETTER_OF.findIndex((script) => script.test(letter));
}

function escapeLookalikes(text: string, { script, all }: (typeof LOOKALIKES)[number]): string {
  const letters = text.match(script) ?? [];
  if (letters.length < MIN_LOOKALIKES || !all.test(letters.join(""))) return text;
  return text.replace(LETTER, (letter) => (all.test(letter) ? escapeCharacter(letter) : letter));
}

function escapeOtherForm(character: string): string {
  return /^[\0-\u007f]+$/.test(character.normalize("NFKC")) ? escapeCharacter(character) : character;
}

function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
