/** The runners that an image has, as their hellos name them. Each runs the programs of one language. */
export type RunnerName = "javascript" | "python";

/** How a runner is started in a sandbox. Its language registers it; an engine adds the guard and the wall around it. */
export interface RunnerStart {
  /** The command line, with so much memory for the program's values. */
  command(heapMb: number): string[];
  /** The variables of its environment, each `NAME=value`. */
  variables: readonly string[];
}

export type RunnerStarts = Readonly<Record<RunnerName, RunnerStart>>;
