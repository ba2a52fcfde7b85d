import { digestOf } from "../protocol/canonical-json.ts";

export type Language = "typescript" | "javascript";

/** A program as it was handed in. */
export interface Program {
  code: string;
  /** Any JSON value; a program sees it as the global `data`. */
  data: unknown;
  language: Language;
  /** Shown in errors. */
  fileName: string;
}

/** Equal inputs have equal digests on every machine: SHA-256 of the RFC 8785 form of code, data and language. */
export function inputDigest(program: Program): string {
  return digestOf({ code: program.code, data: program.data, language: program.language });
}
