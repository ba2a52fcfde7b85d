/**
 * The tokens with which principals call ptc, while what they called for is under way. They are in memory alone: a server's `auth`
 * may have one exchanged for another, and nothing else looks at them.
 */
export class Callers {
  /** Of each principal, the newest last. */
  readonly #held = new Map<string, (() => string)[]>();

  /** Has a principal's token known until what is returned is called, which may be called again. */
  hold(principal: string, token: (() => string) | undefined): () => void {
    if (token === undefined) return () => {};
    const held = this.#held.get(principal) ?? [];
    this.#held.set(principal, held);
    // Two requests may bring the same function, and each has an entry.
    const entry = () => token();
    held.push(entry);
    return () => {
      const at = held.indexOf(entry);
      if (at >= 0) held.splice(at, 1);
      if (held.length === 0 && this.#held.get(principal) === held) this.#held.delete(principal);
    };
  }

  /** The token with which a principal called last; `undefined` where nothing is under way that came with one. */
  tokenOf(principal: string): string | undefined {
    return this.#held.get(principal)?.at(-1)?.();
  }
}
