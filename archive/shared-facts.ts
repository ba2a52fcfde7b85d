/**
 * Facts about things such as conversations, each under a name, that several processes gather together. What one notes, the others
 * read with what they note next. A name is forgotten when nobody has noted anything under it for the time that the last one gave.
 */
export interface SharedFacts {
  /**
   * Notes facts and resolves with all facts under the name, which are kept for `keepMs` from now on. Facts that are noted at the
   * same time are all kept. May be repeated. Any process may take facts away again (`remove`).
   *
   * @throws ArchiveError when the facts cannot be reached.
   */
  note(name: string, noted: Noted): Promise<Facts>;
  /** All facts under a name, whose time stays as it is. @throws ArchiveError */
  read(name: string): Promise<Facts>;
}

/** Each with a text that belongs to it, which may be empty. Neither contains NUL characters or lone surrogates. */
export type Facts = Readonly<Record<string, string>>;

export interface Noted {
  readonly facts: Facts;
  readonly remove?: readonly string[] | undefined;
  readonly keepMs: number;
}
