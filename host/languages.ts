import type { LanguagePrinter } from "../codegen/language-printer.ts";
import { TYPESCRIPT_PRINTER } from "../codegen/typescript/typescript-printer.ts";

/** Prints the modules that programs import, and shows tools to models and people. */
export const PRINTER: LanguagePrinter = TYPESCRIPT_PRINTER;
