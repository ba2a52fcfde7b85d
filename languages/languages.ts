/**
 * The languages of programs. Each language's folder registers it (languages/typescript/language.ts): facts that need no loading,
 * and functions that load its printer, its checker and the rest when a program needs them. Adding a language takes a folder and a
 * line in the table below. Its printer is in codegen/, and its runner in runner-image/.
 */
import { extname } from "node:path";
import type { LanguagePrinter, ToolPrinter } from "../codegen/language-printer.ts";
import type { RunnerName, RunnerStarts } from "../protocol/runners.ts";
import {
  type CodeSyntax,
  findLanguage,
  type Language,
  type LanguageFacts,
  type LanguageProcesses,
  openLanguage,
  type RegisteredLanguage,
} from "./language.ts";
import { PYTHON } from "./python/language.ts";
import { TYPESCRIPT } from "./typescript/language.ts";

/** By the names that turn them on in ptc.yaml. The first one is the default language of programs. */
const REGISTERED = {
  typescript: TYPESCRIPT,
  python: PYTHON,
} satisfies Readonly<Record<string, RegisteredLanguage>>;

export type LanguageName = keyof typeof REGISTERED;

export const LANGUAGE_NAMES = Object.keys(REGISTERED) as [LanguageName, ...LanguageName[]];

/** All languages, on or off. */
export const LANGUAGES: readonly RegisteredLanguage[] = Object.values(REGISTERED);

/** How a sandbox starts the runner of each language, on or off. Engines get this as an argument. */
export const RUNNER_STARTS = Object.fromEntries(
  LANGUAGES.map(({ runner, start }) => [runner, start]),
) as RunnerStarts;

/** The language and file name of a program without either. */
export function unnamedProgram([first = "typescript"]: readonly LanguageName[]): LanguageFacts["unnamed"] {
  return REGISTERED[first].unnamed;
}

/** The runner of a known language. */
export function runnerOf(language: string): RunnerName {
  return languageOr(language).runner;
}

/** The suffixes of program files. */
export function programSuffixes(languages: readonly LanguageName[]): string[] {
  return languages.flatMap((name) => Object.keys(REGISTERED[name].suffixes));
}

/** The language of a program file, on or off, by its suffix. `undefined` for an unknown suffix. */
export function languageOfFile(file: string): string | undefined {
  return named("suffixes", extname(file).toLowerCase());
}

/** The language, on or off, whose interpreter the first line of a program names after `#!`. */
export function languageOfInterpreter(code: string): string | undefined {
  const [, path = "", argument] = /^#!\s*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(code) ?? [];
  const file = path.split("/").at(-1) ?? "";
  return named("interpreters", (file === "env" ? argument : file)?.replace(/[\d.]+$/, "") ?? "");
}

function named(kind: "suffixes" | "interpreters", name: string): string | undefined {
  return LANGUAGES.flatMap(({ [kind]: names }) => (Object.hasOwn(names, name) ? (names[name] ?? []) : []))[0];
}

/** The language, on or off, that people mean by its name in any case, a suffix or an interpreter. */
export function languageNamed(name: string): string | undefined {
  const wanted = name.trim().toLowerCase();
  if (isLanguage(wanted)) return wanted;
  return languageOfFile(`x.${wanted}`) ?? languageOfInterpreter(`#!${wanted}`);
}

/** Why programs cannot be in the named language, and what to do, or `undefined` if they can. */
export function whyNotOn(name: string, languages: readonly string[]): string | undefined {
  const facts = findLanguage(LANGUAGES, name);
  const on = LANGUAGES.filter(({ names }) => names.some((each) => languages.includes(each)));
  if (facts !== undefined && on.includes(facts)) return undefined;
  const known = on.flatMap(({ names }) => names).join(", ");
  if (facts === undefined) return `there is no language '${name}'; programs are in ${known}`;
  const all = [...languages, facts.names[0]].join(", ");
  return `${facts.title} is off; add \`languages: [${all}]\` to ptc.yaml`;
}

/** Whether two names belong to one language, like `typescript` and `javascript`. */
export function isSameLanguage(name: string, other: string): boolean {
  const facts = findLanguage(LANGUAGES, name);
  return facts !== undefined && facts === findLanguage(LANGUAGES, other);
}

/** Whether there is a language with this name, on or off. */
export function isLanguage(name: string): boolean {
  return findLanguage(LANGUAGES, name) !== undefined;
}

/** The highlighting of a recorded program. @param language the language in the record, on or off. */
export function syntaxOf(language: string): CodeSyntax {
  return languageOr(language).syntax;
}

/** The language with a name, on or off, or the first one if no language has that name. */
function languageOr(name: string): RegisteredLanguage {
  return findLanguage(LANGUAGES, name) ?? REGISTERED.typescript;
}

/** The printers of the languages that are on. The printer of the default language comes first. */
export type Printers = readonly [LanguagePrinter, ...LanguagePrinter[]];

/** The printers of some languages, in the same order, or that of the first language if there are none. */
export async function loadPrinters(languages: readonly LanguageName[]): Promise<Printers> {
  const [first, ...others] = await Promise.all(languages.map((name) => REGISTERED[name].loadPrinter()));
  return [first ?? (await REGISTERED.typescript.loadPrinter()), ...others];
}

/** The printer of the language that a program names, on or off. `undefined` if there is no such language. */
export async function loadPrinter(name: string): Promise<LanguagePrinter | undefined> {
  return findLanguage(LANGUAGES, name)?.loadPrinter();
}

/** Like `loadPrinter`, with the printer of the first language for an unknown name. */
export function loadPrinterOr(name: string): Promise<LanguagePrinter> {
  return languageOr(name).loadPrinter();
}

/** The printer of a program's language, or the first printer if it names none, or another language. */
export function pickPrinter<Printer extends Pick<ToolPrinter, "language">>(
  printers: readonly [Printer, ...Printer[]],
  name: string | undefined,
): Printer {
  const names = name === undefined ? [] : (findLanguage(LANGUAGES, name)?.names ?? []);
  return printers.find(({ language }) => names.includes(language)) ?? printers[0];
}

/** Why this machine cannot check programs before they run: a sentence for each such language. */
export async function uncheckedLanguages(languages: readonly LanguageName[]): Promise<string[]> {
  const reasons = await Promise.all(languages.map((name) => REGISTERED[name].whyUnchecked()));
  return reasons.filter((reason) => reason !== undefined);
}

/** The languages of a host. Each opens on first use. */
export class OpenLanguages<Name extends string = LanguageName> {
  readonly #processes: LanguageProcesses;
  readonly #registered: Readonly<Record<Name, RegisteredLanguage>>;
  readonly #opened = new Map<Name, Promise<Language>>();
  #on: readonly Name[];
  /** The languages that were started in advance, or `undefined` if none should be. */
  #warmed: Set<Name> | undefined;

  constructor(
    on: readonly Name[],
    processes: LanguageProcesses,
    registered: Readonly<Record<Name, RegisteredLanguage>> = REGISTERED as never,
  ) {
    this.#on = on;
    this.#processes = processes;
    this.#registered = registered;
  }

  /** Changes the languages of later programs. Starts them in advance if the earlier ones were. */
  turnOn(on: readonly Name[]): void {
    this.#on = on;
    if (this.#warmed !== undefined) void this.warm();
  }

  /** The languages of programs. The default language comes first. */
  on(): Promise<readonly Language[]> {
    return Promise.all(this.#on.map((name) => this.#open(name)));
  }

  /** Only the language of a recorded program, which may be off by now. Empty if there is no such language. */
  async recorded(name: string): Promise<readonly Language[]> {
    const all = Object.entries<RegisteredLanguage>(this.#registered) as [Name, RegisteredLanguage][];
    const [found] = all.find(([, { names }]) => names.includes(name)) ?? [];
    return found === undefined ? [] : [await this.#open(found)];
  }

  /** Starts in advance what the first programs would otherwise wait for. Never rejects. */
  async warm(): Promise<void> {
    this.#warmed ??= new Set();
    const cold = this.#on.filter((name) => this.#warmed?.has(name) === false);
    for (const name of cold) this.#warmed.add(name);
    await Promise.all(cold.map(async (name) => (await this.#open(name)).warm()));
  }

  /** Ends the processes of all languages. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map(async (opened) => (await opened).close()));
  }

  #open(name: Name): Promise<Language> {
    const opened = this.#opened.get(name) ?? openLanguage(this.#registered[name], this.#processes);
    this.#opened.set(name, opened);
    return opened;
  }
}
