import { digestOf } from "../protocol/canonical-json.ts";
import type { ProgramFile } from "../protocol/program-files.ts";

/** A program as submitted. */
export interface Program {
  code: string;
  /** Any JSON value. The program sees it as the global `data`. */
  data: unknown;
  /** One of the names of a `Language`. */
  language: string;
  /** The name of the program in error messages. */
  fileName: string;
  /** Files that the program finds in its workspace. */
  files?: readonly ProgramFile[];
  /** Set if it is the text of a saved program that is only checked, not run. */
  savedAs?: SavedText;
}

/** A saved program whose text is checked. Nobody waits to run it, so its check may take longer than others. */
interface SavedText {
  /** The name of its tool, whose input is its `data`. */
  tool: string;
  /** Whether its data has exactly the members that the input's schema names, may have others too, or is unknown. */
  data: "closed" | "open" | "any";
}

/**
 * SHA-256 of the RFC 8785 form of code, data and language, and of the digests of the program's files by name if it has any. Equal
 * inputs have equal digests on every machine.
 */
export function inputDigest({ code, data, language, files = [] }: Program): string {
  if (files.length === 0) return digestOf({ code, data, language });
  const digests = Object.fromEntries(files.map(({ name, digest }) => [name, digest]));
  return digestOf({ code, data, language, files: digests });
}

/** The place of a run in its session, as recorded. */
export interface SessionPlace {
  /** The id of the session, a UUID. Two sessions with one name have different ids. */
  readonly id: string;
  /** From 1, counting the programs that ran. */
  readonly position: number;
  /** The run of the previous program. `undefined` for the first one. */
  readonly after?: string | undefined;
}

/** The session in which a program runs. The session's sandbox outlives the program. */
export interface ProgramSession {
  readonly place: SessionPlace;
  /** The earlier programs of the session, oldest first. */
  readonly earlier: readonly Program[];
}
