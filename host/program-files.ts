import { extname } from "node:path";
import { findLanguage, type LanguageFacts } from "../execution/prepare/language.ts";
import { TYPESCRIPT_FACTS } from "../execution/typescript/typescript-facts.ts";

/** The languages of programs. Their bundlers and checkers load slowly, so composition/execution.ts wires them. */
const LANGUAGES: readonly LanguageFacts[] = [TYPESCRIPT_FACTS];

/** Language and file name of a program that is handed in without a file. */
export const UNNAMED_PROGRAM = TYPESCRIPT_FACTS.unnamed;

/** The suffixes of program files. */
export const PROGRAM_SUFFIXES: readonly string[] = LANGUAGES.flatMap(({ suffixes }) => Object.keys(suffixes));

/** The language of a program file, by its suffix; `undefined` for an unknown suffix. */
export function languageOfFile(file: string): string | undefined {
  const suffix = extname(file).toLowerCase();
  return LANGUAGES.flatMap(({ suffixes }) =>
    Object.hasOwn(suffixes, suffix) ? (suffixes[suffix] ?? []) : [],
  )[0];
}

/** Whether programs may be written in a language of this name. */
export function isLanguage(name: string): boolean {
  return findLanguage(LANGUAGES, name) !== undefined;
}
