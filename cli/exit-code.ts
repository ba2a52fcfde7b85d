/** Exit codes of every command. */
export const EXIT = {
  done: 0,
  /** The program or the command failed. */
  failed: 1,
  /** Bad usage or configuration. */
  usage: 2,
  /** The sandbox cannot run here. */
  noSandbox: 3,
  /** The tools that servers list differ from the generated modules. */
  drift: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A mistake of the user. The message is one line that says what is wrong and what to do. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
