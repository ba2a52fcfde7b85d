import { CONFUSABLES } from "./confusables.ts";
import { visibleLine } from "./visible-text.ts";

/**
 * Text on one line, for a person who decides by it: as `visibleLine` has it, and what would pass for something else is written as
 * `\u{...}` too, while text of any language stays readable. That is:
 *
 * - what has no ink, and letters and digits that are another form of an ASCII one (compatibility characters);
 * - small capitals, which no language is written in;
 * - letters of a word that mixes scripts (UTS #39, section 5);
 * - what Unicode lists as confusable with ASCII (UTS #39, section 4), where it stands among ASCII: in a piece of text between
 *   spaces, quotes and brackets whose every other character is ASCII. Quotes, dashes and ellipses that prose has are left there,
 *   but in what looks like a path, an address, an option or an identifier;
 * - the letters of a script, if each of its letters in the text passes for an ASCII one.
 *
 * Letters of Latin alphabets up to U+017F, such as ı and þ, are left: they are words of living languages, and differ to the eye.
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
/** What stands between spaces, quotes, brackets and what else separates values. */
const PIECE = /[^\s"'`()[\]{}<>,;|]+/gu;
/** What prose has that passes for ASCII: quotes, dashes and the ellipsis. */
const PROSE = /[\u2013\u2014\u2018-\u201f\u2026]/u;
/** A piece that is most likely read by a machine. */
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
/** Other scripts are not considered: Japanese mixes four of them with Latin, and none looks like Latin. */
const WEIGHED = new RegExp(`[${SCRIPTS.map((name) => `\\p{Script=${name}}`).join("")}]`, "gu");

/** Characters without ink that `visibleLine` leaves, and spaces that are not the space. */
const BLANK = /(?! )[\p{Zs}\p{Default_Ignorable_Code_Point}\u2800]/gu;
/** Letters and digits in another form, such as those for mathematics. */
const OTHER_FORM = /(?![\0-\u00ff])[\p{L}\p{Nd}]/gu;

/** Those of IPA and of phonetic extensions. Unicode lists of them as confusable only what looks like the small letter too. */
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

/** In a piece that is ASCII but for what passes for it. A letter that does not tells what the others are. */
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

/** Escapes the letters of each script whose every letter in the text passes for an ASCII one. */
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

function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
