/**
 * The store of what waits for approval, independent of where it is: runs that are suspended until somebody answers, and
 * questions of runs that wait with their sandbox. Several processes share it, so each method takes effect completely or not at
 * all, and survives a power failure. Of two answers, the first counts. Of two processes, only one continues a run. Expired rows
 * are gone. The caller seals questions, answers and runs, so that a store never sees their content. Every method rejects with
 * an `ArchiveError` when the store cannot be used.
 */
export interface PendingStore {
  /** Keeps a suspended run. Keeps nothing when as much of its principal already waits. */
  keep(run: RowToKeep, most: MostWaiting): Promise<KeptOrNot>;
  /** Offers the question of a run that waits with its sandbox in the process `owner`. `bytes` bounds it as it bounds `keep`. */
  offer(question: LiveRow, most: Pick<MostWaiting, "bytes">): Promise<KeptOrNot>;
  /** The answer to a question that this owner has offered, or `undefined` as long as there is none. */
  offered(ticket: string, owner: string): Promise<Uint8Array | undefined>;
  /** Takes back a question that this owner has offered, and returns its answer if it has one by now. */
  withdraw(ticket: string, owner: string): Promise<Uint8Array | undefined>;
  /** What waits for a principal, or for everybody, the oldest first. Reads no question whole. */
  list(principal: string | undefined): Promise<PendingRow[]>;
  /** What waits under a ticket, found by an index. Reads no question whole. */
  row(ticket: string): Promise<PendingRow | undefined>;
  /** The whole question of a ticket. */
  question(ticket: string): Promise<Uint8Array | undefined>;
  /** Gives the first answer. False when there is one already, or nothing waits under the ticket. */
  answer(ticket: string, principal: string, answer: Uint8Array): Promise<boolean>;
  /** Claims a run whose question was answered, if need be from a process that ended before it called anything. */
  claim(
    ticket: string,
    principal: string,
    owner: string,
    isDead: (owner: string) => boolean,
  ): Promise<Claimed>;
  /** Gives a claim back. */
  release(ticket: string, owner: string): Promise<void>;
  /** Deletes a claimed run. False when this owner has not claimed it. */
  remove(ticket: string, owner: string): Promise<boolean>;
}

/** How much of one principal may wait. */
export interface MostWaiting {
  runs: number;
  /** Of whole questions. */
  bytes: number;
}

export type KeptOrNot = "kept" | "too_many" | "too_large";

interface Row {
  ticket: string;
  principal: string;
  /** Milliseconds since 1970. */
  askedAt: number;
  expiresAt: number;
  /** What of the question is listed: small, whatever the question holds. */
  listing: Uint8Array;
}

/** A suspended run with its whole question. */
export interface RowToKeep extends Row {
  question: Uint8Array;
  run: Uint8Array;
}

/** A question whose run waits with its sandbox, in a process that `isDead` can check. */
export interface LiveRow extends Row {
  question: Uint8Array;
  owner: string;
}

/** A question as it is listed. */
export interface PendingRow extends Row {
  answer: Uint8Array | null;
  /** The process that offered the question, or continues the run. */
  owner: string | null;
  /** Whether the run is kept; otherwise it still has its sandbox. */
  isKept: boolean;
}

/** The result of claiming a run. */
export type Claimed =
  | { kind: "claimed"; run: Uint8Array; answer: Uint8Array }
  | { kind: "unanswered" }
  /** Another process continues it. */
  | { kind: "taken" }
  /** It has its sandbox, and continues by itself when its question is answered. */
  | { kind: "live" }
  | { kind: "unknown" };

/** The format of sealed values. A version of ptc with another format does not continue them. */
const FORMAT = 2;

/** The sealed parts of a row. */
export type Sealed = "listing" | "question" | "answer" | "run";

/** What of a row is not sealed and decides: whose it is, and how long it counts. It does not change while the row waits. */
export type RowFacts = Pick<Row, "ticket" | "principal" | "askedAt" | "expiresAt">;

/**
 * The purpose that a value is sealed for, with every fact of its row that decides, so that no value can be passed off as another, and
 * no row as another principal's or for longer.
 */
export function sealedAs(what: Sealed, { ticket, principal, askedAt, expiresAt }: RowFacts): string {
  return `ptc approval ${FORMAT} ${what} ${JSON.stringify([ticket, principal, askedAt, expiresAt])}`;
}

/** The purposes for which earlier versions sealed what stands in such a place of a row. Nothing that they sealed counts. */
export function sealedEarlierAs(what: Sealed, ticket: string): string[] {
  const parts: Sealed[] = what === "listing" ? ["listing", "question"] : [what];
  return parts.map((part) => `ptc approval 1 ${part} ${ticket}`);
}
