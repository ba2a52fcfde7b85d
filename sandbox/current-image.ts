/** For so long the engine's word is good. */
const GOOD_MS = 1_000;

/** Which image the runner image's name stands for at present: somebody may build it anew at any time. */
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

  /** Takes note of what was found by a look that began at that time. */
  see(digest: string, atMs: number): void {
    if (this.#seen === undefined || atMs >= this.#seen.atMs) this.#seen = { digest, atMs };
  }

  /** Whether this was the image when it was last seen. */
  is(digest: string): boolean {
    return this.#seen?.digest === digest;
  }
}
