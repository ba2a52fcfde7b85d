import type { DefineCommand } from "../command.ts";
import { defineExport } from "./runs/export.ts";
import { defineImport } from "./runs/import.ts";
import { defineList } from "./runs/list.ts";
import { definePrune } from "./runs/prune.ts";
import { defineShow } from "./runs/show.ts";
import { defineStats } from "./runs/stats.ts";
import { defineHead, defineVerify } from "./runs/verify.ts";

/** `ptc runs ...`: what was archived. */
export const runsCommand: DefineCommand = (program, surroundings, finish) => {
  const runs = program
    .command("runs")
    .description("show, count, prune, exchange and check the runs in the archive")
    .addHelpText("after", "\nExample:\n  ptc runs list --status failed --since 24h\n");
  for (const define of [
    defineList,
    defineShow,
    defineStats,
    definePrune,
    defineExport,
    defineImport,
    defineVerify,
    defineHead,
  ]) {
    define(runs, surroundings, finish);
  }
};
