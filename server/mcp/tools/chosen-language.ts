import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import { pickPrinter } from "../../../languages/languages.ts";
import { languageNamed, whyNotOn } from "../../../languages/program-files.ts";

/** How tools are shown in the languages that are on; in that of programs that name none first. */
export type ShownLanguages = readonly [ToolPrinter, ...ToolPrinter[]];

/** Why a language that a request names is of no use, and what to do; `undefined` when it is, or none is named. */
export function whyOff(name: string | undefined, printers: ShownLanguages): string | undefined {
  if (name === undefined) return undefined;
  return whyNotOn(
    languageNamed(name) ?? name,
    printers.map(({ language }) => language),
  );
}

/** The printer of the language that a request names. */
export function chosenPrinter(name: string | undefined, printers: ShownLanguages): ToolPrinter {
  return pickPrinter(printers, name === undefined ? undefined : languageNamed(name));
}
