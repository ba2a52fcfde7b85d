import { PROGRAM_DECLARATIONS } from "../codegen/typescript/editor/program-declarations.ts";
import { findLanguage, type Language } from "./language.ts";
import { LANGUAGES, type LanguageName } from "./program-files.ts";
import { createTypeScript } from "./typescript/typescript.ts";
import type { ProcessObserver } from "./typescript/typescript-api.ts";

/** What languages start processes with. `folder` is this process's own, which a later ptc clears up. */
type Surroundings = ProcessObserver & { folder?: string };

/** Makes each language. What is not in use is not loaded. */
const CREATE: Readonly<Record<LanguageName, (own: Surroundings) => Language | Promise<Language>>> = {
  typescript: (own) => createTypeScript({ declarations: PROGRAM_DECLARATIONS, ...own }),
  python: async (own) => (await import("./compose-python.ts")).composePython(own),
};

/** The languages of a host. Each is made when it is first needed. */
export class ComposedLanguages {
  readonly #own: Surroundings;
  readonly #made = new Map<LanguageName, Promise<Language>>();
  #on: readonly LanguageName[];
  /** Those that were started in advance; `undefined` where none is to be. */
  #warmed: Set<LanguageName> | undefined;

  constructor(on: readonly LanguageName[], own: Surroundings) {
    this.#on = on;
    this.#own = own;
  }

  /** Has later programs be in other languages, which are started in advance where those of before were. */
  turnOn(on: readonly LanguageName[]): void {
    this.#on = on;
    if (this.#warmed !== undefined) void this.warm();
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
    this.#warmed ??= new Set();
    const cold = this.#on.filter((name) => this.#warmed?.has(name) === false);
    for (const name of cold) this.#warmed.add(name);
    await Promise.all(cold.map(async (name) => (await this.#make(name)).warm()));
  }

  /** Ends the processes of all languages. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#made.values()].map(async (made) => (await made).close()));
  }

  #make(name: LanguageName): Promise<Language> {
    const made = this.#made.get(name) ?? Promise.resolve(CREATE[name](this.#own));
    this.#made.set(name, made);
    return made;
  }
}
