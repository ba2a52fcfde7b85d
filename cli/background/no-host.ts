/** The option of commands that a background host can run, for commander. */
export const NO_HOST = ["--no-host", "run alone, and not in the background host of this project"] as const;
