/** Exit codes of every command. */
export const EXIT = {
  done: 0,
  /** The program, or what was asked for, failed. */
  failed: 1,
  /** Bad usage or configuration. */
  usage: 2,
  /** The sandbox cannot run here. */
  noSandbox: 3,
  /** What servers list differs from what was generated. */
  drift: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A user's mistake: one line that says what is wrong and what to do. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
