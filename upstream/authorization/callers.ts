/**
 * The tokens with which principals call ptc, while their requests are in progress. They are only kept in memory, and only used for
 * exchanges by a server's `auth`.
 */
export class Callers {
  /** The newest last. */
  readonly #held: { readonly principal: string; readonly token: () => string }[] = [];

  /** Holds a principal's token until the returned function is called. That function may be called several times. */
  hold(principal: string, token: (() => string) | undefined): () => void {
    if (token === undefined) return () => {};
    const entry = { principal, token };
    this.#held.push(entry);
    return () => {
      const at = this.#held.indexOf(entry);
      if (at >= 0) this.#held.splice(at, 1);
    };
  }

  /** The token of a principal's latest request; `undefined` if no request with a token is in progress. */
  tokenOf(principal: string): string | undefined {
    return this.#held.findLast((each) => each.principal === principal)?.token();
  }
}
