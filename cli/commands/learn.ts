import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { visibleLine, visibleLines } from "../../base/visible-text.ts";
import { type LearnedTool, Learning } from "../../project/learning.ts";
import type { Project } from "../../project/open-project.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  defineGroup,
  EXIT,
  type ExitCode,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";

/** `ptc learn ...`: the observed types of results that tools do not declare. */
export const learnCommand = defineGroup(
  "learn",
  () => [defineShowLearned, defineUpdate, defineForget, defineExportLearned],
  (command) =>
    command
      .description("show, update, forget and export the learned types of results that tools do not declare")
      .addHelpText("after", "\nExample:\n  ptc learn && ptc learn show github.list_issues\n"),
);

interface UpdateFlags extends CommonFlags {
  again?: boolean;
}

/** `ptc learn update` */
const defineUpdate = defineProjectCommand("update", update, (command) =>
  command
    .description("learn from the runs archived since the last time, and write the modules again")
    .option(...CONFIG)
    .option("--again", "read the whole archive again, also for tools that were forgotten")
    .option("--json", "print what is known then as JSON")
    .addHelpText("after", "\nExample:\n  ptc learn update && git diff generated/\n"),
);

async function update(project: Project, flags: UpdateFlags, { stdout }: Surroundings): Promise<ExitCode> {
  const { learned, isWritten } = await new Learning(project).update({ again: flags.again === true });
  const line = flags.json
    ? jsonLine(learned.map(learnedJson))
    : `the results of ${countNoun(learned.length, "tool")} are known; ${isWritten ? "the modules were printed anew" : "no module has changed"}`;
  await write(stdout, `${line}\n`);
  return EXIT.done;
}

/** `ptc learn export` */
const defineExportLearned = defineProjectCommand("export", exportTypes, (command) =>
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
  project: Project,
  names: string[],
  flags: CommonFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const learned = await new Learning(project).known(names);
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
const defineForget = defineProjectCommand("forget", forget, (command) =>
  command
    .description(
      "forget the learned types of tools, here and in the modules; ptc learns again from later calls",
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

async function forget(
  project: Project,
  names: string[],
  flags: ForgetFlags,
  { stdout }: Surroundings,
): Promise<ExitCode> {
  if ((names.length === 0) !== (flags.all === true))
    throw new UsageError("name the tools to forget, or give --all");
  const known = await new Learning(project).forget(names);
  const forgotten = known.map(({ namespacedName }) => namespacedName);
  const line = flags.json
    ? jsonLine({ forgotten })
    : `forgot the results of ${countNoun(forgotten.length, "tool")}`;
  await write(stdout, `${line}\n`);
  return EXIT.done;
}

/** `ptc learn show [TOOL...]`, and `ptc learn` alone. */
const defineShowLearned = defineProjectCommand(
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

async function show(
  project: Project,
  names: string[],
  flags: CommonFlags,
  { stdout, stderr }: Surroundings,
): Promise<ExitCode> {
  const learning = new Learning(project);
  const learned = await learning.known(names);
  if (flags.json) {
    await write(stdout, `${jsonLine(learned.map(learnedJson))}\n`);
    return EXIT.done;
  }
  if (learned.length === 0) {
    const what =
      names.length === 0 ? "nothing is learned yet" : "nothing is known about the results of the named tools";
    await tell(stderr, `${what}: run programs, then \`ptc learn update\``);
    return EXIT.done;
  }
  const lines = learned.map(async (each) =>
    names.length === 0
      ? describe(each)
      : `${visibleLine(each.tool.namespacedName)}\n${visibleLines(await learning.signature(each))}`,
  );
  await write(stdout, `${(await Promise.all(lines)).join(names.length === 0 ? "\n" : "\n\n")}\n`);
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

/** The learned type of a tool as JSON. */
function learnedJson({ tool, record: { calls, definition, schema } }: LearnedTool) {
  return { tool: tool.namespacedName, calls, definition, outputSchema: schema };
}
