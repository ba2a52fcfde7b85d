import type { ArchiveStore } from "../../../archive/archive-store.ts";
import type { Stats } from "../../../archive/run-stats.ts";
import { jsonLine } from "../../../base/json.ts";
import { countNoun, estimateTokens } from "../../../base/quantities.ts";
import type { CountedRuns } from "../../../server/pages/counted-runs.ts";
import { readPageAssets } from "../../../server/pages/page-assets.ts";
import { renderStatsPage } from "../../../server/pages/stats-page.ts";
import { parseMoment } from "../../arguments/since.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { renderStatsText } from "../../run-report/stats-text.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { terminalOf } from "../../terminal/terminal.ts";
import { withArchive } from "./with-archive.ts";
import { writePage } from "./write-page.ts";

/** The most runs whose numbers a page knows one by one. */
const MAX_LISTED = 10_000;
/** The most called tools, which lead to their runs. */
const MAX_LINKED_TOOLS = 40;

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
  return withArchive(flags, surroundings, async (archive) => {
    if (archive === undefined) return EXIT.done;
    const counted = await archive.stats(since);
    if (flags.json) await write(stdout, `${jsonLine(describe(counted))}\n`);
    else if (counted.runs === 0) await write(stderr, "ptc: no archived run matches\n");
    else if (flags.html !== undefined) {
      const runs = await countedRuns(archive, counted, since);
      await writePage(flags.html, renderStatsPage(counted, readPageAssets(), nowMs, runs), surroundings);
    } else await write(stdout, renderStatsText(counted, terminalOf(stdout, env)));
    if (counted.undated === 0) return EXIT.done;
    const runs = countNoun(counted.undated, "run");
    await write(
      stderr,
      `ptc: ${runs} left out whose date, counts or sizes no run can have; \`ptc runs verify\` names what is damaged\n`,
    );
    return EXIT.failed;
  });
}

/** The runs that the numbers count, without replays, for a page to list. */
async function countedRuns(
  archive: Pick<ArchiveStore, "list">,
  { tools }: Stats,
  since: { sinceMs?: number },
): Promise<CountedRuns> {
  const page = await archive.list({ ...since, limit: MAX_LISTED });
  const runs = page.runs.filter(({ source }) => source !== "replay");
  const byTool = new Map<string, ReadonlySet<string>>();
  for (const { tool } of tools.slice(0, MAX_LINKED_TOOLS)) {
    const called = await archive.list({ ...since, tool, limit: MAX_LISTED });
    byTool.set(tool, new Set(called.runs.map(({ run_id }) => run_id)));
  }
  return { runs, byTool };
}

function describe(counted: Stats) {
  return { ...counted, estimated_kept_tokens: estimateTokens(counted.total.kept_bytes) };
}
