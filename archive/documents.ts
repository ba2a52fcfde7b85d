/**
 * Small things that several processes share, each under a name: logins, and what was observed of results. A change is seen by its
 * version. Every method rejects with an `ArchiveError` when the store cannot be used.
 */
export interface Documents {
  /** Names where they are kept, for people. */
  place(): Promise<string>;
  /** `undefined` where there is none. A version is a number that no other content has had. */
  read(kind: string, name: string): Promise<Document | undefined>;
  /** The version of a document alone; 0 where there is none. */
  version(kind: string, name: string): Promise<number>;
  write(kind: string, name: string, content: Uint8Array): Promise<void>;
  /** Whether there was one. */
  remove(kind: string, name: string): Promise<boolean>;
  /**
   * Runs work while no other process has a lock of this name. A process that ends loses its locks.
   *
   * @throws LockTaken when another does not let go of it for so long.
   */
  withLock<T>(
    name: string,
    work: () => Promise<T>,
    options: { patienceMs: number; signal?: AbortSignal | undefined },
  ): Promise<T>;
}

export interface Document {
  content: Uint8Array;
  version: number;
}

/** The kinds of documents that are sealed. */
export const SEALED_KINDS = ["login"] as const;

/** What a document is sealed for, so that one cannot be taken for another. */
export function sealedDocument(kind: string, name: string): string {
  return `ptc ${kind} 1 ${name}`;
}

/** Another process does not let go of a lock. */
export class LockTaken extends Error {
  override readonly name = "LockTaken";
}
