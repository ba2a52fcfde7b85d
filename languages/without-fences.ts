/** A program between the fences of a Markdown code block. No pattern here may backtrack far: programs can be long. */
const FENCED = /^(\s*)```[^\S\r\n]*([\w+-]*)[^\S\r\n]*(\r?\n[\s\S]*\n)[^\S\r\n]*```(\s*)$/;

/**
 * Removes the fences from a program that was handed in as a Markdown code block. Lines keep their numbers. No useful program
 * begins and ends with a fence: as JavaScript, each fence is a template literal that is called.
 */
export function withoutFences(code: string): string {
  const [, before, , inside, after] = FENCED.exec(code) ?? [];
  return inside === undefined ? code : `${before}${inside}${after}`;
}

/** What the opening fence of such a program says of its language; `undefined` when it has no fences, or they say nothing. */
export function fenceOf(code: string): string | undefined {
  return FENCED.exec(code)?.[2] || undefined;
}
