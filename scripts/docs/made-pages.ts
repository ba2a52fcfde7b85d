import { printChart } from "./print-chart.ts";
import { printCommands } from "./print-commands.ts";
import { printConfigTypes } from "./print-config-types.ts";
import { printLimits } from "./print-limits.ts";
import { printSchema } from "./print-schema.ts";
import { printSettings } from "./print-settings.ts";
import { printThreats } from "./print-threats.ts";
import { printSavings } from "./savings/print-savings.ts";

/** The pages, the schema and the types that are made from code, all of them or a part, by their paths in the repository. */
export async function madePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["docs/settings.md", printSettings()],
    ["docs/ptc.schema.json", printSchema()],
    ["deploy/chart/files/programs.yaml", printChart()],
    await printConfigTypes(),
    ["docs/limits.md", printLimits()],
    ["docs/threats.md", printThreats()],
    ["docs/commands.md", await printCommands()],
    ...(await printSavings()),
  ]);
}
