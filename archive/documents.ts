/**
 * Small documents that several processes share, each under a name: logins, passkeys, and types learned from results. Each change gives a
 * document another version. Every method rejects with an `ArchiveError` when the store cannot be used.
 */
export interface Documents {
  /** Names where they are kept, for people. */
  place(): Promise<string>;
  /** Resolves with `undefined` if there is no such document. A version is a number that no other content has had. */
  read(kind: string, name: string): Promise<Document | undefined>;
  /** Only the version of a document, or 0 if there is none. */
  version(kind: string, name: string): Promise<number>;
  write(kind: string, name: string, content: Uint8Array): Promise<void>;
  /** Removes a document. Resolves with whether there was one. */
  remove(kind: string, name: string): Promise<boolean>;
  /**
   * Runs work while no other process has a lock of this name. A process that ends loses its locks.
   *
   * @throws LockTaken when another process keeps it longer than `patienceMs`.
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
export const SEALED_KINDS = ["login", "passkeys", "tokens"] as const;

/** The purpose that a document is sealed for, so that one document cannot be passed off as another. */
export function sealedDocument(kind: string, name: string): string {
  return `ptc ${kind} 1 ${name}`;
}

/** Another process keeps a lock. */
export class LockTaken extends Error {
  override readonly name = "LockTaken";
}
