import type { LanguagePrinter, ToolPrinter } from "../codegen/language-printer.ts";
import { TYPESCRIPT_PRINTER } from "../codegen/typescript/typescript-printer.ts";
import { findLanguage } from "./language.ts";
import { LANGUAGES, type LanguageName } from "./program-files.ts";

/** Prints the modules that programs in TypeScript import. */
export const PRINTER: LanguagePrinter = TYPESCRIPT_PRINTER;

/** The printers of the languages that are on; that of programs that name none comes first. */
export type Printers = readonly [LanguagePrinter, ...LanguagePrinter[]];

/** What prints the modules of each language. Only what is in use is loaded. */
const PRINTERS: Readonly<Record<LanguageName, () => LanguagePrinter | Promise<LanguagePrinter>>> = {
  typescript: () => TYPESCRIPT_PRINTER,
  python: async () => (await import("../codegen/python/python-printer.ts")).PYTHON_PRINTER,
};

/** The printers of some languages, in the same order. */
export async function loadPrinters(languages: readonly LanguageName[]): Promise<Printers> {
  const [first = PRINTER, ...others] = await Promise.all(languages.map((language) => PRINTERS[language]()));
  return [first, ...others];
}

/** What the type check of each language needs beside ptc, and is missing: a sentence that says what to do. */
const MISSING: Readonly<Record<LanguageName, () => Promise<string | undefined>>> = {
  typescript: async () => undefined,
  python: async () => (await import("./python/type-check/pyright-process.ts")).whyPyrightIsMissing(),
};

/** Why programs are not checked before they run on this machine: a sentence for each language of which that is so. */
export async function uncheckedLanguages(languages: readonly LanguageName[]): Promise<string[]> {
  const reasons = await Promise.all(languages.map((language) => MISSING[language]()));
  return reasons.filter((reason) => reason !== undefined);
}

/** Of some printers the one of a program's language; the first where it names none, or none of theirs. */
export function pickPrinter<Printer extends Pick<ToolPrinter, "language">>(
  printers: readonly [Printer, ...Printer[]],
  name: string | undefined,
): Printer {
  const names = name === undefined ? [] : (findLanguage(LANGUAGES, name)?.names ?? []);
  return printers.find(({ language }) => names.includes(language)) ?? printers[0];
}

/** The printer of the language that a program names, whether the language is on or off; `undefined` for no language. */
export async function loadPrinter(name: string): Promise<LanguagePrinter | undefined> {
  const [language] = findLanguage(LANGUAGES, name)?.names ?? [];
  return language === undefined ? undefined : PRINTERS[language as LanguageName]();
}
