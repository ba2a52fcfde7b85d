/** How ptc and the guard of a sandbox (runner-image/guard.pl) speak to each other. */

/** What ptc says on the guard's stdin. */
export const GUARD_COMMANDS = { pause: "p", resume: "r" } as const;

/** Exit codes with which the guard ends a sandbox. A program that exits with one of them gets the same message. */
export const GUARD_EXITS = {
  /** ptc was gone: the other end of the guard's stdin was closed. */
  unattended: 120,
  /** The sandbox lived for longer than any sandbox may. */
  overdue: 121,
  /** The program could not be paused, because it went on starting processes. */
  unheld: 122,
  /** A process of the program killed the runner. */
  selfKilled: 123,
} as const;
