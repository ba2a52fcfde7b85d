/** A run in the order in which runs were archived. */
interface FollowingRun {
  /** Its number in that order, from 1. Runs that were pruned leave gaps. */
  position: number;
  runId: string;
  source: string;
  /** Namespaced names of the tools that it called. */
  tools: readonly string[];
}

/** The runs after a position, in the order in which they were archived, and the position of the newest run. */
export interface FollowingRuns {
  runs: readonly FollowingRun[];
  newest: number;
}
