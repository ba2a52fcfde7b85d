import type { Configuration } from "../../host/configuration/configuration.ts";
import { loadProgramTools, type ProgramTools } from "../../host/tools/program-tools.ts";
import type { Surroundings } from "../surroundings.ts";

/** The tools that a command looks at: those that the background host has, or what is on disk. @throws CatalogError */
export async function toolsFor(
  configuration: Configuration,
  { shared }: Pick<Surroundings, "shared">,
): Promise<ProgramTools> {
  shared?.accept(configuration);
  return shared === undefined ? loadProgramTools(configuration) : shared.host.currentTools();
}
