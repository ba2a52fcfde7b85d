/**
 * A program's text as it is read: code that was handed in as a Markdown block loses its fences. Every line stays where it
 * is. A fence is never a program of sense: it calls an empty text.
 */
export function withoutFences(code: string): string {
  const [, before, inside, after] =
    /^(\s*)```[^\S\r\n]*[\w+-]*[^\S\r\n]*(\r?\n[\s\S]*\n)[^\S\r\n]*```(\s*)$/.exec(code) ?? [];
  return inside === undefined ? code : `${before}${inside}${after}`;
}
