import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { namedTools, openLearned, withLearned } from "./learned-tools.ts";

interface ForgetFlags {
  config?: string;
  all?: boolean;
  json?: boolean;
}

/** `ptc learn forget` */
export const defineForget: DefineCommand = (learn, surroundings, finish) => {
  learn
    .command("forget")
    .description(
      "forget what was learned of tools, here and in the modules; later calls are learned from again",
    )
    .argument(
      "[tools...]",
      "mcp__<server>__<tool>, or <server>.<tool>, or the tool's name where only one has it",
    )
    .option("--all", "of every tool, also of those that are no longer listed")
    .option("--config <file>", "configuration file")
    .option("--json", "print the tools that were forgotten as JSON")
    .addHelpText("after", "\nExample:\n  ptc learn forget github.list_issues\n")
    .action(async (tools: string[], flags: ForgetFlags) => {
      finish(await forget(tools, flags, surroundings));
    });
};

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
