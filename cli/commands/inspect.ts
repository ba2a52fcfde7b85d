import { toolSignature } from "../../catalog/tool-signature.ts";
import { unknownTool } from "../../server/hints.ts";
import { describeTool } from "../../server/inspect-tool.ts";
import type { DefineCommand } from "../command.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { printable, terminalOf } from "../terminal.ts";
import { loadToolSet } from "../tool-set.ts";

/** `ptc inspect TOOL` */
export const inspectCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("inspect")
    .description("show a tool's signature and how a program calls it")
    .argument("<tool>", "mcp__<server>__<tool>, or <server>.<tool>, or the tool's name where only one has it")
    .option("--config <file>", "configuration file")
    .option("--json", "print it as JSON, with its schemas")
    .addHelpText("after", "\nExample:\n  ptc inspect github.list_issues\n")
    .action(async (tool: string, flags: { config?: string; json?: boolean }) => {
      finish(await inspect(tool, flags, surroundings));
    });
};

async function inspect(
  name: string,
  flags: { config?: string; json?: boolean },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, env } = surroundings;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const { directory } = await loadToolSet(configuration);
  const tool = directory.find(name);
  if (tool === undefined) throw new UsageError(unknownTool(name, { directory, unlisted: new Map() }));
  if (flags.json) {
    await write(stdout, `${JSON.stringify(await describeTool(tool))}\n`);
    return EXIT.done;
  }
  const { style } = terminalOf(stdout, env);
  const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"].filter(
    (hint) => tool.annotations?.[hint] === true,
  );
  const parts = [
    `${style("bold", tool.namespacedName)}${hints.length === 0 ? "" : `  ${style("dim", hints.join(", "))}`}`,
    style("dim", `import * as ${tool.module} from "./servers/${tool.module}/index.js";`),
    "",
    printable(await toolSignature(tool, "full")),
    ...(tool.outputSchema === undefined
      ? ["", style("dim", "It declares no output: look at what it returns before relying on its shape.")]
      : []),
  ];
  await write(stdout, `${parts.join("\n")}\n`);
  return EXIT.done;
}
