import { AUDIT_EVENTS } from "../../../archive/audit/audit-line.ts";
import { renderOcsf } from "../../../archive/audit/reading/ocsf.ts";
import {
  type AuditEntry,
  type AuditFilter,
  followLog,
  readLog,
} from "../../../archive/audit/reading/read-log.ts";
import { jsonLine } from "../../../base/json/json-line.ts";
import { auditPath } from "../../../host/audit/open-audit.ts";
import { loadConfiguration } from "../../../host/configuration/load.ts";
import { version } from "../../../host/package.ts";
import { readClientSession } from "../../arguments/client-session.ts";
import { parseMoment } from "../../arguments/since.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { renderAuditEntry } from "../../run-report/audit-text.ts";
import { exitOnSignals, type Surroundings, write } from "../../surroundings.ts";
import { terminalOf } from "../../terminal/terminal.ts";
import { defineAuditHead, defineVerifyAudit } from "./verify.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000_000;
/** Lines that are written together. */
const BATCH = 200;

interface AuditFlags {
  config?: string;
  since?: string;
  until?: string;
  event?: string;
  server?: string;
  tool?: string;
  run?: string;
  principal?: string;
  user?: string;
  host?: string;
  client?: string;
  clientSession?: string;
  decision?: string;
  failed?: boolean;
  limit?: string;
  follow?: boolean;
  json?: boolean;
  ocsf?: boolean;
}

/** `ptc audit`, `ptc audit verify` and `ptc audit head`. */
export const auditCommand: DefineCommand = (program, surroundings, finish) => {
  const audit = program
    .command("audit")
    .description("show, filter, follow, export and verify the audit log")
    .option("--config <file>", "configuration file")
    .option("--since <when>", "then or later: 24h, 7d, 2026-11-01 (UTC), 2026-11-01T08:30Z")
    .option("--until <when>", "before then")
    .option("--event <events>", `some of ${AUDIT_EVENTS.join(", ")}, with commas between them`)
    .option("--server <server>", "of this server")
    .option("--tool <pattern>", "of matching tools (mcp__..., * is a wildcard)")
    .option("--run <id>", "of this run, or of those whose ids begin so")
    .option("--principal <name>", "on this principal's behalf")
    .option("--user <name>", "of this account of the system")
    .option("--host <name>", "of this machine")
    .option("--client <name>", "of what a client calls itself, such as claude-code, or of `ptc run`")
    .option(
      "--client-session <id>",
      "of runs of this conversation of a client, or `current` for that of this shell",
    )
    .option("--decision <decision>", "so decided, such as denied")
    .option("--failed", "only what was refused or has failed")
    .option("--limit <number>", `the newest so many (default: ${DEFAULT_LIMIT}; all with --json and --ocsf)`)
    .option("--follow", "go on with what is written from now on, until Ctrl-C")
    .option("--json", "the lines as they are in the file, as JSON lines")
    .option("--ocsf", "as events of the Open Cybersecurity Schema Framework, as JSON lines")
    .addHelpText(
      "after",
      "\nExamples:\n  ptc audit --since 24h --failed\n  ptc audit --event login,approval --follow\n  ptc audit --ocsf --since 2026-11-01 > november.jsonl\n",
    )
    .action(async (flags: AuditFlags) => {
      finish(await show(flags, surroundings));
    });
  defineVerifyAudit(audit, surroundings, finish);
  defineAuditHead(audit, surroundings, finish);
};

async function show(flags: AuditFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdout, stderr } = surroundings;
  if (flags.json && flags.ocsf) throw new UsageError("--json and --ocsf exclude each other");
  const filter = parseFilter(flags, Date.now(), env);
  const limit = parseLimit(flags);
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const path = auditPath(configuration);
  const terminal = terminalOf(stdout, env);
  const render = ({ line, fields }: AuditEntry) => {
    if (flags.json) return line;
    return flags.ocsf ? jsonLine(renderOcsf(fields, version)) : renderAuditEntry(fields, terminal);
  };
  const stop = new AbortController();
  if (flags.follow) exitOnSignals(surroundings);
  // Lines that are written while the rest is read come after it.
  const following = flags.follow ? followLog(path, filter, stop.signal) : undefined;
  const first = following?.next();
  const shown = await print(readLog(path, filter), limit, render, surroundings);
  if (shown === 0 && !flags.follow) await write(stderr, `ptc: no line of ${path} matches\n`);
  if (following === undefined) return EXIT.done;
  for (let next = await first; next !== undefined && !next.done; next = await following.next())
    await write(stdout, `${render(next.value)}\n`);
  return EXIT.done;
}

/** Prints the newest of some lines, or all. Returns how many. */
async function print(
  entries: AsyncIterable<AuditEntry>,
  limit: number,
  render: (entry: AuditEntry) => string,
  { stdout }: Surroundings,
): Promise<number> {
  let shown = 0;
  let held: AuditEntry[] = [];
  const flush = async (count: number) => {
    const texts = held.slice(0, count).map((entry) => `${render(entry)}\n`);
    held = held.slice(count);
    shown += texts.length;
    await write(stdout, texts.join(""));
  };
  for await (const entry of entries) {
    held.push(entry);
    if (limit === Number.POSITIVE_INFINITY && held.length >= BATCH) await flush(held.length);
    else if (held.length >= 2 * limit) held = held.slice(-limit);
  }
  if (limit !== Number.POSITIVE_INFINITY) held = held.slice(-limit);
  if (held.length > 0) await flush(held.length);
  return shown;
}

function parseFilter(flags: AuditFlags, nowMs: number, env: Surroundings["env"]): AuditFilter {
  const events = flags.event?.split(",").map((event) => event.trim());
  const unknown = events?.find((event) => !(AUDIT_EVENTS as readonly string[]).includes(event));
  if (unknown !== undefined)
    throw new UsageError(`--event: '${unknown.slice(0, 40)}' is not one of ${AUDIT_EVENTS.join(", ")}`);
  return {
    sinceMs: flags.since === undefined ? undefined : parseMoment("--since", flags.since, nowMs),
    untilMs: flags.until === undefined ? undefined : parseMoment("--until", flags.until, nowMs),
    events,
    server: flags.server,
    tool: flags.tool,
    run: flags.run,
    principal: flags.principal,
    user: flags.user,
    host: flags.host,
    client: flags.client,
    clientSession:
      flags.clientSession === undefined ? undefined : readClientSession(flags.clientSession, env),
    decision: flags.decision,
    isUnwanted: flags.failed,
  };
}

function parseLimit({ limit, json, ocsf }: AuditFlags): number {
  if (limit === undefined) return json || ocsf ? Number.POSITIVE_INFINITY : DEFAULT_LIMIT;
  const number = Number(limit);
  if (Number.isInteger(number) && number >= 1 && number <= MAX_LIMIT) return number;
  throw new UsageError(`--limit: '${limit.slice(0, 40)}' is not a whole number from 1 to ${MAX_LIMIT}`);
}
