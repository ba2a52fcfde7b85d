import { readFileSync } from "node:fs";

/** A program of a corpus. */
export interface SampleProgram {
  /** What the program does; empty in a corpus whose programs have no titles. */
  title: string;
  code: string;
  /** What a check says of the program, a line each. */
  expected: string[];
}

/**
 * Reads a corpus of programs. Each begins with a line `== title`, has its code in the lines below, and ends with the lines that a check
 * answers, after `=> `.
 */
export function readPrograms(path: string): SampleProgram[] {
  const [, ...texts] = `\n${readFileSync(path, "utf8")}`.split(/\n== ?/);
  return texts.map((text) => {
    const [title = "", ...lines] = text.trimEnd().split("\n");
    const isExpected = (line: string) => line.startsWith("=> ");
    return {
      title,
      code: lines.filter((line) => !isExpected(line)).join("\n"),
      expected: lines.filter(isExpected).map((line) => line.slice(3)),
    };
  });
}
