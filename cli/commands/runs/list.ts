import type { ArchiveStore } from "../../../archive/archive-store.ts";
import type { ListedRun, PageFilter, RunPage } from "../../../archive/listed-run.ts";
import { jsonLine } from "../../../base/json.ts";
import { FailureType } from "../../../protocol/failure.ts";
import { readClientSession } from "../../arguments/client-session.ts";
import { parseMoment } from "../../arguments/since.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { renderRunList } from "../../run-report/list-text.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { terminalOf } from "../../terminal/terminal.ts";
import { selectRun } from "./select-run.ts";
import { tellDamaged } from "./tell-damaged.ts";
import { withArchive } from "./with-archive.ts";

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100_000;
const STATUSES: readonly string[] = ["ok", "failed", ...FailureType.options];

interface ListFlags {
  config?: string;
  status?: string;
  tool?: string;
  server?: string;
  since?: string;
  until?: string;
  digest?: string;
  clientSession?: string;
  user?: string;
  host?: string;
  client?: string;
  limit?: string;
  json?: boolean;
}

/** `ptc runs list` */
export const defineList: DefineCommand = (runs, surroundings, finish) => {
  runs
    .command("list")
    .description("list archived runs, the newest first")
    .option("--config <file>", "configuration file")
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
    .option("--user <name>", "runs of this account of the system")
    .option("--host <name>", "runs on this machine")
    .option("--client <name>", "runs of what a client calls itself, such as claude-code, or of `ptc run`")
    .option("--limit <number>", `how many to show (default: ${DEFAULT_LIMIT})`)
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc runs list --status failed --tool 'mcp__github__*' --since 7d\n")
    .action(async (flags: ListFlags) => {
      finish(await list(flags, surroundings));
    });
};

async function list(flags: ListFlags, surroundings: Surroundings): Promise<ExitCode> {
  const nowMs = Date.now();
  const filter = parseFilter(flags, nowMs, surroundings.env);
  return withArchive(flags, surroundings, (archive) =>
    listRuns(archive, { ...flags, filter, nowMs }, surroundings),
  );
}

/**
 * Prints the archived runs that match `filter`; none when there is no archive. `digest` is a reference to an input, of which
 * the runs must be.
 *
 * @throws UsageError, ArchiveError
 */
export async function listRuns(
  archive: Pick<ArchiveStore, "find" | "list"> | undefined,
  { digest, json, filter, nowMs }: Pick<ListFlags, "digest" | "json"> & { filter: PageFilter; nowMs: number },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const matching = archive === undefined ? filter : { ...filter, ...(await inputOf(archive, digest)) };
  const { runs: shown, damaged, next } = (await archive?.list(matching)) ?? NOTHING;
  const after = next === undefined ? undefined : await archive?.list({ ...matching, before: next, limit: 1 });
  await write(
    stdout,
    json ? `${jsonLine(shown.map(describe))}\n` : renderRunList(shown, terminalOf(stdout, env), nowMs),
  );
  await tellDamaged(damaged, surroundings);
  if (after?.next !== undefined) {
    await write(stderr, `ptc: the newest ${shown.length}; --limit shows more\n`);
  } else if (archive !== undefined && shown.length + damaged.length === 0) {
    await write(stderr, "ptc: no archived run matches\n");
  }
  return damaged.length === 0 ? EXIT.done : EXIT.failed;
}

const NOTHING: RunPage = { runs: [], damaged: [], next: undefined };

function parseFilter(
  { status, tool, server, since, until, limit, clientSession, user, host, client }: ListFlags,
  nowMs: number,
  env: Surroundings["env"],
): PageFilter {
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
    ...(user !== undefined && { user }),
    ...(host !== undefined && { host }),
    ...(client !== undefined && { client }),
    limit: parseLimit(limit),
  };
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new UsageError(`--limit: '${text.slice(0, 40)}' is not a whole number from 1 to ${MAX_LIMIT}`);
}

async function inputOf(
  archive: Pick<ArchiveStore, "find">,
  digest: string | undefined,
): Promise<{ inputDigest?: string }> {
  return digest === undefined ? {} : { inputDigest: (await selectRun(archive, digest)).run.input_digest };
}

function describe(run: ListedRun) {
  return { ...run, kept_bytes: Math.max(0, run.result_bytes - run.returned_bytes) };
}
