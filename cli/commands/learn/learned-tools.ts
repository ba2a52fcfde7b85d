import type { LearnedRecord, LearnedTypes } from "../../../catalog/learned/learned-types.ts";
import { learnedKey } from "../../../catalog/learned/learned-types.ts";
import type { Tool } from "../../../catalog/tool.ts";
import { unknownTool } from "../../../catalog/unknown-names.ts";
import type { Configuration } from "../../../host/configuration/configuration.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import { LearnedProject } from "../../../host/learning/learned-project.ts";
import { loadProgramTools } from "../../../host/tools/program-tools.ts";
import { UsageError } from "../../exit-code.ts";
import type { Surroundings } from "../../surroundings.ts";

/** A tool, with what is known of its results. */
export interface LearnedTool {
  tool: Tool;
  record: LearnedRecord;
}

/** @throws ConfigurationError, and UsageError where nothing is learned by the configuration. */
export async function openLearned(
  flags: { config?: string },
  { env, cwd }: Surroundings,
): Promise<{ configuration: Configuration; project: LearnedProject }> {
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: cwd() });
  if (!configuration.learn)
    throw new UsageError(`nothing is learned: ${configuration.file ?? "ptc.yaml"} has \`learn: off\``);
  return { configuration, project: new LearnedProject(configuration) };
}

/**
 * The tools that are named, in the order of the catalog; all where none is.
 *
 * @throws UsageError for a name that no tool has.
 */
export async function namedTools(names: readonly string[], configuration: Configuration): Promise<Tool[]> {
  const { all } = await loadProgramTools(configuration);
  if (names.length === 0) return all.servers.flatMap(({ tools }) => tools);
  return names.map((name) => {
    const tool = all.find(name);
    if (tool === undefined) throw new UsageError(unknownTool(name, all, "`ptc search`"));
    return tool;
  });
}

/** Of some tools those of which something is known. */
export function withLearned(tools: readonly Tool[], types: LearnedTypes): LearnedTool[] {
  return tools.flatMap((tool) => {
    const record = types.get(keyOf(tool));
    return record === undefined ? [] : [{ tool, record }];
  });
}

function keyOf({ server, name, definitionDigest }: Tool): string {
  return learnedKey({ server, tool: name, definition: definitionDigest });
}

/** What is learned of a tool as JSON. */
export function learnedJson({ tool, record: { calls, definition, schema } }: LearnedTool) {
  return { tool: tool.namespacedName, calls, definition, outputSchema: schema };
}
