/** The form of a value that is not known yet: texts, and runs of so many digits, or of so many letters and digits. */
export type Shape = readonly (string | { readonly digits: number } | { readonly mixed: number })[];

const MAX_SEARCHED_CHARS = 200_000;
const MAX_FOUND = 1_000;
const NUMBERS =
  "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(
    " ",
  );

/** Whether a text has a form. */
export function hasShape(shape: Shape, text: string): boolean {
  return new RegExp(`^${sourceOf(shape)}$`).test(text);
}

/** The pieces of a text that have a form, in their order. No letter or digit stands beside a piece. */
export function findShape(shape: Shape, text: string): string[] {
  const pattern = new RegExp(`(?<![A-Za-z0-9])${sourceOf(shape)}(?![A-Za-z0-9])`, "g");
  const found: string[] = [];
  for (const [piece] of text.slice(0, MAX_SEARCHED_CHARS).matchAll(pattern))
    if (found.push(piece) >= MAX_FOUND) break;
  return found;
}

/** A form in words, such as `six digits`. */
export function describeShape(shape: Shape): string {
  return shape
    .map((run) => {
      if (typeof run === "string") return JSON.stringify(run);
      if ("digits" in run) return `${inWords(run.digits)} ${run.digits === 1 ? "digit" : "digits"}`;
      return `${inWords(run.mixed)} letters and digits`;
    })
    .join(", ");
}

function inWords(count: number): string {
  return NUMBERS[count] ?? String(count);
}

function sourceOf(shape: Shape): string {
  return shape
    .map((run) => {
      if (typeof run === "string") return run.replaceAll(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
      return "digits" in run ? `\\d{${run.digits}}` : `[A-Za-z0-9]{${run.mixed}}`;
    })
    .join("");
}
