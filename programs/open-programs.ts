import type { Configuration } from "../configuration/configuration.ts";
import { programsVersion } from "./programs-directory.ts";
import type { SavedPrograms } from "./saved-programs.ts";

/**
 * The saved programs of a configuration; `undefined` without a folder of programs, and no more code is loaded then.
 *
 * @param onProblem receives each program with a mistake, in one line.
 * @throws ConfigurationError when a server has the name that is reserved for saved programs.
 */
export async function openPrograms(
  configuration: Pick<Configuration, "directory" | "servers" | "file">,
  onProblem: (message: string) => void = () => {},
): Promise<SavedPrograms | undefined> {
  if (programsVersion(configuration) === undefined) return undefined;
  const { SavedPrograms } = await import("./saved-programs.ts");
  const programs = SavedPrograms.read(configuration);
  for (const problem of programs.problems.values()) onProblem(problem);
  return programs;
}
