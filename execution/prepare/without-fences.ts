/**
 * Removes the fences from a program that was handed in as a Markdown code block. Lines keep their numbers. No useful program
 * begins and ends with a fence: as JavaScript, each fence is a template literal that is called.
 */
export function withoutFences(code: string): string {
  const [, before, inside, after] =
    /^(\s*)```[^\S\r\n]*[\w+-]*[^\S\r\n]*(\r?\n[\s\S]*\n)[^\S\r\n]*```(\s*)$/.exec(code) ?? [];
  return inside === undefined ? code : `${before}${inside}${after}`;
}
