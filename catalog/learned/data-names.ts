import { hasMemberWord } from "./member-words.ts";

/** Longest name that is the name of a member. */
const MAX_NAME_CHARS = 64;

/** Words of letters and digits, joined by `_`, `-` and at most one `:`, as people name members. `@` and `$` may stand in front. */
const MEMBER = /^[@$]?[\p{L}_][\p{L}\p{M}\p{N}_-]*(?::[\p{L}_][\p{L}\p{M}\p{N}_-]*)?$/u;

/**
 * Whether the name of a member looks like data: an id, a date, a number, an address, a path, a sentence, a hash. Such a name is
 * not kept. In doubt a name is data: a member that is missing from a type costs less than an id in it.
 */
export function isDataName(name: string): boolean {
  if (name.length > MAX_NAME_CHARS || !MEMBER.test(name)) return true;
  const digits = name.replace(/\P{N}/gu, "").length;
  if (digits >= 4 || /[-_]\d{2,}$/.test(name)) return true;
  // A ticket or a key: letters in capitals, a hyphen, a number.
  if (/^[A-Z]{2,}-\d+$/.test(name)) return true;
  if (digits > 0 && name.length >= 8 && /^[0-9a-f-]+$/i.test(name)) return true;
  // A short commit, and a handle. `@type` and the like have no digits.
  if (/^(?=.*\d)[0-9a-f]{7,}$/.test(name) || /^@.*\d/.test(name)) return true;
  return isRandomLetters(name) || isRandomCase(name) || name.split(/[^\p{L}\p{N}]+/u).some(isRandomWord);
}

/** Whether capitals come and go as in a token, in what has no word that names of members have. */
function isRandomCase(name: string): boolean {
  return (
    name.split(/[^\p{L}\p{N}]+/u).some((word) => word.length >= 10 && casesIn(word) > word.length / 5) &&
    !hasMemberWord(name)
  );
}

function casesIn(word: string): number {
  return word.match(/\p{Ll}(?=\p{Lu})|\p{Lu}(?=\p{Lu}\p{Ll})/gu)?.length ?? 0;
}

/** Letters, digits, capitals and small letters that follow each other as in a token, and not as in `utf8`, `sha256` or `httpURL`. */
function isRandomWord(word: string): boolean {
  const turns = word.match(/\p{L}(?=\p{N})|\p{N}(?=\p{L})/gu)?.length ?? 0;
  if (/^[A-Z]\d[A-Z\d]{7,}$/.test(word)) return true;
  return turns >= 3 || (word.length >= 10 && turns > 0 && turns + casesIn(word) > word.length / 4);
}

/** Whether capitals and small letters change as often as in a token. */
function isRandomLetters(name: string): boolean {
  if (name.length < 16) return false;
  const changes = name.match(/[a-z](?=[A-Z0-9])|[A-Z0-9](?=[A-Z0-9][a-z])/g)?.length ?? 0;
  const isPlain = /^[\p{Ll}\p{Lo}\p{N}_:@$-]+$/u.test(name) || /^[\p{Lu}\p{N}_:-]+$/u.test(name);
  return !isPlain && changes > name.length / 4;
}
