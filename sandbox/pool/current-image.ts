/** How long an answer of the engine is reused. */
const GOOD_MS = 1_000;

/** The image that the runner image's name refers to now. It can be rebuilt at any time. */
export class CurrentImage {
  readonly #find: () => Promise<string>;
  #seen: { digest: string; atMs: number } | undefined;
  #looking: Promise<string> | undefined;

  constructor(find: () => Promise<string>) {
    this.#find = find;
  }

  /** The digest, at most a second old. Rejects as `find` does. */
  async look(): Promise<string> {
    const nowMs = performance.now();
    if (this.#seen !== undefined && nowMs - this.#seen.atMs < GOOD_MS) return this.#seen.digest;
    this.#looking ??= this.#find().finally(() => {
      this.#looking = undefined;
    });
    this.see(await this.#looking, nowMs);
    return this.#seen?.digest ?? "";
  }

  /** Notes the digest that a look-up found which began at `atMs`. */
  see(digest: string, atMs: number): void {
    if (this.#seen === undefined || atMs >= this.#seen.atMs) this.#seen = { digest, atMs };
  }

  /** Whether this was the digest when the image was last looked up. */
  is(digest: string): boolean {
    return this.#seen?.digest === digest;
  }
}
