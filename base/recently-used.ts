/** A map that drops the least recently used entries once it holds more than `maxEntries` or weighs more than `maxWeight`. */
export class RecentlyUsed<Key, Value> {
  readonly #limits: { maxEntries: number; maxWeight?: number };
  readonly #entries = new Map<Key, { value: Value; weight: number }>();
  #weight = 0;

  constructor(limits: { maxEntries: number; maxWeight?: number }) {
    this.#limits = limits;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  /** Returns the value; the entry does not count as used. */
  peek(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Sets an entry. The newest entry is kept even if it weighs too much by itself. */
  set(key: Key, value: Value, weight = 0): void {
    this.delete(key);
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    const { maxEntries, maxWeight = Number.POSITIVE_INFINITY } = this.#limits;
    for (const [oldest] of this.#entries) {
      if (oldest === key || (this.#entries.size <= maxEntries && this.#weight <= maxWeight)) return;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
  }
}
