import type { Program } from "./program.ts";

/** Where a run stands in its session, as its record says. */
export interface SessionPlace {
  /** The id of the session, a UUID: two sessions of one name have different ids. */
  readonly id: string;
  /** From 1, counting the programs that ran. */
  readonly position: number;
  /** The run of the program before; `undefined` for the first. */
  readonly after?: string | undefined;
}

/** The session that a program runs in. Its sandbox is that of the session, and stays. */
export interface ProgramSession {
  readonly place: SessionPlace;
  /** The programs that ran in it before, oldest first. */
  readonly earlier: readonly Program[];
}
