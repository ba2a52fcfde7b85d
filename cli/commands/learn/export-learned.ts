import { jsonLine } from "../../../base/json/json-line.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { learnedJson, namedTools, openLearned, withLearned } from "./learned-tools.ts";

interface ExportFlags {
  config?: string;
  json?: boolean;
}

/** `ptc learn export` */
export const defineExportLearned: DefineCommand = (learn, surroundings, finish) => {
  learn
    .command("export")
    .description("print what was learned as JSON Schemas, such as a server's author can declare")
    .argument(
      "[tools...]",
      "mcp__<server>__<tool>, or <server>.<tool>, or the tool's name where only one has it",
    )
    .option("--config <file>", "configuration file")
    .option("--json", "print it on one line, not a tool to a line")
    .addHelpText("after", "\nExample:\n  ptc learn export github.list_issues > list-issues.schema.json\n")
    .action(async (tools: string[], flags: ExportFlags) => {
      finish(await exportTypes(tools, flags, surroundings));
    });
};

async function exportTypes(
  names: string[],
  flags: ExportFlags,
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
