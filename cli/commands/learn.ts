import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { visibleLine, visibleLines } from "../../base/visible-text.ts";
import { type LearnedRecord, type LearnedTypes, learnedKey } from "../../catalog/learned/learned-types.ts";
import type { Tool } from "../../catalog/tool.ts";
import { unknownTool } from "../../catalog/tool-catalog.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { LearnedProject } from "../../generation/learning/learned-project.ts";
import { loadPrinters } from "../../languages/languages.ts";
import { loadProgramTools } from "../../tools/program-tools.ts";
import {
  CONFIG,
  type CommonFlags,
  defineCommand,
  defineGroup,
  EXIT,
  type ExitCode,
  type Surroundings,
  tell,
  UsageError,
  write,
} from "../command.ts";

/** `ptc learn ...`: the observed types of results that tools do not declare. */
export const learnCommand = defineGroup(
  "learn",
  () => [defineShowLearned, defineUpdate, defineForget, defineExportLearned],
  (command) =>
    command
      .description("show, update, forget and export what was learned of results that tools do not declare")
      .addHelpText("after", "\nExample:\n  ptc learn && ptc learn show github.list_issues\n"),
);

interface UpdateFlags extends CommonFlags {
  again?: boolean;
}

/** `ptc learn update` */
const defineUpdate = defineCommand("update", update, (command) =>
  command
    .description("learn from the runs that were archived since the last time, and print the modules anew")
    .option(...CONFIG)
    .option("--again", "read the whole archive again, also for tools that were forgotten")
    .option("--json", "print what is known then as JSON")
    .addHelpText("after", "\nExample:\n  ptc learn update && git diff generated/\n"),
);

async function update(flags: UpdateFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { configuration, project } = await openLearned(flags, surroundings);
  const { types, isWritten } = await project.update({ again: flags.again === true });
  const learned = withLearned(await namedTools([], configuration), types);
  const line = flags.json
    ? jsonLine(learned.map(learnedJson))
    : `the results of ${countNoun(learned.length, "tool")} are known; ${isWritten ? "the modules were printed anew" : "no module has changed"}`;
  await write(surroundings.stdout, `${line}\n`);
  return EXIT.done;
}

/** `ptc learn export` */
const defineExportLearned = defineCommand("export", exportTypes, (command) =>
  command
    .description("print what was learned as JSON Schemas, such as a server's author can declare")
    .argument(
      "[tools...]",
      "mcp__<server>__<tool>, or <server>.<tool>, or the tool's name where only one has it",
    )
    .option(...CONFIG)
    .option("--json", "print it on one line, not a tool to a line")
    .addHelpText("after", "\nExample:\n  ptc learn export github.list_issues > list-issues.schema.json\n"),
);

async function exportTypes(
  names: string[],
  flags: CommonFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { configuration, project } = await openLearned(flags, surroundings);
  const learned = withLearned(await namedTools(names, configuration), await project.known());
  const tools = learned.map(learnedJson);
  const lines = tools.map((tool) => jsonLine(tool)).join(",\n");
  const text = flags.json ? jsonLine({ tools }) : `{"tools":[\n${lines}\n]}`;
  await write(surroundings.stdout, `${text}\n`);
  return EXIT.done;
}

interface ForgetFlags extends CommonFlags {
  all?: boolean;
}

/** `ptc learn forget` */
const defineForget = defineCommand("forget", forget, (command) =>
  command
    .description(
      "forget what was learned of tools, here and in the modules; later calls are learned from again",
    )
    .argument(
      "[tools...]",
      "mcp__<server>__<tool>, or <server>.<tool>, or the tool's name where only one has it",
    )
    .option("--all", "of every tool, also of those that are no longer listed")
    .option(...CONFIG)
    .option("--json", "print the tools that were forgotten as JSON")
    .addHelpText("after", "\nExample:\n  ptc learn forget github.list_issues\n"),
);

async function forget(names: string[], flags: ForgetFlags, surroundings: Surroundings): Promise<ExitCode> {
  if ((names.length === 0) !== (flags.all === true))
    throw new UsageError("name the tools to forget, or give --all");
  const { configuration, project } = await openLearned(flags, surroundings);
  const tools = await namedTools(names, configuration);
  const known = withLearned(tools, await project.known()).map(({ tool }) => tool);
  await project.forget(
    ({ server, tool }) =>
      flags.all === true || tools.some((each) => each.server === server && each.name === tool),
  );
  const forgotten = known.map(({ namespacedName }) => namespacedName);
  const line = flags.json
    ? jsonLine({ forgotten })
    : `forgot the results of ${countNoun(forgotten.length, "tool")}`;
  await write(surroundings.stdout, `${line}\n`);
  return EXIT.done;
}

/** `ptc learn show [TOOL...]`, and `ptc learn` alone. */
const defineShowLearned = defineCommand(
  "show",
  show,
  (command) =>
    command
      .description("show the tools whose results were learned, or what is known about the named ones")
      .argument(
        "[tools...]",
        "mcp__<server>__<tool>, or <server>.<tool>, or the tool's name where only one has it",
      )
      .option(...CONFIG)
      .option("--json", "print it as JSON")
      .addHelpText("after", "\nExample:\n  ptc learn show github.list_issues\n"),
  { isDefault: true },
);

async function show(names: string[], flags: CommonFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { configuration, project } = await openLearned(flags, surroundings);
  const tools = await namedTools(names, configuration);
  const learned = withLearned(tools, await project.known());
  if (flags.json) {
    await write(surroundings.stdout, `${jsonLine(learned.map(learnedJson))}\n`);
    return EXIT.done;
  }
  if (learned.length === 0) {
    const what =
      names.length === 0 ? "nothing is learned yet" : "nothing is known about the results of the named tools";
    await tell(surroundings.stderr, `${what}: run programs, then \`ptc learn update\``);
    return EXIT.done;
  }
  const [printer] = await loadPrinters(configuration.languages);
  const lines = learned.map(async ({ tool, record }) =>
    names.length === 0
      ? describe({ tool, record })
      : `${visibleLine(tool.namespacedName)}\n${visibleLines(await printer.signature({ ...tool, learned: record }, "full"))}`,
  );
  await write(
    surroundings.stdout,
    `${(await Promise.all(lines)).join(names.length === 0 ? "\n" : "\n\n")}\n`,
  );
  return EXIT.done;
}

function describe({ tool, record: { calls, schema } }: LearnedTool): string {
  return `${visibleLine(tool.namespacedName)}  ${countNoun(calls, "call")}, ${countNoun(countMembers(schema), "member")}`;
}

function countMembers(schema: unknown): number {
  if (Array.isArray(schema)) return schema.reduce((sum: number, each) => sum + countMembers(each), 0);
  if (typeof schema !== "object" || schema === null) return 0;
  const { properties, items, additionalProperties, anyOf } = schema as Record<string, unknown>;
  const own = typeof properties === "object" && properties !== null ? Object.values(properties) : [];
  return own.length + countMembers(own) + countMembers([items, additionalProperties, anyOf]);
}

/** A tool, and the learned types of its results. */
interface LearnedTool {
  tool: Tool;
  record: LearnedRecord;
}

/** @throws ConfigurationError; UsageError if the configuration turns learning off. */
async function openLearned(
  flags: { config?: string },
  { env, cwd }: Surroundings,
): Promise<{ configuration: Configuration; project: LearnedProject }> {
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: cwd() });
  if (!configuration.learn)
    throw new UsageError(`nothing is learned: ${configuration.file ?? "ptc.yaml"} has \`learn: off\``);
  return { configuration, project: new LearnedProject(configuration, env) };
}

/**
 * The named tools, or all tools if none is named.
 *
 * @throws UsageError for a name that no tool has.
 */
async function namedTools(names: readonly string[], configuration: Configuration): Promise<Tool[]> {
  const { all } = await loadProgramTools(configuration);
  if (names.length === 0) return all.servers.flatMap(({ tools }) => tools);
  return names.map((name) => {
    const tool = all.find(name);
    if (tool === undefined) throw new UsageError(unknownTool(name, all, "`ptc search`"));
    return tool;
  });
}

/** The tools whose results were learned, among the given ones. */
function withLearned(tools: readonly Tool[], types: LearnedTypes): LearnedTool[] {
  return tools.flatMap((tool) => {
    const record = types.get(keyOf(tool));
    return record === undefined ? [] : [{ tool, record }];
  });
}

function keyOf({ server, name, definitionDigest }: Tool): string {
  return learnedKey({ server, tool: name, definition: definitionDigest });
}

/** The learned type of a tool as JSON. */
function learnedJson({ tool, record: { calls, definition, schema } }: LearnedTool) {
  return { tool: tool.namespacedName, calls, definition, outputSchema: schema };
}
