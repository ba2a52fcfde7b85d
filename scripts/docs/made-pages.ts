import { printCommands } from "./print-commands.ts";
import { printLimits } from "./print-limits.ts";
import { printSchema } from "./print-schema.ts";
import { printSettings } from "./print-settings.ts";
import { printSavings } from "./savings/print-savings.ts";

/** The pages and the schema that are generated, wholly or in part, by their paths in the repository. */
export async function madePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["docs/settings.md", printSettings()],
    ["docs/ptc.schema.json", printSchema()],
    ["docs/limits.md", printLimits()],
    ["docs/commands.md", await printCommands()],
    ...(await printSavings()),
  ]);
}
