import { editDistance, letterSet, mayBeWithin } from "./edit-distance.ts";
import type { SearchableTool } from "./searchable-text.ts";

/** Longer queries are not names. */
const MAX_NAME_CHARS = 200;

interface Entry {
  slots: number[];
  letters: number;
}

/**
 * Which slots' tools go by a name: the protocol name, with the server before it, and the namespaced name. Case and
 * separators do not matter: `create_issue`, `createIssue` and `Create issue` are one name.
 */
export class NameLookup {
  readonly #entries = new Map<string, Entry>();

  add(slot: number, tool: SearchableTool): void {
    for (const name of namesOf(tool)) {
      const entry = this.#entries.get(name);
      if (entry === undefined) this.#entries.set(name, { slots: [slot], letters: letterSet(name) });
      else entry.slots.push(slot);
    }
  }

  remove(slot: number, tool: SearchableTool): void {
    for (const name of namesOf(tool)) {
      const entry = this.#entries.get(name);
      if (entry === undefined) continue;
      entry.slots = entry.slots.filter((each) => each !== slot);
      if (entry.slots.length === 0) this.#entries.delete(name);
    }
  }

  find(query: string): readonly number[] {
    return this.#entries.get(compactName(query))?.slots ?? [];
  }

  /** The slots that `find` returns; if there are none, those of the names that are one or two typing errors away. */
  findNearest(query: string): readonly number[] {
    const wanted = compactName(query);
    const exact = this.#entries.get(wanted);
    if (exact !== undefined) return exact.slots;
    let limit = wanted.length >= 8 ? 2 : wanted.length >= 5 ? 1 : 0;
    let nearest: number[] = [];
    if (limit === 0) return nearest;
    const letters = letterSet(wanted);
    for (const [name, entry] of this.#entries) {
      if (Math.abs(name.length - wanted.length) > limit || !mayBeWithin(limit, letters, entry.letters))
        continue;
      const distance = editDistance(wanted, name, limit);
      if (distance > limit) continue;
      nearest = distance < limit ? [...entry.slots] : [...nearest, ...entry.slots];
      limit = distance;
    }
    return [...new Set(nearest)];
  }
}

function compactName(name: string): string {
  if (name.length > MAX_NAME_CHARS) return "";
  const isAscii = !/[^\p{ASCII}]/u.test(name);
  return name.toLowerCase().replace(isAscii ? /[^a-z0-9]+/g : /[^\p{L}\p{N}]+/gu, "");
}

function namesOf({ server, name, namespacedName }: SearchableTool): Set<string> {
  const names = new Set([name, `${server} ${name}`, namespacedName].map(compactName));
  names.delete("");
  return names;
}
