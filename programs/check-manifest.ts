import { describeProblem } from "../broker/schemas/schema-problem.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { manifestFile, type ProgramFiles, shownFile } from "./program-folder.ts";

/** Why arguments are not what a saved program takes, in one line; `undefined` when they are. */
export async function whyNotInput(
  { manifest }: Pick<ProgramFiles, "manifest">,
  data: unknown,
): Promise<string | undefined> {
  const { checkAgainstSchema } = await import("../broker/schemas/schema-check.ts");
  const problem = checkAgainstSchema(JSON.stringify(manifest.input), data);
  return problem && describeProblem("arguments", problem);
}

/** @throws ConfigurationError for a manifest whose schemas are none, in one line. */
export async function requireSchemas({
  name,
  manifest,
}: Pick<ProgramFiles, "name" | "manifest">): Promise<void> {
  const { findSchemaMistake } = await import("../broker/schemas/schema-mistake.ts");
  for (const key of ["input", "output"] as const) {
    const mistake = manifest[key] && findSchemaMistake(manifest[key]);
    if (mistake !== undefined)
      throw new ConfigurationError(
        "invalid",
        `${shownFile(manifestFile(name))}: ${key}: is no JSON schema: ${mistake}`,
      );
  }
}
