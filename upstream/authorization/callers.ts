/**
 * The tokens with which principals call ptc, while their requests are in progress. They are only kept in memory, and only used for
 * exchanges by a server's `auth`.
 */
export class Callers {
  /** By principal, the newest last. */
  readonly #held = new Map<string, (() => string)[]>();

  /** Holds a principal's token until the returned function is called. That function may be called several times. */
  hold(principal: string, token: (() => string) | undefined): () => void {
    if (token === undefined) return () => {};
    const held = this.#held.get(principal) ?? [];
    this.#held.set(principal, held);
    // Two requests may pass the same function, and each needs its own entry.
    const entry = () => token();
    held.push(entry);
    return () => {
      const at = held.indexOf(entry);
      if (at >= 0) held.splice(at, 1);
      if (held.length === 0 && this.#held.get(principal) === held) this.#held.delete(principal);
    };
  }

  /** The token of a principal's latest request; `undefined` if no request with a token is in progress. */
  tokenOf(principal: string): string | undefined {
    return this.#held.get(principal)?.at(-1)?.();
  }
}
