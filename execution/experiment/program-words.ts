import type { Chance } from "./chance.ts";

/**
 * What a program looks for in data: its quoted texts, its regular expressions, its numbers, and the names that it may read of objects.
 * Other data has some of each by chance, so that the program finds something and goes on.
 */
export interface ProgramWords {
  /** Quoted texts. */
  readonly texts: readonly string[];
  /** Sources of regular expressions. */
  readonly patterns: readonly string[];
  readonly numbers: readonly number[];
  /** Every word that may be the name of a member. */
  readonly names: ReadonlySet<string>;
  /** Those that it may ask for: what follows a dot, and is not called, and the words in quoted texts. */
  readonly asked: ReadonlySet<string>;
}

const QUOTED = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g;
const PATTERN = /(?<=[(,=:[!&|?{};\s]|^)\/(?![*/])((?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/[dgimsuvy]*/g;
const LOOKS_LIKE_PATTERN = /\\[dwsDWSb]|\[\^?[^\]]+\]|\(\?|\.[*+]/;
const MEMBER = /(?<=\.)[A-Za-z_$][\w$]*(?![\w$]*\s*\()/g;
const NAME = /[A-Za-z_$][\w$-]*/g;
const MAX_TEXTS = 60;
const MAX_TEXT_CHARS = 200;

/** @param wanted the values that are asked about. What is a part of them, or has them in it, is no word that data may have. */
export function wordsOf(code: string, wanted: readonly string[]): ProgramWords {
  const asked = wanted.map((value) => value.toLowerCase());
  const isAsked = (text: string) => {
    const own = text.toLowerCase();
    return (
      /[\p{L}\p{N}]/u.test(own) &&
      asked.some((value) => value.includes(own) || (value !== "" && own.includes(value)))
    );
  };
  const texts = new Set<string>();
  const patterns = new Set<string>();
  for (const [quoted] of code.matchAll(QUOTED))
    for (const part of quoted.slice(1, -1).split(/\$\{[^}]*\}|\{[^}]*\}/)) {
      const text = part.replace(/\\(.)/g, (_, char: string) =>
        char === "n" ? "\n" : char === "t" ? "\t" : char,
      );
      if (text === "" || text.length > MAX_TEXT_CHARS || isAsked(text)) continue;
      texts.add(text);
      if (LOOKS_LIKE_PATTERN.test(part)) patterns.add(part.replaceAll("\\\\", "\\"));
    }
  for (const [, source = ""] of code.matchAll(PATTERN)) patterns.add(source);
  const numbers = [...code.matchAll(/(?<![\w.])\d+(?:\.\d+)?(?![\w.])/g)].map(([found]) => Number(found));
  return {
    texts: [...texts].slice(0, MAX_TEXTS),
    patterns: [...patterns].filter((pattern) => !isAsked(pattern)).slice(0, MAX_TEXTS),
    numbers: [...new Set(numbers)].filter((number) => !asked.some((value) => value.includes(String(number)))),
    names: new Set(code.match(NAME) ?? []),
    asked: new Set([
      ...(code.match(MEMBER) ?? []),
      ...[...code.matchAll(QUOTED)].flatMap(([quoted]) => quoted.match(NAME) ?? []),
    ]),
  };
}

const MAX_DEPTH = 12;
const MAX_REPEATED = 6;

/** A text that matches a regular expression, as far as that is made of characters, classes, groups and repetitions. */
export function textMatching(pattern: string, chance: Chance): string {
  let at = 0;
  const alternatives = (depth: number): string => {
    const made = [sequence(depth)];
    while (pattern[at] === "|") {
      at++;
      made.push(sequence(depth));
    }
    return chance.pick(made);
  };
  const sequence = (depth: number): string => {
    let made = "";
    while (at < pattern.length && pattern[at] !== "|" && pattern[at] !== ")") made += repeated(depth);
    return made;
  };
  const repeated = (depth: number): string => {
    const from = at;
    let made = one(depth);
    const count = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})[?+]?/.exec(pattern.slice(at));
    if (count === null) return made;
    at += count[0].length;
    const [, sign, least, isOpen, most] = count;
    const low = sign === undefined ? Number(least) : sign === "+" ? 1 : 0;
    const high =
      sign === "?"
        ? 1
        : isOpen === undefined && sign === undefined
          ? low
          : most
            ? Number(most)
            : low + MAX_REPEATED;
    const times = Math.min(chance.between(low, high), 50);
    const after = at;
    made = "";
    for (let time = 0; time < times; time++) {
      at = from;
      made += one(depth);
    }
    at = after;
    return made;
  };
  const one = (depth: number): string => {
    const char = pattern[at++] ?? "";
    if (char === "(" && depth < MAX_DEPTH) {
      const kind = /^\?(?:<?[=!]|:|P?<[^>]*>)/.exec(pattern.slice(at))?.[0] ?? "";
      at += kind.length;
      const inner = alternatives(depth + 1);
      if (pattern[at] === ")") at++;
      return /^\?<?[=!]/.test(kind) ? "" : inner;
    }
    if (char === "[") {
      const end = /^\^?(?:\\.|[^\]\\])*/.exec(pattern.slice(at))?.[0] ?? "";
      at += end.length + 1;
      return ofClass(end, chance);
    }
    if (char === "\\") return ofEscape(pattern[at++] ?? "", chance);
    if (char === ".") return chance.pick([..."abcdefghij 0123"]);
    return "^$".includes(char) ? "" : char;
  };
  return alternatives(0);
}

function ofEscape(char: string, chance: Chance): string {
  if (char === "d") return String(chance.between(0, 9));
  if ("wSD".includes(char)) return chance.pick([..."abcdefghijklmnopqrstuvwxyz"]);
  if (char === "W" || char === "s") return " ";
  if (char === "n") return "\n";
  return "bB".includes(char) ? "" : char;
}

function ofClass(inside: string, chance: Chance): string {
  if (inside.startsWith("^")) {
    const others = [..."abcdefghijklmnopqrstuvwxyz0123456789"].filter((char) => !inside.includes(char));
    return chance.pick(others.length === 0 ? ["a"] : others);
  }
  const parts = inside.match(/\\.|.-.|./gs) ?? ["a"];
  const part = chance.pick(parts);
  if (part.startsWith("\\")) return ofEscape(part[1] ?? "", chance);
  if (part.length === 1) return part;
  const [from, to] = [part.charCodeAt(0), part.charCodeAt(2)];
  return String.fromCharCode(chance.between(Math.min(from, to), Math.max(from, to)));
}
