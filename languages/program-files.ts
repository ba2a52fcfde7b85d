import { extname } from "node:path";
import type { RunnerName, RunnerStarts } from "../protocol/runners.ts";
import { findLanguage, type LanguageFacts } from "./language.ts";
import { PYTHON_FACTS } from "./python/python-facts.ts";
import { TYPESCRIPT_FACTS } from "./typescript/typescript-facts.ts";

/** The languages that ptc.yaml may turn on, by name. */
export const LANGUAGE_NAMES = ["typescript", "python"] as const;
export type LanguageName = (typeof LANGUAGE_NAMES)[number];

/** What is known of each language without loading it. Their checkers load slowly, so compose-languages.ts wires them. */
const FACTS: Readonly<Record<LanguageName, LanguageFacts>> = {
  typescript: TYPESCRIPT_FACTS,
  python: PYTHON_FACTS,
};

/** All languages, on or off. */
export const LANGUAGES: readonly LanguageFacts[] = LANGUAGE_NAMES.map((name) => FACTS[name]);

/** What is known of languages of these names, in the same order. */
function factsOf(names: readonly LanguageName[]): readonly LanguageFacts[] {
  return names.map((name) => FACTS[name]);
}

/** Language and file name of a program that is handed in without either. */
export function unnamedProgram([first = "typescript"]: readonly LanguageName[]): LanguageFacts["unnamed"] {
  return FACTS[first].unnamed;
}

/** What runs programs in a language, which there must be. */
export function runnerOf(language: string): RunnerName {
  return findLanguage(LANGUAGES, language)?.runner ?? TYPESCRIPT_FACTS.runner;
}

/** How a sandbox starts the runner of each language, on or off. An engine gets this handed in. */
export const RUNNER_STARTS = Object.fromEntries(
  LANGUAGES.map(({ runner, start }) => [runner, start]),
) as RunnerStarts;

/** The suffixes of program files. */
export function programSuffixes(languages: readonly LanguageName[]): string[] {
  return factsOf(languages).flatMap(({ suffixes }) => Object.keys(suffixes));
}

/** The language of a program file, on or off, by its suffix; `undefined` for an unknown suffix. */
export function languageOfFile(file: string): string | undefined {
  const suffix = extname(file).toLowerCase();
  return LANGUAGES.flatMap(({ suffixes }) =>
    Object.hasOwn(suffixes, suffix) ? (suffixes[suffix] ?? []) : [],
  )[0];
}

/** The language, on or off, whose interpreter the first line of a program names after `#!`. */
export function languageOfInterpreter(code: string): string | undefined {
  const [, path = "", argument] = /^#!\s*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(code) ?? [];
  const file = path.split("/").at(-1) ?? "";
  const name = (file === "env" ? argument : file)?.replace(/[\d.]+$/, "") ?? "";
  return LANGUAGES.flatMap(({ interpreters }) =>
    Object.hasOwn(interpreters, name) ? (interpreters[name] ?? []) : [],
  )[0];
}

/** The language, on or off, that people mean by a name: its own in any case, a suffix or an interpreter. */
export function languageNamed(name: string): string | undefined {
  const wanted = name.trim().toLowerCase();
  if (findLanguage(LANGUAGES, wanted) !== undefined) return wanted;
  return languageOfFile(`x.${wanted}`) ?? languageOfInterpreter(`#!${wanted}`);
}

/** Why programs cannot be in a language of this name, and what to do; `undefined` when they can. */
export function whyNotOn(name: string, languages: readonly string[]): string | undefined {
  const facts = findLanguage(LANGUAGES, name);
  const on = LANGUAGES.filter(({ names }) => names.some((each) => languages.includes(each)));
  if (facts !== undefined && on.includes(facts)) return undefined;
  const known = on.flatMap(({ names }) => names).join(", ");
  if (facts === undefined) return `there is no language '${name}'; programs are in ${known}`;
  const all = [...languages, facts.names[0]].join(", ");
  return `${facts.title} is off; add \`languages: [${all}]\` to ptc.yaml`;
}

/** Whether two names are of one language, as `typescript` and `javascript` are. */
export function isSameLanguage(name: string, other: string): boolean {
  const facts = findLanguage(LANGUAGES, name);
  return facts !== undefined && facts === findLanguage(LANGUAGES, other);
}

/** Whether there is a language of this name, on or off. */
export function isLanguage(name: string): boolean {
  return findLanguage(LANGUAGES, name) !== undefined;
}
