/** The runners that an image has, as their hellos name them. Each runs the programs of one language. */
export const RUNNER_NAMES = ["javascript", "python"] as const;
export type RunnerName = (typeof RUNNER_NAMES)[number];
