/** A possible word at the cursor, with a description. */
export interface Candidate {
  word: string;
  about?: string | undefined;
}

/** What a word of the command line stands for. */
export type WordKind =
  | { kind: "words"; words: readonly string[] }
  | { kind: "files" | "servers" | "tools" | "runs" | "programs" | "none" }
  /** A saved program, or the file of one. */
  | { kind: "program" }
  /** A tool to call, and then its arguments, by the tool's name. */
  | { kind: "called-tool" }
  | { kind: "tool-arguments"; tool: string };
