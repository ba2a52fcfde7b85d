import { setImmediate as turn } from "node:timers/promises";
import type {
  Claimed,
  KeptOrNot,
  LiveRow,
  MostWaiting,
  PendingRow,
  PendingStore,
  RowToKeep,
} from "../../archive/pending-store.ts";

type Row = Omit<PendingRow, "isKept"> & { run: Uint8Array | null; question: Uint8Array };

/** What waits for approvals in memory, for tests. Each step takes a turn of the event loop before it is done. */
export class MemoryPendingStore implements PendingStore {
  readonly #rows = new Map<string, Row>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  async keep(row: RowToKeep, most: MostWaiting): Promise<KeptOrNot> {
    await this.#step();
    return this.#setWithin({ ...row, answer: null, owner: null }, most);
  }

  async offer(row: LiveRow, { bytes }: Pick<MostWaiting, "bytes">): Promise<KeptOrNot> {
    await this.#step();
    return this.#setWithin({ ...row, answer: null, run: null }, { runs: Number.POSITIVE_INFINITY, bytes });
  }

  async offered(ticket: string, owner: string): Promise<Uint8Array | undefined> {
    await this.#step();
    return this.#offered(ticket, owner)?.answer ?? undefined;
  }

  async withdraw(ticket: string, owner: string): Promise<Uint8Array | undefined> {
    await this.#step();
    const row = this.#offered(ticket, owner);
    if (row !== undefined) this.#rows.delete(ticket);
    return row?.answer ?? undefined;
  }

  async list(wanted: string | undefined): Promise<PendingRow[]> {
    await this.#step();
    return [...this.#rows.values()]
      .filter(({ principal }) => wanted === undefined || principal === wanted)
      .sort((a, b) => a.askedAt - b.askedAt || (a.ticket < b.ticket ? -1 : 1))
      .map(listed);
  }

  async row(ticket: string): Promise<PendingRow | undefined> {
    await this.#step();
    const row = this.#rows.get(ticket);
    return row && listed(row);
  }

  async question(ticket: string): Promise<Uint8Array | undefined> {
    await this.#step();
    return this.#rows.get(ticket)?.question;
  }

  async answer(ticket: string, principal: string, answer: Uint8Array): Promise<boolean> {
    await this.#step();
    const row = this.#rows.get(ticket);
    if (row?.principal !== principal || row.answer !== null) return false;
    row.answer = answer;
    return true;
  }

  async claim(
    ticket: string,
    principal: string,
    owner: string,
    isDead: (owner: string) => boolean,
  ): Promise<Claimed> {
    await this.#step();
    const row = this.#rows.get(ticket);
    if (row?.principal !== principal) return { kind: "unknown" };
    if (row.run === null) return { kind: "live" };
    if (row.answer === null) return { kind: "unanswered" };
    if (row.owner !== null && !isDead(row.owner)) return { kind: "taken" };
    row.owner = owner;
    return { kind: "claimed", run: row.run, answer: row.answer };
  }

  async release(ticket: string, owner: string): Promise<void> {
    await this.#step();
    const row = this.#rows.get(ticket);
    if (row?.owner === owner) row.owner = null;
  }

  async remove(ticket: string, owner: string): Promise<boolean> {
    await this.#step();
    return this.#rows.get(ticket)?.owner === owner && this.#rows.delete(ticket);
  }

  #setWithin(row: Row, { runs, bytes }: MostWaiting): KeptOrNot {
    const own = [...this.#rows.values()].filter(({ principal }) => principal === row.principal);
    if (own.length >= runs) return "too_many";
    if (own.reduce((sum, { question }) => sum + question.length, row.question.length) > bytes)
      return "too_large";
    this.#rows.set(row.ticket, row);
    return "kept";
  }

  #offered(ticket: string, owner: string): Row | undefined {
    const row = this.#rows.get(ticket);
    return row?.owner === owner && row.run === null ? row : undefined;
  }

  async #step(): Promise<void> {
    await turn();
    for (const [ticket, { expiresAt }] of this.#rows) if (expiresAt <= this.#now()) this.#rows.delete(ticket);
  }
}

function listed({ run, question: _, ...row }: Row): PendingRow {
  return { ...row, isKept: run !== null };
}
