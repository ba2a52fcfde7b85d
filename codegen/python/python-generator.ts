/** The version of this generator. It must change whenever the same definitions would give another text. */
export const PYTHON_GENERATOR = "7";
