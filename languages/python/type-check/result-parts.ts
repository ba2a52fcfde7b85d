/**
 * Finds the expressions of a program in Python whose values certainly are parts of tools' results, so that their declared types
 * hold. pyright says what type an expression has, and not where its value comes from, so this reads the program's text: a call of a
 * tool, its items, and names that are bound to nothing else.
 */

/** The parts of a program's text that are needed. `plain` has spaces instead of strings and comments. */
interface Texts {
  readonly code: string;
  readonly plain: string;
}

/** A part of a text, in UTF-16 code units. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Methods that return a part of the text or list that they are called on. */
const KEEPS_PARTS =
  /^(?:casefold|copy|keys|lower|lstrip|replace|rstrip|split|splitlines|strip|title|upper|rsplit|removeprefix|removesuffix)$/;
const NAME_BEFORE = /[\p{XIDS}_][\p{XIDC}]*$/u;
const NAME_AFTER = /^[\p{XIDS}_][\p{XIDC}]*/u;
/** Longer programs mostly contain data, and nothing is followed in them. */
const MAX_CHARS = 64 * 1024;
/** The deepest chain of names that is followed. */
const MAX_STEPS = 12;

export class ResultParts {
  readonly #texts: Texts;
  readonly #isTool: (name: string) => boolean;

  /** @param isTool whether a name in the program calls a tool. */
  constructor(texts: Texts, isTool: (name: string) => boolean) {
    this.#texts = texts;
    this.#isTool = isTool;
  }

  /** The expression that ends at a place: names, calls, items and members, without operators. */
  before(end: number): Span | undefined {
    const { plain } = this.#texts;
    let at = end;
    while (at > 0 && /[ \t]/.test(plain[at - 1] ?? "")) at--;
    const last = at;
    for (;;) {
      const character = plain[at - 1] ?? "";
      if (character === ")" || character === "]") {
        const open = openingOf(plain, at - 1);
        if (open === undefined) return undefined;
        at = open;
        const isWhole = plain[open] === "(" && !/[\p{XIDC})\]]/u.test(plain[open - 1] ?? " ");
        if (isWhole) break;
        continue;
      }
      const name = NAME_BEFORE.exec(plain.slice(Math.max(0, at - 200), at))?.[0];
      if (name === undefined) return undefined;
      at -= name.length;
      if (plain[at - 1] !== ".") break;
      at--;
    }
    return at === last ? undefined : { start: at, end: last };
  }

  /** The name or the call at the beginning of an expression, as written. */
  textOf({ start, end }: Span): string {
    return this.#texts.code.slice(start, end).replace(/\s+/g, " ").trim();
  }

  /** Whether an expression certainly is a part of a result. */
  isPart(span: Span, steps = MAX_STEPS): boolean {
    const { plain } = this.#texts;
    if (steps === 0 || plain.length > MAX_CHARS) return false;
    let { start } = span;
    const skip = () => {
      while (start < span.end && /\s/.test(plain[start] ?? "")) start++;
    };
    skip();
    if (/^await\b/.test(plain.slice(start, span.end))) {
      start += "await".length;
      skip();
    }
    let at = start;
    let isHeld: boolean;
    if (plain[at] === "(") {
      const close = closingOf(plain, at);
      if (close === undefined || close >= span.end) return false;
      isHeld = this.isPart({ start: at + 1, end: close }, steps - 1);
      at = close + 1;
    } else {
      let name = NAME_AFTER.exec(plain.slice(at, at + 200))?.[0];
      if (name === undefined) return false;
      const first = name;
      at += name.length;
      const names = [name];
      while (plain[at] === "." && plain[at + 1] !== ".") {
        name = NAME_AFTER.exec(plain.slice(at + 1, at + 201))?.[0];
        if (name === undefined) return false;
        names.push(name);
        at += 1 + name.length;
      }
      if (plain[at] === "(" && this.#isTool(names.at(-1) ?? "")) {
        const close = closingOf(plain, at);
        if (close === undefined) return false;
        isHeld = true;
        at = close + 1;
      } else {
        isHeld = this.#isHeld(first, steps - 1);
        at = start + first.length;
      }
    }
    return isHeld && this.#keepsPart(at, span.end);
  }

  /** Whether only items are taken, and methods called that keep parts, between two places. */
  #keepsPart(from: number, end: number): boolean {
    const { plain } = this.#texts;
    let at = from;
    while (at < end) {
      if (/\s/.test(plain[at] ?? "")) {
        at++;
        continue;
      }
      if (plain[at] === "[") {
        const close = closingOf(plain, at);
        if (close === undefined) return false;
        at = close + 1;
        continue;
      }
      const method = /^\.([\p{XIDS}_][\p{XIDC}]*)\(/u.exec(plain.slice(at, at + 100))?.[1];
      if (method === undefined || !KEEPS_PARTS.test(method)) return false;
      const close = closingOf(plain, at + 1 + method.length);
      if (close === undefined) return false;
      at = close + 1;
    }
    return at === end;
  }

  /** Whether everything that a name is bound to is a part of a result. */
  #isHeld(name: string, steps: number): boolean {
    if (steps <= 0) return false;
    const { plain } = this.#texts;
    const word = `(?<![\\p{XIDC}.])${name}(?!\\p{XIDC})`;
    const others = new RegExp(
      `\\b(?:as|def|class|import|global|nonlocal|del|case)\\s+(?:[\\p{XIDC}.]+\\s*,\\s*)*${word}|${word}\\s*(?::=|[-+*/%@&|^<>]+=)|\\bdef\\s+[\\p{XIDC}]+\\s*\\([^)]*${word}`,
      "u",
    );
    if (others.test(plain)) return false;
    const bound: Span[] = [];
    for (const { index, 0: head } of plain.matchAll(new RegExp(`${word}\\s*(?::[^=\\n]+)?=(?!=)`, "gu"))) {
      const depth = depthAt(plain, index);
      if (depth > 0) continue;
      const line = plain.slice(plain.lastIndexOf("\n", index) + 1, index);
      if (line.trim() !== "" || head.includes(":")) return false;
      const start = index + head.length;
      bound.push({ start, end: endOfStatement(plain, start) });
    }
    const lines = plain.matchAll(
      new RegExp(`^[ \\t]*[^=\\n(]*,\\s*${word}[^=\\n]*=(?!=)|^[ \\t]*${word}\\s*,[^=\\n]*=(?!=)`, "gmu"),
    );
    if (!lines.next().done) return false;
    for (const { index, 0: head, 1: targets = "" } of plain.matchAll(
      /\bfor[ \t]+([^\n:[\]]{0,100}?)[ \t]+in\s+/g,
    )) {
      if (!new RegExp(word, "u").test(targets)) continue;
      const start = index + head.length;
      const end = endOfIterated(plain, start);
      const inner = /^enumerate\(/.exec(plain.slice(start, end))?.[0];
      const isCounted = inner !== undefined && new RegExp(`^\\w+\\s*,\\s*${name}$`, "u").test(targets.trim());
      if (isCounted)
        bound.push({ start: start + inner.length, end: closingOf(plain, start + inner.length - 1) ?? end });
      else if (targets.trim() === name) bound.push({ start, end });
      else return false;
    }
    for (const { index } of plain.matchAll(new RegExp(`\\blambda\\s+${word}\\s*:`, "gu"))) {
      const open = openingAround(plain, index);
      const called =
        open === undefined ? "" : (/(\w+)$/.exec(plain.slice(Math.max(0, open - 40), open))?.[1] ?? "");
      if (open === undefined || !/^(?:sorted|max|min)$/.test(called)) return false;
      const comma = plain.indexOf(",", open);
      bound.push({ start: open + 1, end: comma });
    }
    if (
      new RegExp(`\\blambda\\s+[^:\\n]*${word}[^:\\n]*,|\\blambda\\s+[^:\\n]*,[^:\\n]*${word}`, "u").test(
        plain,
      )
    )
      return false;
    return bound.length > 0 && bound.every((each) => this.#gives(each, steps));
  }

  /** Whether a value, or each value of several calls at once, is a part of a result. */
  #gives(span: Span, steps: number): boolean {
    const text = this.#texts.plain.slice(span.start, span.end);
    const many =
      /^\s*(?:await\s+)?(?:asyncio\.gather|parallel)\(\s*\*?\s*[[(]?\s*(?:lambda\s*[^:]*:\s*)?((?:[\p{XIDC}]+\.)*)([\p{XIDC}]+)\(/u.exec(
        text,
      );
    if (many !== null) return this.#isTool(many[2] ?? "");
    return this.isPart(trimmed(this.#texts.plain, span), steps - 1);
  }

  /** Whether a program handles that an expression fails, and does not only report it. */
  isGuarded(offset: number): boolean {
    const lines = this.#texts.plain.split("\n");
    const at = this.#texts.plain.slice(0, offset).split("\n").length - 1;
    let indent = indentOf(lines[at] ?? "");
    for (let line = at - 1; line >= 0; line--) {
      const text = lines[line] ?? "";
      if (text.trim() === "" || indentOf(text) >= indent) continue;
      indent = indentOf(text);
      if (/^\s*try\s*:/.test(text) && handles(lines, at, indent)) return true;
    }
    return false;
  }
}

/** Whether the handlers of the `try` with an indentation do something other than report the error. */
function handles(lines: readonly string[], from: number, indent: number): boolean {
  let isHandler = false;
  for (const text of lines.slice(from + 1)) {
    if (text.trim() === "") continue;
    if (indentOf(text) < indent) break;
    if (indentOf(text) === indent) {
      if (!/^\s*(?:except|else|finally)\b/.test(text)) break;
      isHandler = /^\s*except\b/.test(text);
      if (isHandler && /:\s*\S/.test(text.replace(/^\s*except[^:]*/, ""))) return true;
      continue;
    }
    if (isHandler && !/^\s*(?:print\(|raise\b|traceback\.|logging\.|result\s*=\s*[{f]?)/.test(text))
      return true;
  }
  return false;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function trimmed(text: string, { start, end }: Span): Span {
  let [from, to] = [start, end];
  while (from < to && /\s/.test(text[from] ?? "")) from++;
  while (to > from && /\s/.test(text[to - 1] ?? "")) to--;
  return { start: from, end: to };
}

function openingOf(text: string, closing: number): number | undefined {
  let depth = 0;
  for (let at = closing; at >= 0; at--) {
    if (/[)\]}]/.test(text[at] ?? "")) depth++;
    else if (/[([{]/.test(text[at] ?? "") && --depth === 0) return at;
  }
  return undefined;
}

function closingOf(text: string, opening: number): number | undefined {
  let depth = 0;
  for (let at = opening; at < text.length; at++) {
    if (/[([{]/.test(text[at] ?? "")) depth++;
    else if (/[)\]}]/.test(text[at] ?? "") && --depth === 0) return at;
  }
  return undefined;
}

/** The bracket that is open at a place. */
function openingAround(text: string, place: number): number | undefined {
  let depth = 0;
  for (let at = place - 1; at >= 0; at--) {
    if (/[)\]}]/.test(text[at] ?? "")) depth++;
    else if (/[([{]/.test(text[at] ?? "") && depth-- === 0) return at;
  }
  return undefined;
}

function depthAt(text: string, place: number): number {
  return openingAround(text, place) === undefined ? 0 : 1;
}

function endOfStatement(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (/[([{]/.test(text[at] ?? "")) depth++;
    else if (/[)\]}]/.test(text[at] ?? "")) depth--;
    else if (depth <= 0 && /[\n;]/.test(text[at] ?? "")) return at;
  }
  return text.length;
}

/** The end of what a loop or a comprehension goes over. */
function endOfIterated(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (/[([{]/.test(text[at] ?? "")) depth++;
    else if (/[)\]}]/.test(text[at] ?? "")) {
      if (depth-- === 0) return at;
    } else if (
      depth === 0 &&
      (/[:\n]/.test(text[at] ?? "") || /^\s(?:if|for|async)\b/.test(text.slice(at, at + 7)))
    )
      return at;
  }
  return text.length;
}
