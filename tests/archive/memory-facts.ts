import { ArchiveError } from "../../archive/archive-error.ts";
import type { Facts, Noted, SharedFacts } from "../../archive/shared-facts.ts";

/** Facts of processes that are all here. */
export class MemoryFacts implements SharedFacts {
  readonly byName = new Map<string, Facts>();
  notes = 0;
  reads = 0;

  /** How many notes are taken before the storage is gone. */
  #left: number;

  constructor(left = Number.POSITIVE_INFINITY) {
    this.#left = left;
  }

  async note(name: string, { facts, remove = [] }: Noted): Promise<Facts> {
    if (this.#left-- <= 0) throw new ArchiveError("unavailable", "the storage is gone");
    this.notes++;
    const all = Object.entries({ ...this.byName.get(name), ...facts }).filter(
      ([fact]) => !remove.includes(fact),
    );
    this.byName.set(name, Object.fromEntries(all));
    return this.byName.get(name) ?? {};
  }

  async read(name: string): Promise<Facts> {
    this.reads++;
    return this.byName.get(name) ?? {};
  }
}
