import type { DeclaredType } from "./python-types.ts";

const WORD = /[\p{XIDC}]+/gu;

/**
 * Prints equal definitions of a module once. Each other one is declared as the first, and so are the dicts within it, because
 * programs may import all of their names.
 */
export class EqualTypes {
  /** Names by names of equal types: each by that of the first. */
  readonly #firstNames = new Map<string, string>();
  readonly #printed = new Map<number, readonly DeclaredType[]>();

  /** @param definitions the names of a module's definitions, in order. Equal ones have the same group. */
  constructor(definitions: readonly { name: string; group: number }[]) {
    const firsts = new Map<number, string>();
    for (const { name, group } of definitions) {
      const first = firsts.get(group) ?? name;
      firsts.set(group, first);
      this.#firstNames.set(name, first);
    }
  }

  /**
   * The text of a definition and of the dicts within it.
   *
   * @param group `undefined` for types that are no definition.
   */
  print(declared: readonly DeclaredType[], group: number | undefined): string[] {
    const texts = declared.map(({ text }) => text);
    if (group === undefined) return texts;
    const first = this.#printed.get(group);
    if (first === undefined) {
      this.#printed.set(group, declared);
      return texts;
    }
    // A dict that an earlier definition shares is declared there, so that the same definition may have more dicts or fewer here.
    const names = new Map(declared.map(({ name }, i) => [name, first[i]?.name ?? name]));
    const isSame =
      first.length === declared.length &&
      declared.every(
        ({ text }, i) => this.#withFirstNames(text, names) === this.#withFirstNames(first[i]?.text),
      );
    if (!isSame) return texts;
    for (const [name, equal] of names)
      if (!this.#firstNames.has(name)) this.#firstNames.set(name, this.#firstNames.get(equal) ?? equal);
    return declared.map(({ name, text }) => {
      const alias = `${name} = ${names.get(name)}`;
      return text.startsWith("type ") ? `type ${alias}` : alias;
    });
  }

  #withFirstNames(text = "", names: ReadonlyMap<string, string> = new Map()): string {
    return text.replace(WORD, (word) => {
      const name = this.#firstNames.has(word) ? word : (names.get(word) ?? word);
      return this.#firstNames.get(name) ?? name;
    });
  }
}
