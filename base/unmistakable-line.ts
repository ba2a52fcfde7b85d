import { CONFUSABLES } from "./confusables.ts";
import { escapeCharacter, visibleLine } from "./visible-text.ts";

/**
 * Formats text on one line for a person who bases a decision on it. Besides the characters that `visibleLine` escapes, it writes
 * look-alike characters as `\u{...}`, while text in any language stays readable. It escapes:
 *
 * - blank characters, and letters and digits that are another form of an ASCII one (compatibility characters);
 * - small capitals, which no language uses;
 * - letters of a word that mixes scripts (UTS #39, section 5);
 * - characters that Unicode lists as confusable with ASCII (UTS #39, section 4) in a piece of text between spaces, quotes and
 *   brackets whose other characters are all ASCII. Quotes, dashes and ellipses stay in such a piece, unless it looks like a path,
 *   an address, an option or an identifier;
 * - the letters of a script, if each of its letters in the text looks like an ASCII one.
 *
 * Letters of Latin alphabets up to U+017F, such as ı and þ, stay: living languages use them, and they look different.
 */
export function unmistakableLine(text: string): string {
  const shown = visibleLine(text)
    .replace(BLANK, escapeCharacter)
    .replace(OTHER_FORM, escapeOtherForm)
    .replace(SMALL_CAPITAL, escapeCharacter);
  if (!NOT_ASCII.test(shown)) return shown;
  const unmixed = shown.replace(PIECE, escapeAmongAscii).replace(WORD, escapeMixed);
  return [...new Set(unmixed.match(LETTER) ?? [])].some(isConfusable) ? escapeWholeScripts(unmixed) : unmixed;
}

const NOT_ASCII = /[^\0-\u007f]/;
/** Letters and digits, with the marks on them. */
const WORD = /[\p{L}\p{M}\p{Nd}_]+/gu;
/** Letters that are not ASCII. */
const LETTER = /(?![A-Za-z])\p{L}/gu;
/** Text between spaces, quotes, brackets and other separators of values. */
const PIECE = /[^\s"'`()[\]{}<>,;|]+/gu;
/** Characters of prose that look like ASCII: quotes, dashes and the ellipsis. */
const PROSE = /[\u2013\u2014\u2018-\u201f\u2026]/u;
/** A piece that a machine most likely reads. */
const FOR_MACHINES = /[/\\@=_:]|[A-Za-z0-9]\.[A-Za-z0-9]|^[-\u2010-\u2015]+[A-Za-z0-9]/u;
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
  "Lisu",
];
const LETTER_OF = SCRIPTS.map((name) => new RegExp(`\\p{Script=${name}}`, "u"));
/** Ignores all other scripts: Japanese mixes four of them with Latin, and none looks like Latin. */
const WEIGHED = new RegExp(`[${SCRIPTS.map((name) => `\\p{Script=${name}}`).join("")}]`, "gu");

/** Blank characters that `visibleLine` does not escape, and all spaces but U+0020. */
const BLANK = /(?! )[\p{Zs}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Letters and digits that may be another form of an ASCII one, such as those for mathematics. */
const OTHER_FORM = /(?![\0-\u00ff])[\p{L}\p{Nd}]/gu;

/** Small capitals of IPA and phonetic extensions. Unicode lists only those as confusable that also look like the small letter. */
const SMALL_CAPITAL =
  /[\u0262\u026a\u0274\u0276\u0280\u028f\u0299\u029c\u029f\u1d00-\u1d08\u1d0a-\u1d22\u1d2b\ua730\ua731\ua776\ua7af]/gu;

const CONFUSABLE = new Set(
  CONFUSABLES.flatMap(([, codes]) =>
    codes.split(" ").map((code) => String.fromCodePoint(Number.parseInt(code, 16))),
  ),
);

function isConfusable(character: string): boolean {
  return CONFUSABLE.has(character);
}

/** Escapes look-alikes in a piece whose other characters are all ASCII. A letter that is no look-alike reveals the real script. */
function escapeAmongAscii(piece: string): string {
  const others = piece.match(/[^\0-\u007f]/gu) ?? [];
  if (others.length === 0 || !others.every((other) => isConfusable(other) || PROSE.test(other))) return piece;
  const hasLetters = others.some((other) => /\p{L}/u.test(other));
  if (hasLetters && !/[A-Za-z0-9]/.test(piece)) return piece;
  const isForMachines = FOR_MACHINES.test(piece);
  return piece.replace(/[^\0-\u007f]/gu, (other) =>
    PROSE.test(other) && !isForMachines ? other : escapeCharacter(other),
  );
}

/** Escapes the letters of all scripts in a word but one: Latin if it is among them, otherwise the first. */
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

/** Escapes the letters of each script whose letters in the text all look like ASCII ones. */
function escapeWholeScripts(text: string): string {
  const passes = new Map<number, boolean>();
  for (const letter of text.match(LETTER) ?? []) {
    const script = scriptOf(letter);
    passes.set(script, passes.get(script) !== false && isConfusable(letter));
  }
  return text.replace(LETTER, (letter) =>
    passes.get(scriptOf(letter)) === true ? escapeCharacter(letter) : letter,
  );
}

function escapeOtherForm(character: string): string {
  return /^[\0-\u007f]+$/.test(character.normalize("NFKC")) ? escapeCharacter(character) : character;
}
