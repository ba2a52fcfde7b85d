/** A program's text with what is found in it by line and column. */
export class ProgramText {
  readonly code: string;
  /** The same text with spaces for what is in strings and comments. */
  readonly plain: string;
  readonly lines: readonly string[];
  readonly #starts: number[] = [];

  constructor(code: string) {
    this.code = code;
    this.plain = withoutStrings(code);
    this.lines = code.split(/\r\n|\r|\n/);
    this.#starts.push(0);
    for (const { index, 0: end } of code.matchAll(/\r\n|\r|\n/g)) this.#starts.push(index + end.length);
  }

  /** Where a place of pyright's is in the text, in UTF-16 code units. */
  offsetOf({ line, character }: { line: number; character: number }): number {
    return Math.min((this.#starts[line] ?? this.code.length) + character, this.code.length);
  }

  /** The name that is called by the innermost call around a place: its last part. */
  calleeAround(offset: number): string | undefined {
    let depth = 0;
    for (let at = offset - 1; at >= 0; at--) {
      const character = this.plain[at];
      if (character === ")" || character === "]" || character === "}") depth++;
      else if (character === "[" || character === "{") depth = Math.max(0, depth - 1);
      else if (character === "(") {
        if (depth > 0) depth--;
        else {
          const name = nameBefore(this.plain, at);
          if (name !== undefined) return name;
        }
      }
    }
    return undefined;
  }
}

const STRING =
  /[rRbBuUfF]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?)|#.*/g;

function withoutStrings(code: string): string {
  return code.replace(STRING, (text) => text.replace(/[^\r\n]/g, " "));
}

function nameBefore(text: string, at: number): string | undefined {
  return /([\p{XIDS}_][\p{XIDC}]*)\s*$/u.exec(text.slice(Math.max(0, at - 200), at))?.[1];
}
