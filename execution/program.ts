import { digestOf } from "../protocol/canonical-json.ts";

/** A program as it was handed in. */
export interface Program {
  code: string;
  /** Any JSON value; a program sees it as the global `data`. */
  data: unknown;
  /** One of a `Language`'s names. */
  language: string;
  /** The name of the program in error messages. */
  fileName: string;
  /** The saved program that it is the text of, while that is checked and not run. */
  savedAs?: SavedText;
}

/** A saved program whose text is checked. Nobody waits for it to run, so its check may take longer than that of others. */
interface SavedText {
  /** The tool that stands for it, whose input its `data` is. */
  tool: string;
  /** Whether its data has the members that the schema of the input names, these and maybe others, or nobody knows which. */
  data: "closed" | "open" | "any";
}

/** SHA-256 of the RFC 8785 form of code, data and language. Equal inputs have equal digests on every machine. */
export function inputDigest(program: Program): string {
  return digestOf({ code: program.code, data: program.data, language: program.language });
}
