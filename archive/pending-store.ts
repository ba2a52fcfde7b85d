/**
 * What waits for approvals, independent of where it is kept: runs that were suspended until somebody answers, and questions of
 * runs that wait just now with their sandbox. Several processes share it, so each method is one step that is done as a whole or
 * not at all and survives a power failure: of two answers the first counts, and of two processes one goes on with a run. What
 * has expired is gone. Questions, answers and runs are sealed by the caller; a store never sees what is in them. Every method
 * rejects with an `ArchiveError` when the store cannot be used.
 */
export interface PendingStore {
  /** Keeps a suspended run. False when its principal has `most` that wait already. */
  keep(run: RowToKeep, most: number): Promise<boolean>;
  /** Offers the question of a run that waits with its sandbox in the process `owner`. */
  offer(question: LiveRow): Promise<void>;
  /** The answer to a question that this owner has offered; `undefined` as long as there is none. */
  offered(ticket: string, owner: string): Promise<Uint8Array | undefined>;
  /** Takes back a question that this owner has offered, and returns its answer if it has one by now. */
  withdraw(ticket: string, owner: string): Promise<Uint8Array | undefined>;
  /** What waits for a principal, or for everybody, the oldest first. */
  list(principal: string | undefined): Promise<PendingRow[]>;
  /** Gives the first answer. False when there is one already, or nothing waits under the ticket. */
  answer(ticket: string, principal: string, answer: Uint8Array): Promise<boolean>;
  /** Claims a run that was answered, also from a process that ended before it called anything. */
  claim(
    ticket: string,
    principal: string,
    owner: string,
    isDead: (owner: string) => boolean,
  ): Promise<Claimed>;
  /** Gives a claim back. */
  release(ticket: string, owner: string): Promise<void>;
  /** Deletes a claimed run for good. False when it is not this owner's. */
  remove(ticket: string, owner: string): Promise<boolean>;
}

interface Row {
  ticket: string;
  principal: string;
  /** Milliseconds since 1970. */
  askedAt: number;
  expiresAt: number;
  question: Uint8Array;
}

/** A suspended run with its question. */
export interface RowToKeep extends Row {
  run: Uint8Array;
}

/** A question whose run keeps its sandbox and waits, in a process that `isDead` can be asked about. */
export interface LiveRow extends Row {
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

/** What came of claiming a run. */
export type Claimed =
  | { kind: "claimed"; run: Uint8Array; answer: Uint8Array }
  | { kind: "unanswered" }
  /** Another process continues it. */
  | { kind: "taken" }
  /** It has its sandbox, and continues by itself when its question is answered. */
  | { kind: "live" }
  | { kind: "unknown" };

/** The form of what is sealed. Another version of ptc that has another form does not go on with it. */
const FORMAT = 1;

/** What is sealed of a row. */
export type Sealed = "question" | "answer" | "run";

/** What a value is sealed for, so that one thing cannot be taken for another. */
export function sealedAs(what: Sealed, ticket: string): string {
  return `ptc approval ${FORMAT} ${what} ${ticket}`;
}
