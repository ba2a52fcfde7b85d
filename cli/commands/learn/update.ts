import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { learnedJson, namedTools, openLearned, withLearned } from "./learned-tools.ts";

interface UpdateFlags {
  config?: string;
  again?: boolean;
  json?: boolean;
}

/** `ptc learn update` */
export const defineUpdate: DefineCommand = (learn, surroundings, finish) => {
  learn
    .command("update")
    .description("learn from the runs that were archived since the last time, and print the modules anew")
    .option("--config <file>", "configuration file")
    .option("--again", "read the whole archive again, also for what was forgotten")
    .option("--json", "print what is known then as JSON")
    .addHelpText("after", "\nExample:\n  ptc learn update && git diff generated/\n")
    .action(async (flags: UpdateFlags) => {
      finish(await update(flags, surroundings));
    });
};

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
