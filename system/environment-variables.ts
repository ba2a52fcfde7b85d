/** The environment variables of the process that ptc runs in. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;
