import { readStats, type Stats } from "../../../archive/stats.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { readPageAssets } from "../../run-report/page-assets.ts";
import { estimateTokens } from "../../run-report/quantities.ts";
import { renderStatsPage } from "../../run-report/stats-page.ts";
import { renderStatsText } from "../../run-report/stats-text.ts";
import { parseMoment } from "../../since.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { terminalOf } from "../../terminal.ts";
import { withArchive } from "./open-archive.ts";
import { writePage } from "./write-page.ts";

interface StatsFlags {
  config?: string;
  since?: string;
  html?: string;
  json?: boolean;
}

/** `ptc runs stats` */
export const defineStats: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("stats")
    .description("count runs, failures, calls, and what was kept out of context, per tool and per day")
    .option("--config <file>", "configuration file")
    .option("--since <when>", "started then or later: 24h, 7d, 2026-11-01 (UTC), 2026-11-01T08:30Z")
    .option("--html <file>", "write them as one page that needs no network, instead of printing them")
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs stats --since 7d --html week.html\n")
    .action(async (flags: StatsFlags) => {
      finish(await stats(flags, surroundings));
    });
};

async function stats(flags: StatsFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const nowMs = Date.now();
  if (flags.html !== undefined && flags.json) throw new UsageError("--html and --json: give one of them");
  const since = flags.since === undefined ? {} : { sinceMs: parseMoment("--since", flags.since, nowMs) };
  return withArchive(flags, surroundings, async (db) => {
    if (db === undefined) return EXIT.done;
    const counted = readStats(db, since);
    if (flags.json) await write(stdout, `${JSON.stringify(describe(counted))}\n`);
    else if (counted.runs === 0) await write(stderr, "ptc: no archived run matches\n");
    else if (flags.html !== undefined)
      await writePage(flags.html, renderStatsPage(counted, readPageAssets(), nowMs), surroundings);
    else await write(stdout, renderStatsText(counted, terminalOf(stdout, env)));
    return EXIT.done;
  });
}

function describe(counted: Stats) {
  return { ...counted, estimated_kept_tokens: estimateTokens(counted.total.kept_bytes) };
}
