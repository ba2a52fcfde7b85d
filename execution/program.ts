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
}

/** SHA-256 of the RFC 8785 form of code, data and language. Equal inputs have equal digests on every machine. */
export function inputDigest(program: Program): string {
  return digestOf({ code: program.code, data: program.data, language: program.language });
}
