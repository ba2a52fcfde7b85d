import type { Configuration } from "../../configuration/configuration.ts";
import { loadProgramTools, type ProgramTools } from "../../tools/program-tools.ts";
import { rankingOfCommands } from "../../tools/search/open-ranking.ts";
import type { Surroundings } from "../surroundings.ts";

/** The tools that a command looks at: those that the background host has, or what is on disk. @throws CatalogError */
export async function toolsFor(
  configuration: Configuration,
  { shared, env }: Pick<Surroundings, "shared" | "env">,
): Promise<ProgramTools> {
  shared?.accept(configuration);
  if (shared !== undefined) return shared.host.currentTools();
  return loadProgramTools(configuration, undefined, { ranking: rankingOfCommands(configuration, env) });
}
