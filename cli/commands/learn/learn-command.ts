import type { DefineCommand } from "../../command.ts";
import { defineExportLearned } from "./export-learned.ts";
import { defineForget } from "./forget.ts";
import { defineShowLearned } from "./show-learned.ts";
import { defineUpdate } from "./update.ts";

/** `ptc learn ...`: the types of results that tools do not declare, as they were observed. */
export const learnCommand: DefineCommand = (program, surroundings, finish) => {
  const learn = program
    .command("learn")
    .description("show, update, forget and export what was learned of results that tools do not declare")
    .addHelpText("after", "\nExample:\n  ptc learn && ptc learn show github.list_issues\n");
  for (const define of [defineShowLearned, defineUpdate, defineForget, defineExportLearned])
    define(learn, surroundings, finish);
};
