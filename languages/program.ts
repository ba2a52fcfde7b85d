import { digestOf } from "../protocol/canonical-json.ts";
import type { ProgramFile } from "../protocol/program-files.ts";

/** A program as it was handed in. */
export interface Program {
  code: string;
  /** Any JSON value; a program sees it as the global `data`. */
  data: unknown;
  /** One of a `Language`'s names. */
  language: string;
  /** The name of the program in error messages. */
  fileName: string;
  /** Files that the program finds in its workspace. */
  files?: readonly ProgramFile[];
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

/**
 * SHA-256 of the RFC 8785 form of code, data and language, and of the digests of the program's files by name where it was handed
 * any. Equal inputs have equal digests on every machine.
 */
export function inputDigest({ code, data, language, files = [] }: Program): string {
  if (files.length === 0) return digestOf({ code, data, language });
  const digests = Object.fromEntries(files.map(({ name, digest }) => [name, digest]));
  return digestOf({ code, data, language, files: digests });
}

/** Where a run stands in its session, as its record says. */
export interface SessionPlace {
  /** The id of the session, a UUID: two sessions of one name have different ids. */
  readonly id: string;
  /** From 1, counting the programs that ran. */
  readonly position: number;
  /** The run of the program before; `undefined` for the first. */
  readonly after?: string | undefined;
}

/** The session that a program runs in. Its sandbox is that of the session, and stays. */
export interface ProgramSession {
  readonly place: SessionPlace;
  /** The programs that ran in it before, oldest first. */
  readonly earlier: readonly Program[];
}
