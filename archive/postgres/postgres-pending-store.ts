import * as z from "zod/mini";
import type {
  Claimed,
  KeptOrNot,
  LiveRow,
  MostWaiting,
  PendingRow,
  PendingStore,
  RowToKeep,
} from "../pending-store.ts";
import { type PgDatabase, type PgValue, patiently, type Statements } from "./database.ts";

/** How often a process reports that it is alive while it has claimed or offered something. */
const SEEN_EVERY_MS = 5_000;
/** A process that was not seen for this long counts as ended. Others may then claim its rows. */
const DEAD_AFTER = "30 seconds";
/** How long to retry a step while the server cannot be reached. */
const PATIENCE_MS = 15_000;

const Bytes = z.instanceof(Uint8Array);
const Listed = z.object({
  ticket: z.string(),
  principal: z.string(),
  asked_at: z.int(),
  expires_at: z.int(),
  listing: Bytes,
  answer: z.nullable(Bytes),
  owner: z.nullable(z.string()),
  has_run: z.boolean(),
});
const LISTED = `ticket, principal, asked_at, expires_at, coalesce(listing, question) AS listing, answer, owner,
  run IS NOT NULL AS has_run`;
const Question = z.object({ question: Bytes });
const Waiting = z.object({ runs: z.int(), bytes: z.int() });
const Kept = z.object({
  run: z.nullable(Bytes),
  answer: z.nullable(Bytes),
  owner: z.nullable(z.string()),
  is_dead: z.boolean(),
});
const Answer = z.object({ answer: z.nullable(Bytes) });
const Gone = z.object({ gone: z.boolean() });
const Count = z.object({ count: z.int() });

/** SQL condition that the process of a row counts as ended. */
const IS_DEAD = `owner_seen < now() - interval '${DEAD_AFTER}'`;

/**
 * Keeps what waits for approval in PostgreSQL. A step whose connection is lost is repeated, and recognizes what it has already
 * done. For that purpose a removed row stays, empty, until it expires.
 */
export class PostgresPendingStore implements PendingStore {
  readonly #db: PgDatabase;
  readonly #now: () => number;
  readonly #presence: Presence;

  /**
   * @param now returns milliseconds since 1970. Rows expire by this clock.
   * @param presence that of this process, for all of its stores.
   */
  constructor(db: PgDatabase, now: () => number, presence = new Presence(db)) {
    this.#db = db;
    this.#now = now;
    this.#presence = presence;
  }

  keep({ run, ...row }: RowToKeep, most: MostWaiting): Promise<KeptOrNot> {
    return this.#insertWithin(row, { run, owner: null }, most);
  }

  async offer({ owner, ...row }: LiveRow, { bytes }: Pick<MostWaiting, "bytes">): Promise<KeptOrNot> {
    const kept = await this.#insertWithin(row, { run: null, owner }, { bytes });
    if (kept === "kept") this.#presence.stay(owner);
    return kept;
  }

  #insertWithin(
    row: Omit<RowToKeep, "run">,
    where: { run: PgValue; owner: PgValue },
    most: Partial<MostWaiting>,
  ): Promise<KeptOrNot> {
    return this.#step(async (tx, tries) => {
      // The lock lets processes that keep runs of one principal count each other's runs.
      await tx.run("SELECT pg_advisory_xact_lock(hashtext('ptc pending ' || $1), 1)", row.principal);
      const count = `SELECT count(*) AS runs, coalesce(sum(bytes), 0)::bigint AS bytes FROM pending
        WHERE principal = $1 AND NOT gone AND ticket <> $2`;
      const waiting = (await tx.get(Waiting, count, row.principal, row.ticket)) ?? { runs: 0, bytes: 0 };
      if (waiting.runs >= (most.runs ?? Number.POSITIVE_INFINITY)) return "too_many";
      if (waiting.bytes + row.question.length > (most.bytes ?? Number.POSITIVE_INFINITY)) return "too_large";
      await insert(tx, row, where, tries);
      return "kept";
    });
  }

  offered(ticket: string, owner: string): Promise<Uint8Array | undefined> {
    return this.#step((tx) => answerOffered(tx, ticket, owner));
  }

  withdraw(ticket: string, owner: string): Promise<Uint8Array | undefined> {
    return this.#step(async (tx) => {
      const answer = await answerOffered(tx, ticket, owner);
      await tx.run(
        "DELETE FROM pending WHERE ticket = $1 AND owner = $2 AND run IS NULL AND NOT gone",
        ticket,
        owner,
      );
      return answer;
    });
  }

  async list(principal: string | undefined): Promise<PendingRow[]> {
    const whose = principal === undefined ? "" : "principal = $1 AND ";
    const select = `SELECT ${LISTED} FROM pending WHERE ${whose}${IS_WAITING} ORDER BY asked_at, ticket COLLATE "C"`;
    const rows = await this.#step((tx) =>
      tx.all(Listed, select, ...(principal === undefined ? [] : [principal])),
    );
    return rows.map(rowOf);
  }

  async row(ticket: string): Promise<PendingRow | undefined> {
    const select = `SELECT ${LISTED} FROM pending WHERE ticket = $1 AND ${IS_WAITING}`;
    const row = await this.#step((tx) => tx.get(Listed, select, ticket));
    return row && rowOf(row);
  }

  async question(ticket: string): Promise<Uint8Array | undefined> {
    const select = "SELECT question FROM pending WHERE ticket = $1 AND NOT gone";
    const question = (await this.#step((tx) => tx.get(Question, select, ticket)))?.question;
    return question && plain(question);
  }

  answer(ticket: string, principal: string, answer: Uint8Array): Promise<boolean> {
    return this.#step(async (tx, tries) => {
      const isFree = tries === 0 ? "answer IS NULL" : "(answer IS NULL OR answer = $1)";
      const update = `UPDATE pending SET answer = $1 WHERE ticket = $2 AND principal = $3 AND NOT gone AND ${isFree}`;
      return (await tx.run(update, answer, ticket, principal)) === 1;
    });
  }

  async claim(
    ticket: string,
    principal: string,
    owner: string,
    isDead: (owner: string) => boolean,
  ): Promise<Claimed> {
    const select = `SELECT run, answer, owner, ${IS_DEAD} AS is_dead FROM pending
      WHERE ticket = $1 AND principal = $2 AND NOT gone FOR UPDATE`;
    const claimed = await this.#step<Claimed>(async (tx, tries) => {
      const kept = await tx.get(Kept, select, ticket, principal);
      if (kept === undefined) return { kind: "unknown" };
      if (kept.run === null) return { kind: "live" };
      if (kept.answer === null) return { kind: "unanswered" };
      const isOurs = tries > 0 && kept.owner === owner;
      if (kept.owner !== null && !isOurs && !kept.is_dead && !isDead(kept.owner)) return { kind: "taken" };
      await tx.run("UPDATE pending SET owner = $1, owner_seen = now() WHERE ticket = $2", owner, ticket);
      return { kind: "claimed", run: plain(kept.run), answer: plain(kept.answer) };
    });
    if (claimed.kind === "claimed") this.#presence.stay(owner);
    return claimed;
  }

  async release(ticket: string, owner: string): Promise<void> {
    const update = "UPDATE pending SET owner = NULL WHERE ticket = $1 AND owner = $2 AND NOT gone";
    await this.#step((tx) => tx.run(update, ticket, owner));
  }

  remove(ticket: string, owner: string): Promise<boolean> {
    return this.#step(async (tx, tries) => {
      const update = `UPDATE pending SET gone = true, run = NULL, answer = NULL, question = '', listing = NULL, bytes = 0
        WHERE ticket = $1 AND owner = $2 AND NOT gone`;
      if ((await tx.run(update, ticket, owner)) === 1) return true;
      if (tries === 0) return false;
      const select = "SELECT gone FROM pending WHERE ticket = $1 AND owner = $2";
      return (await tx.get(Gone, select, ticket, owner))?.gone === true;
    });
  }

  /** Does one step in one transaction, after deleting expired rows. @param work receives the number of earlier tries. */
  #step<T>(work: (tx: Statements, tries: number) => Promise<T>): Promise<T> {
    return patiently(
      (tries) =>
        this.#db.transaction(async (tx) => {
          await tx.run("DELETE FROM pending WHERE expires_at <= $1", this.#now());
          return work(tx, tries);
        }),
      PATIENCE_MS,
    );
  }
}

/**
 * Reports that this process is alive while it has claimed or offered something. One serves all stores of a process, because a report
 * is of all rows of an owner.
 */
export class Presence {
  readonly #db: PgDatabase;
  readonly #everyMs: number;
  readonly #owners = new Set<string>();
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(db: PgDatabase, everyMs = SEEN_EVERY_MS) {
    this.#db = db;
    this.#everyMs = everyMs;
  }

  /** Reports an owner from now on, for as long as it has any rows. */
  stay(owner: string): void {
    this.#owners.add(owner);
    this.#heartbeat ??= setTimeout(() => void this.#say(), this.#everyMs).unref();
  }

  async #say(): Promise<void> {
    for (const owner of [...this.#owners]) {
      // An owner that claims something meanwhile adds itself again.
      this.#owners.delete(owner);
      const seen = await this.#db.get(Count, SEE, owner).catch(() => undefined);
      if (seen?.count !== 0) this.#owners.add(owner);
    }
    this.#heartbeat =
      this.#owners.size === 0 ? undefined : setTimeout(() => void this.#say(), this.#everyMs).unref();
  }
}

/** SQL that marks the rows of an owner as seen, and counts them. Rows that a step holds just then are left to the next report. */
const SEE = `WITH own AS (SELECT ticket FROM pending WHERE owner = $1 AND NOT gone),
  seen AS (
    UPDATE pending SET owner_seen = now()
    WHERE ticket IN (SELECT ticket FROM pending WHERE owner = $1 AND NOT gone FOR UPDATE SKIP LOCKED)
  )
  SELECT count(*) AS count FROM own`;

/** SQL condition that a row waits, and the process of its sandbox has not ended. */
const IS_WAITING = `NOT gone AND NOT (run IS NULL AND ${IS_DEAD})`;

function rowOf({
  asked_at: askedAt,
  expires_at: expiresAt,
  has_run: isKept,
  listing,
  answer,
  ...row
}: z.infer<typeof Listed>): PendingRow {
  return { ...row, listing: plain(listing), answer: answer && plain(answer), askedAt, expiresAt, isKept };
}

/** Inserts a row. A row that already has the ticket comes from an earlier try. */
async function insert(
  tx: Statements,
  { ticket, principal, askedAt, expiresAt, listing, question }: Omit<RowToKeep, "run">,
  { run, owner }: { run: PgValue; owner: PgValue },
  tries: number,
): Promise<void> {
  await tx.run(
    `INSERT INTO pending (ticket, principal, asked_at, expires_at, question, run, owner, listing, bytes)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ${tries === 0 ? "" : "ON CONFLICT DO NOTHING"}`,
    ...[ticket, principal, askedAt, expiresAt, question, run, owner, listing, question.length],
  );
}

async function answerOffered(tx: Statements, ticket: string, owner: string): Promise<Uint8Array | undefined> {
  const select = "SELECT answer FROM pending WHERE ticket = $1 AND owner = $2 AND run IS NULL AND NOT gone";
  const answer = (await tx.get(Answer, select, ticket, owner))?.answer;
  return answer ? plain(answer) : undefined;
}

/** Copies bytes to the plain type that every store returns. */
function plain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
