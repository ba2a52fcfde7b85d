import { PROGRAM_DECLARATIONS } from "../../codegen/typescript/editor/program-declarations.ts";
import { findLanguage, type Language } from "../../execution/prepare/language.ts";
import { createTypeScript } from "../../execution/typescript/typescript.ts";
import type { ProcessObserver } from "../../execution/typescript/typescript-api.ts";
import { LANGUAGES, type LanguageName } from "../program-files.ts";

/** Makes each language. What is not in use is not loaded. */
const CREATE: Readonly<Record<LanguageName, (observer: ProcessObserver) => Language | Promise<Language>>> = {
  typescript: (observer) => createTypeScript({ declarations: PROGRAM_DECLARATIONS, ...observer }),
  python: async (observer) => (await import("./compose-python.ts")).composePython(observer),
};

/** The languages of a host. Each is made when it is first needed. */
export class ComposedLanguages {
  readonly #observer: ProcessObserver;
  readonly #made = new Map<LanguageName, Promise<Language>>();
  #on: readonly LanguageName[];

  constructor(on: readonly LanguageName[], observer: ProcessObserver) {
    this.#on = on;
    this.#observer = observer;
  }

  /** Has later programs be in other languages. */
  turnOn(on: readonly LanguageName[]): void {
    this.#on = on;
  }

  /** The languages that programs may be in; that of programs that name none comes first. */
  on(): Promise<readonly Language[]> {
    return Promise.all(this.#on.map((name) => this.#make(name)));
  }

  /** The language of a recorded program, which may be off by now, alone; none where there is no such language. */
  async recorded(name: string): Promise<readonly Language[]> {
    const [language] = findLanguage(LANGUAGES, name)?.names ?? [];
    return language === undefined ? [] : [await this.#make(language as LanguageName)];
  }

  /** Starts in advance what the first programs would otherwise wait for. Never rejects. */
  async warm(): Promise<void> {
    await Promise.all((await this.on()).map((language) => language.warm()));
  }

  /** Ends the processes of all languages. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#made.values()].map(async (made) => (await made).close()));
  }

  #make(name: LanguageName): Promise<Language> {
    const made = this.#made.get(name) ?? Promise.resolve(CREATE[name](this.#observer));
    this.#made.set(name, made);
    return made;
  }
}
