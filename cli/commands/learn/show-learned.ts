import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { visibleLine, visibleLines } from "../../../base/text/visible-text.ts";
import { loadPrinters } from "../../../host/languages.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { type LearnedTool, learnedJson, namedTools, openLearned, withLearned } from "./learned-tools.ts";

interface ShowFlags {
  config?: string;
  json?: boolean;
}

/** `ptc learn show [TOOL...]`, and `ptc learn` alone. */
export const defineShowLearned: DefineCommand = (learn, surroundings, finish) => {
  learn
    .command("show", { isDefault: true })
    .description("show the tools whose results were learned, or what is known of those that are named")
    .argument(
      "[tools...]",
      "mcp__<server>__<tool>, or <server>.<tool>, or the tool's name where only one has it",
    )
    .option("--config <file>", "configuration file")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  ptc learn show github.list_issues\n")
    .action(async (tools: string[], flags: ShowFlags) => {
      finish(await show(tools, flags, surroundings));
    });
};

async function show(names: string[], flags: ShowFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { configuration, project } = await openLearned(flags, surroundings);
  const tools = await namedTools(names, configuration);
  const learned = withLearned(tools, await project.known());
  if (flags.json) {
    await write(surroundings.stdout, `${jsonLine(learned.map(learnedJson))}\n`);
    return EXIT.done;
  }
  if (learned.length === 0) {
    const what =
      names.length === 0 ? "nothing is learned yet" : "nothing is known of the results of what is named";
    await write(surroundings.stderr, `ptc: ${what}: run programs, then \`ptc learn update\`\n`);
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
