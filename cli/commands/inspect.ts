import { jsonLine } from "../../base/json.ts";
import { visibleLine, visibleLines } from "../../base/visible-text.ts";
import { unknownTool } from "../../catalog/tool-catalog.ts";
import { describeForPrograms } from "../../codegen/describe-tool.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { loadPrinters, pickPrinter } from "../../languages/languages.ts";
import { languageNamed, whyNotOn } from "../../languages/program-files.ts";
import { NO_HOST } from "../background/no-host.ts";
import { toolsFor } from "../background/tools-for.ts";
import type { DefineCommand } from "../command.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { LOCAL_USER } from "../local-user.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { terminalOf } from "../terminal/terminal.ts";

interface InspectFlags {
  config?: string;
  language?: string;
  json?: boolean;
}

/** `ptc inspect TOOL` */
export const inspectCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("inspect")
    .description("show a tool's signature and how a program calls it")
    .argument("<tool>", "mcp__<server>__<tool>, or <server>.<tool>, or the tool's name where only one has it")
    .option("--config <file>", "configuration file")
    .option("--language <name>", "of `languages` in ptc.yaml, instead of the first")
    .option("--json", "print it as JSON, with its schemas")
    .option(...NO_HOST)
    .addHelpText("after", "\nExample:\n  ptc inspect github.list_issues\n")
    .action(async (tool: string, flags: InspectFlags) => {
      finish(await inspect(tool, flags, surroundings));
    });
};

async function inspect(name: string, flags: InspectFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, env } = surroundings;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const language = flags.language === undefined ? undefined : languageNamed(flags.language);
  const off = flags.language && whyNotOn(language ?? flags.language, configuration.languages);
  if (off) throw new UsageError(`--language: ${off}`);
  const printer = pickPrinter(await loadPrinters(configuration.languages), language);
  const catalog = (await toolsFor(configuration, surroundings)).callableFor(LOCAL_USER);
  const tool = catalog.find(name);
  if (tool === undefined) throw new UsageError(unknownTool(name, catalog, "`ptc search`"));
  if (flags.json) {
    await write(stdout, `${jsonLine(await describeForPrograms(tool, printer))}\n`);
    return EXIT.done;
  }
  const { style } = terminalOf(stdout, env);
  const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"].filter(
    (hint) => tool.annotations?.[hint] === true,
  );
  const parts = [
    `${style("bold", visibleLine(tool.namespacedName))}${hints.length === 0 ? "" : `  ${style("dim", hints.join(", "))}`}`,
    style("dim", printer.importLine(tool.module)),
    "",
    visibleLines(await printer.signature(tool, "full")),
    ...(tool.outputSchema === undefined && tool.learned === undefined
      ? ["", style("dim", "It declares no output: look at what it returns before relying on its shape.")]
      : []),
  ];
  await write(stdout, `${parts.join("\n")}\n`);
  return EXIT.done;
}
