import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import { type Document, type Documents, LockTaken } from "../documents.ts";
import { type PgDatabase, patiently } from "./database.ts";

/** How long a lock lasts without renewal, and how often its holder renews it. */
const LOCK = { lastsSeconds: 20, renewEveryMs: 5_000 };
const LOCK_POLL_MS = { first: 20, longest: 500 };
/** How long to retry a statement while the server cannot be reached. Every statement may run twice. */
const PATIENCE_MS = 10_000;

const Row = z.object({ content: z.instanceof(Uint8Array), version: z.int() });
const Version = z.object({ version: z.int() });

/** Documents in PostgreSQL. Locks are rows that expire, so that they hold no connection. */
export class PostgresDocuments implements Documents {
  readonly #db: PgDatabase;

  constructor(db: PgDatabase) {
    this.#db = db;
  }

  async place(): Promise<string> {
    return this.#db.place;
  }

  async read(kind: string, name: string): Promise<Document | undefined> {
    const select = "SELECT content, version FROM documents WHERE kind = $1 AND name = $2";
    return this.#try(() => this.#db.get(Row, select, kind, name));
  }

  async version(kind: string, name: string): Promise<number> {
    const select = "SELECT version FROM documents WHERE kind = $1 AND name = $2";
    return (await this.#try(() => this.#db.get(Version, select, kind, name)))?.version ?? 0;
  }

  async write(kind: string, name: string, content: Uint8Array): Promise<void> {
    const upsert = `INSERT INTO documents (kind, name, content) VALUES ($1, $2, $3)
      ON CONFLICT (kind, name) DO UPDATE SET content = excluded.content, version = excluded.version`;
    await this.#try(() => this.#db.run(upsert, kind, name, content));
  }

  async remove(kind: string, name: string): Promise<boolean> {
    const remove = "DELETE FROM documents WHERE kind = $1 AND name = $2";
    return (await this.#try(() => this.#db.run(remove, kind, name))) === 1;
  }

  async withLock<T>(
    name: string,
    work: () => Promise<T>,
    { patienceMs, signal }: { patienceMs: number; signal?: AbortSignal | undefined },
  ): Promise<T> {
    const holder = randomUUID();
    await this.#acquire(name, holder, patienceMs, signal);
    const renewing = setInterval(() => void this.#take(name, holder).catch(() => {}), LOCK.renewEveryMs);
    try {
      return await work();
    } finally {
      clearInterval(renewing);
      const release = "DELETE FROM locks WHERE name = $1 AND holder = $2";
      // A lock that cannot be released expires.
      await this.#db.run(release, name, holder).catch(() => {});
    }
  }

  async #acquire(
    name: string,
    holder: string,
    patienceMs: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const giveUpAt = performance.now() + patienceMs;
    for (let pauseMs = LOCK_POLL_MS.first; ; pauseMs = Math.min(2 * pauseMs, LOCK_POLL_MS.longest)) {
      signal?.throwIfAborted();
      if (await this.#try(() => this.#take(name, holder))) return;
      if (performance.now() + pauseMs > giveUpAt) throw new LockTaken(`another process holds '${name}'`);
      await delay(pauseMs, undefined, signal === undefined ? {} : { signal });
    }
  }

  /** Takes a lock, or renews it. */
  async #take(name: string, holder: string): Promise<boolean> {
    const take = `INSERT INTO locks (name, holder, until) VALUES ($1, $2, now() + interval '${LOCK.lastsSeconds} seconds')
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE locks.holder = excluded.holder OR locks.until < now()`;
    return (await this.#db.run(take, name, holder)) === 1;
  }

  #try<T>(work: () => Promise<T>): Promise<T> {
    return patiently(work, PATIENCE_MS);
  }
}
