import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { jsonLine } from "../../base/json.ts";
import { countNoun, formatBytes } from "../../base/quantities.ts";
import { oneLine, visibleLines } from "../../base/visible-text.ts";
import type { Project } from "../../project/open-project.ts";
import { renderRunText } from "../../project/run-report/run-text.ts";
import { renderRunList, renderStatsText } from "../../project/run-report/runs-text.ts";
import {
  describeRun,
  describeStats,
  exportRuns,
  findRuns,
  importRuns,
  jsonOfRun,
  keepPage,
  outputOfRun,
  pageOfRun,
  pageOfStats,
  pruneRuns,
  readClientSession,
  STATUSES,
  selectRun,
} from "../../project/runs.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { terminalOf } from "../../project/terminal/terminal.ts";
import {
  CONFIG,
  type CommonFlags,
  defineCommand,
  defineGroup,
  EXIT,
  type ExitCode,
  parseLimit,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { inProject } from "../project-command.ts";
import { parseMoment, tellDamaged, withArchive } from "./archived-runs.ts";

type Archive = Project["runs"];
type Filter = Parameters<Archive["list"]>[0];

/** `ptc runs ...`: the archived runs. */
export const runsCommand = defineGroup(
  "runs",
  () => [
    defineList,
    defineShow,
    defineStats,
    definePrune,
    defineExport,
    defineImport,
    defineVerify,
    defineHead,
  ],
  (command) =>
    command
      .description("show, count, prune, export, import and verify the runs in the archive")
      .addHelpText("after", "\nExample:\n  ptc runs list --status failed --since 24h\n"),
);

/** `ptc runs import FILE` */
const defineImport = defineCommand("import", importFrom, (command) =>
  command
    .description("import the runs of a file that `ptc runs export` wrote; exit 1 when one of them is refused")
    .argument("<file>", "the file")
    .option(...CONFIG)
    .option("--json", "print the ids of the runs as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs import failing-run.ptc\n"),
);

async function importFrom(file: string, flags: CommonFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr, cwd } = surroundings;
  const path = resolve(cwd(), file);
  if (!existsSync(path)) throw new UsageError(`${file}: there is no such file`);
  return inProject(flags, surroundings, async (project) => {
    const taken = await importRuns(project, path);
    const ids = flags.json ? `${jsonLine(taken)}\n` : taken.imported.map((runId) => `${runId}\n`).join("");
    await write(stdout, ids);
    const skipped =
      taken.skipped.length === 0 ? "" : `; ${countNoun(taken.skipped.length, "run")} here already`;
    const refused = taken.refused.length === 0 ? "" : `; ${countNoun(taken.refused.length, "run")} refused`;
    for (const { message } of taken.refused) await tell(stderr, oneLine(message));
    await tell(stderr, `imported ${countNoun(taken.imported.length, "run")}${skipped}${refused}`);
    return taken.refused.length === 0 ? EXIT.done : EXIT.failed;
  });
}

interface ExportFlags extends CommonFlags {
  since?: string;
  all?: boolean;
  out: string;
}

/** `ptc runs export` */
const defineExport = defineCommand("export", exportTo, (command) =>
  command
    .description("write runs to one file that another ptc can import and replay")
    .argument("[refs...]", "input digests (every run of it), run ids, or the beginning of one")
    .requiredOption("--out <file>", "the file to write; it must not exist yet")
    .option(...CONFIG)
    .option("--since <when>", "runs that started then or later: 24h, 7d, 2026-11-01 (UTC), 2026-11-01T08:30Z")
    .option("--all", "every run in the archive")
    .option("--json", "print the ids of the runs as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs export 3f9a12c0 --out failing-run.ptc\n"),
);

async function exportTo(
  references: string[],
  flags: ExportFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, cwd } = surroundings;
  const selections = [references.length > 0, flags.since !== undefined, flags.all === true];
  if (selections.filter(Boolean).length !== 1)
    throw new UsageError("say what to export: runs, or --since, or --all");
  const sinceMs = flags.since === undefined ? undefined : parseMoment("--since", flags.since, Date.now());
  const path = resolve(cwd(), flags.out);
  if (existsSync(path)) throw new UsageError(`--out: ${flags.out} is there already; give another name`);
  return withArchive(flags, surroundings, async (archive) => {
    if (archive === undefined) return EXIT.usage;
    const { exported, damaged: leftOut } = await exportRuns(archive, { references, sinceMs }, path);
    if (flags.json)
      await write(
        stdout,
        `${jsonLine({ file: flags.out, exported, ...(leftOut.length > 0 && { damaged: leftOut }) })}\n`,
      );
    await tell(stderr, `wrote ${countNoun(exported.length, "run")} to ${flags.out}`);
    await tellDamaged(leftOut, surroundings);
    return leftOut.length === 0 ? EXIT.done : EXIT.failed;
  });
}

const MAX_DAYS = 36_500;

interface PruneFlags extends CommonFlags {
  keepDays?: string;
}

/** `ptc runs prune` */
const definePrune = defineCommand("prune", prune, (command) =>
  command
    .description("delete old runs, or the named ones, with all that no other run refers to")
    .argument("[refs...]", "input digests (every run of it), run ids, or the beginning of one")
    .option(...CONFIG)
    .option(
      "--keep-days <number>",
      "keep runs of this many days, instead of the configured keep_days; 0 keeps none",
    )
    .option("--json", "print what was deleted as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs prune --keep-days 7\n"),
);

async function prune(
  references: readonly string[],
  flags: PruneFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const keepDays = parseDays(flags.keepDays);
  const isNamed = references.length > 0;
  if (isNamed && keepDays !== undefined) throw new UsageError("--keep-days: give runs or days, not both");
  return withArchive(flags, surroundings, async (archive, configuration) => {
    const found = await pruneRuns(archive, isNamed ? { references } : { keepDays }, configuration);
    const { pruned } = found;
    await write(
      surroundings.stdout,
      flags.json ? `${jsonLine(pruned)}\n` : `${describePruned(pruned, found.keepDays)}\n`,
    );
    return EXIT.done;
  });
}

function describePruned(
  { runs, blobs, bytes }: Awaited<ReturnType<typeof pruneRuns>>["pruned"],
  keepDays: number,
): string {
  const older = keepDays === 0 ? "" : ` older than ${countNoun(keepDays, "day")}`;
  if (runs === 0) return `no run${older} to delete`;
  return `deleted ${countNoun(runs, "run")}${older} and ${countNoun(blobs, "value")} of theirs, ${formatBytes(bytes)} on disk`;
}

function parseDays(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const days = Number(text);
  if (/^\d+$/.test(text) && days <= MAX_DAYS) return days;
  throw new UsageError(`--keep-days: '${text.slice(0, 40)}' is not a whole number from 0 to ${MAX_DAYS}`);
}

interface VerifyFlags extends CommonFlags {
  head?: string[];
}

/** `ptc runs verify` */
const defineVerify = defineCommand("verify", verify, (command) =>
  command
    .description("check the whole archive against its digests; exit 1 when something was changed")
    .option(...CONFIG)
    .option(
      "--head <place:link>",
      "the newest record at an earlier time, as `ptc runs head` printed it then and another machine kept it (repeatable)",
      (value: string, heads: string[] = []) => [...heads, value],
    )
    .option("--json", "print what was found as JSON")
    .addHelpText(
      "after",
      '\nWith --head, ptc proves that all records up to that one are unchanged. Without a head, it does not notice that the newest records were cut off.\n\nExample:\n  ptc runs verify --head "$(ssh keeper tail -n 1 heads)"\n',
    ),
);

async function verify(flags: VerifyFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const heads = (flags.head ?? []).map(parseHeadFlag);
  return withArchive(flags, surroundings, async (archive) => {
    // A head that was kept elsewhere proves that something was archived.
    if (archive === undefined) return heads.length === 0 ? EXIT.done : EXIT.failed;
    const verification = await archive.verify(heads);
    const { runs, blobs, problems, notes, head } = verification;
    const checked = `${countNoun(runs, "run")} and ${countNoun(blobs, "value")}`;
    if (flags.json) {
      await write(stdout, `${jsonLine(verification)}\n`);
    } else if (problems.length === 0) {
      await write(stdout, `${checked} are as they were archived; the newest is ${head}\n`);
    } else {
      await write(stdout, problems.map((problem) => `${oneLine(problem)}\n`).join(""));
      await tell(
        stderr,
        `of ${checked}, ${countNoun(problems.length, "thing")} not as archived: do not trust them`,
      );
    }
    for (const note of notes) await tell(stderr, `note: ${oneLine(note)}`);
    return problems.length === 0 ? EXIT.done : EXIT.failed;
  });
}

function parseHeadFlag(text: string): { id: number | undefined; link: string } {
  const [, id, link = ""] = /^(?:(\d{1,15}):)?(sha256:[0-9a-f]{64})$/.exec(text.trim()) ?? [];
  if (link !== "") return { id: id === undefined ? undefined : Number(id), link };
  throw new UsageError(
    `--head: '${text.slice(0, 100)}' is not PLACE:sha256:LINK, as \`ptc runs head\` prints it`,
  );
}

/** `ptc runs head` */
const defineHead = defineCommand("head", printHead, (command) =>
  command
    .description(
      "print the place and the link of the newest record, to be kept where this machine cannot change it",
    )
    .option(...CONFIG)
    .addHelpText("after", "\nExample:\n  ptc runs head | ssh keeper 'cat >> heads'\n"),
);

function printHead(flags: CommonFlags, surroundings: Surroundings): Promise<ExitCode> {
  return withArchive(flags, surroundings, async (archive) => {
    if (archive === undefined) return EXIT.failed;
    await write(surroundings.stdout, `${await archive.head()}\n`);
    return EXIT.done;
  });
}

interface ShowFlags extends CommonFlags {
  html?: string;
  output?: boolean;
}

/** `ptc runs show REF` */
const defineShow = defineCommand("show", show, (command) =>
  command
    .description("show one run: its program, calls, console and envelope")
    .argument("<ref>", "input digest, run id, or at least four characters that one begins with")
    .option(...CONFIG)
    .option("--html <file>", "write it as one page that needs no network, instead of printing it")
    .option("--output", "print everything that the program put out, however long: console, result and stderr")
    .option("--json", "print everything as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs show 3f9a12c0 --html run.html\n"),
);

async function show(reference: string, flags: ShowFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { html, json, output } = flags;
  if ([html !== undefined, json, output].filter(Boolean).length > 1)
    throw new UsageError("--html, --json and --output: give one of them");
  return withArchive(flags, surroundings, async (archive) => {
    if (archive === undefined) return EXIT.usage;
    await showRun(archive, reference, flags, surroundings);
    return EXIT.done;
  });
}

/** Prints the run that a reference means, in the requested form. @throws UsageError, ArchiveError */
export async function showRun(
  archive: Pick<Archive, "find" | "read">,
  reference: string,
  flags: ShowFlags,
  surroundings: Surroundings,
): Promise<void> {
  const { stdout, stderr, env } = surroundings;
  const { run: listed, others } = await selectRun(archive, reference);
  const run = await archive.read(listed.run_id);
  if (flags.html !== undefined) await writePage(flags.html, await pageOfRun(run), surroundings);
  else if (flags.json) for await (const part of jsonOfRun(run)) await write(stdout, part);
  else if (flags.output) await write(stdout, renderOutput(outputOfRun(run), stdout.isTTY === true));
  else await write(stdout, await renderRunText(run, terminalOf(stdout, env), Date.now()));
  if (others !== undefined) await tell(stderr, others);
}

/** The whole output. In a pipe it is unchanged. On a terminal nothing in it moves the cursor. */
function renderOutput(text: string, isTerminal: boolean): string {
  if (text === "") return "";
  return `${isTerminal ? visibleLines(text) : text}\n`;
}

/** Writes a page in place of an existing one, and says so. @throws UsageError when the page cannot be written; the old one stays. */
export async function writePage(file: string, page: string, { stderr, cwd }: Surroundings): Promise<void> {
  try {
    await keepPage(resolve(cwd(), file), page);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `--html: ${file} cannot be written (${code}); give a file in a folder that is there`,
    );
  }
  await tell(stderr, `wrote ${file} (${formatBytes(Buffer.byteLength(page))})`);
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100_000;

interface ListFlags extends CommonFlags {
  status?: string;
  tool?: string;
  server?: string;
  since?: string;
  until?: string;
  digest?: string;
  clientSession?: string;
  principal?: string;
  user?: string;
  host?: string;
  client?: string;
  limit?: string;
}

/** `ptc runs list` */
const defineList = defineCommand("list", list, (command) =>
  command
    .description("list archived runs, the newest first")
    .option(...CONFIG)
    .option("--status <status>", "ok, failed, or a type of failure such as ScriptError")
    .option("--tool <pattern>", "runs that called a matching tool (mcp__..., * is a wildcard)")
    .option("--server <server>", "runs that called a tool of this server")
    .option("--since <when>", "started then or later: 24h, 7d, 2026-11-01 (UTC), 2026-11-01T08:30Z")
    .option("--until <when>", "started before then")
    .option("--digest <ref>", "runs of this input: its digest, or the id of one of its runs")
    .option(
      "--client-session <id>",
      "runs of this conversation of a client (Claude Code's session id, or its beginning); `current` is that of this shell",
    )
    .option("--principal <name>", "runs on this principal's behalf; by default those of everybody")
    .option("--user <name>", "runs of this account of the system")
    .option("--host <name>", "runs on this machine")
    .option("--client <name>", "runs of what a client calls itself, such as claude-code, or of `ptc run`")
    .option("--limit <number>", `how many to show (default: ${DEFAULT_LIMIT})`)
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs list --status failed --tool 'mcp__github__*' --since 7d\n"),
);

async function list(flags: ListFlags, surroundings: Surroundings): Promise<ExitCode> {
  const nowMs = Date.now();
  const filter = parseFilter(flags, nowMs, surroundings.env);
  return withArchive(flags, surroundings, (archive) =>
    listRuns(archive, { ...flags, filter, nowMs }, surroundings),
  );
}

/**
 * Prints the archived runs that match `filter`; none when there is no archive. `digest` is a reference to an input, and limits the
 * list to its runs.
 *
 * @throws UsageError, ArchiveError
 */
export async function listRuns(
  archive: Pick<Archive, "find" | "list"> | undefined,
  { digest, json, filter, nowMs }: Pick<ListFlags, "digest" | "json"> & { filter: Filter; nowMs: number },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const { runs: shown, damaged, isCut } = await findRuns(archive, filter, digest);
  await write(
    stdout,
    json ? `${jsonLine(shown.map(describeRun))}\n` : renderRunList(shown, terminalOf(stdout, env), nowMs),
  );
  await tellDamaged(damaged, surroundings);
  if (isCut) {
    await tell(stderr, `the newest ${shown.length}; --limit shows more`);
  } else if (archive !== undefined && shown.length + damaged.length === 0) {
    await tell(stderr, "no archived run matches");
  }
  return damaged.length === 0 ? EXIT.done : EXIT.failed;
}

function parseFilter(
  { status, tool, server, since, until, limit, clientSession, principal, user, host, client }: ListFlags,
  nowMs: number,
  env: Surroundings["env"],
): Filter {
  if (status !== undefined && !STATUSES.includes(status)) {
    throw new UsageError(`--status: '${status.slice(0, 40)}' is not one of ${STATUSES.join(", ")}`);
  }
  return {
    ...(status !== undefined && { status }),
    ...(tool !== undefined && { tool }),
    ...(server !== undefined && { server }),
    ...(since !== undefined && { sinceMs: parseMoment("--since", since, nowMs) }),
    ...(until !== undefined && { untilMs: parseMoment("--until", until, nowMs) }),
    ...(clientSession !== undefined && { clientSession: readClientSession(clientSession, env) }),
    ...(principal !== undefined && { principal }),
    ...(user !== undefined && { user }),
    ...(host !== undefined && { host }),
    ...(client !== undefined && { client }),
    limit: limit === undefined ? DEFAULT_LIMIT : parseLimit(limit, MAX_LIMIT),
  };
}

interface StatsFlags extends CommonFlags {
  since?: string;
  html?: string;
}

/** `ptc runs stats` */
const defineStats = defineCommand("stats", stats, (command) =>
  command
    .description("count runs, failures, calls, and what was kept out of context, per tool and per day")
    .option(...CONFIG)
    .option("--since <when>", "started then or later: 24h, 7d, 2026-11-01 (UTC), 2026-11-01T08:30Z")
    .option("--html <file>", "write them as one page that needs no network, instead of printing them")
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs stats --since 7d --html week.html\n"),
);

async function stats(flags: StatsFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const nowMs = Date.now();
  if (flags.html !== undefined && flags.json) throw new UsageError("--html and --json: give one of them");
  const since = flags.since === undefined ? {} : { sinceMs: parseMoment("--since", flags.since, nowMs) };
  return withArchive(flags, surroundings, async (archive) => {
    if (archive === undefined) return EXIT.done;
    const counted = await archive.stats(since);
    if (flags.json) await write(stdout, `${jsonLine(describeStats(counted))}\n`);
    else if (counted.runs === 0) await tell(stderr, "no archived run matches");
    else if (flags.html !== undefined) {
      const page = await pageOfStats(archive, counted, since, nowMs);
      await writePage(flags.html, page, surroundings);
    } else await write(stdout, renderStatsText(counted, terminalOf(stdout, env)));
    if (counted.undated === 0) return EXIT.done;
    const runs = countNoun(counted.undated, "run");
    await tell(
      stderr,
      `${runs} left out whose date, counts or sizes no run can have; \`ptc runs verify\` names what is damaged`,
    );
    return EXIT.failed;
  });
}
