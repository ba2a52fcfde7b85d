import { resolve } from "node:path";
import { messageOf } from "../../base/faults.ts";
import { jsonLine } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import { KNOWN_EVENTS, parseEvents, type ShownAuditLine, showAudit } from "../../project/audit.ts";
import { shortRunId } from "../../project/run-report/runs-text.ts";
import { readClientSession } from "../../project/runs.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { type Terminal, terminalOf } from "../../project/terminal/terminal.ts";
import {
  CONFIG,
  type CommonFlags,
  type DefineCommand,
  EXIT,
  type ExitCode,
  exitOnSignals,
  parseLimit,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { openProjectOf } from "../project-command.ts";
import { parseMoment } from "./archived-runs.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000_000;

interface AuditFlags extends CommonFlags {
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
  ocsf?: boolean;
}

/** `ptc audit`, `ptc audit verify` and `ptc audit head`. */
export const auditCommand: DefineCommand = (program, surroundings, finish) => {
  const audit = program
    .command("audit")
    .description("show, filter, follow, export and verify the audit log")
    .option(...CONFIG)
    .option("--since <when>", "then or later: 24h, 7d, 2026-11-01 (UTC), 2026-11-01T08:30Z")
    .option("--until <when>", "before then")
    .option("--event <events>", `some of ${KNOWN_EVENTS}, with commas between them`)
    .option("--server <server>", "of this server")
    .option("--tool <pattern>", "of matching tools (mcp__..., * is a wildcard)")
    .option("--run <id>", "of this run, or of those whose ids begin with this")
    .option("--principal <name>", "on this principal's behalf")
    .option("--user <name>", "of this account of the system")
    .option("--host <name>", "of this machine")
    .option("--client <name>", "of what a client calls itself, such as claude-code, or of `ptc run`")
    .option(
      "--client-session <id>",
      "of runs of this conversation of a client, or `current` for that of this shell",
    )
    .option("--decision <decision>", "with this decision, such as denied")
    .option("--failed", "only what was refused or has failed")
    .option(
      "--limit <number>",
      `how many to show, the newest (default: ${DEFAULT_LIMIT}; all with --json and --ocsf)`,
    )
    .option("--follow", "print new lines as they are written, until Ctrl-C")
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
  const newest = limitOf(flags);
  const isFollowed = flags.follow === true;
  const project = await openProjectOf(flags, surroundings);
  if (isFollowed) exitOnSignals(surroundings);
  const { place, written, following } = showAudit(project, filter, { newest, isFollowed });
  const terminal = terminalOf(stdout, env);
  const render = (line: ShownAuditLine) => {
    const text = flags.json ? line.json : flags.ocsf ? line.ocsf() : renderAuditLine(line, terminal);
    return `${text}\n`;
  };
  let shown = 0;
  for await (const lines of written) {
    shown += lines.length;
    await write(stdout, lines.map(render).join(""));
  }
  if (shown === 0 && !isFollowed) await tell(stderr, `no line of ${place} matches`);
  for await (const line of following) await write(stdout, render(line));
  return EXIT.done;
}

function parseFilter(
  flags: AuditFlags,
  nowMs: number,
  env: Surroundings["env"],
): Parameters<typeof showAudit>[1] {
  return {
    sinceMs: flags.since === undefined ? undefined : parseMoment("--since", flags.since, nowMs),
    untilMs: flags.until === undefined ? undefined : parseMoment("--until", flags.until, nowMs),
    events: flags.event === undefined ? undefined : parseEvents(flags.event),
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

function limitOf({ limit, json, ocsf }: AuditFlags): number {
  if (limit === undefined) return json || ocsf ? Number.POSITIVE_INFINITY : DEFAULT_LIMIT;
  return parseLimit(limit, MAX_LIMIT);
}

const EVENT_CHARS = 9;

/** Renders a line of the audit log for people: when, what, and by whom. */
function renderAuditLine({ fields, isUnwanted }: ShownAuditLine, { style }: Terminal): string {
  const of = (member: string) => {
    const value = fields[member];
    return value === undefined || value === "" ? undefined : visibleLine(String(value));
  };
  const time =
    of("time")
      ?.replace("T", " ")
      .replace(/\.\d+Z$/, "Z") ?? "";
  const event = (of("event") ?? "").padEnd(EVENT_CHARS);
  const run = of("run_id");
  const parts = [
    of("tool") ?? of("server"),
    of("action"),
    of("of") && `of ${of("of")}`,
    of("decision") ?? of("outcome") ?? of("login") ?? of("what"),
    of("scope") && `for ${of("scope")}`,
    of("approver") && `by ${of("approver")}`,
    of("rule") && `rule ${of("rule")}`,
    of("reason"),
    of("calls") && `${of("calls")} calls`,
    of("lines") && `${of("lines")} lines`,
    of("result_bytes") && `${of("result_bytes")} B`,
    of("duration_ms") && `${of("duration_ms")} ms`,
    of("redactions") !== "0" && of("redactions") && `${of("redactions")} redacted`,
  ].filter((part) => part !== undefined && part !== false && part !== "");
  const [user, host] = [of("user"), of("host")];
  const account = host === undefined ? user : `${user ?? ""}@${host}`;
  const who = [run && `run ${shortRunId(run)}`, of("principal"), account, of("client")].filter(
    (part) => part !== undefined && part !== "",
  );
  const what = parts.join("  ");
  return [
    style("dim", time),
    style("cyan", event),
    isUnwanted ? style("red", what) : what,
    style("dim", who.join("  ")),
  ]
    .join("  ")
    .trimEnd();
}

/** `ptc audit head` */
const defineAuditHead: DefineCommand = (audit, surroundings, finish) => {
  audit
    .command("head")
    .description("print the last line's number and digest, to be kept where this machine cannot change it")
    .option(...CONFIG)
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  ptc audit head | ssh keeper 'cat >> heads'\n")
    .action(async (flags: CommonFlags, command: { optsWithGlobals(): CommonFlags }) => {
      finish(await printHead({ ...command.optsWithGlobals(), ...flags }, surroundings));
    });
};

async function printHead(flags: CommonFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const source = (await openProjectOf(flags, surroundings)).readAudit();
  let head: Awaited<ReturnType<typeof source.head>>;
  try {
    head = await source.head();
  } catch (error) {
    await tell(stderr, `the head of ${source.place} cannot be read: ${oneLine(messageOf(error))}`);
    return EXIT.failed;
  }
  if (head === undefined) {
    await tell(stderr, `no line of ${source.place} is in a chain, so it has no head`);
    return EXIT.failed;
  }
  const { seq, hash } = head;
  await write(stdout, `${flags.json ? jsonLine({ seq, digest: hash }) : `${seq}:${hash}`}\n`);
  return EXIT.done;
}

interface VerifyFlags extends CommonFlags {
  head?: string[];
}

/** `ptc audit verify` */
const defineVerifyAudit: DefineCommand = (audit, surroundings, finish) => {
  audit
    .command("verify [files...]")
    .description(
      "find lines of the audit log that were removed, edited, reordered or cut off; exit 1 when there are any",
    )
    .option(...CONFIG)
    .option(
      "--head <seq:digest>",
      "the last line at an earlier time, as `ptc audit head` printed it then and another machine kept it (repeatable)",
      (value: string, heads: string[] = []) => [...heads, value],
    )
    .option("--json", "print what was found as JSON")
    .addHelpText(
      "after",
      '\nFiles are those of the log that were moved elsewhere. With --head, ptc proves that all lines up to that one are unchanged. Without a head, it does not notice an end that was cut off together with the head beside the log.\n\nExample:\n  ptc audit verify --head "$(ssh keeper tail -n 1 heads)"\n',
    )
    .action(async (files: string[], flags: VerifyFlags, command: { optsWithGlobals(): VerifyFlags }) => {
      finish(await verify(files, { ...command.optsWithGlobals(), ...flags }, surroundings));
    });
};

async function verify(
  files: readonly string[],
  flags: VerifyFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { cwd, stdout, stderr } = surroundings;
  const expected = (flags.head ?? []).map(parseHeadFlag);
  const source = (await openProjectOf(flags, surroundings)).readAudit();
  const also = files.map((file) => resolve(cwd(), file));
  let found: Awaited<ReturnType<typeof source.verify>>;
  try {
    found = await source.verify({ also, expected });
  } catch (error) {
    await tell(stderr, `the audit log cannot be read: ${oneLine(messageOf(error))}`);
    return EXIT.failed;
  }
  const { lines, problems, notes, head } = found;
  const where = found.files.length === 0 ? source.place : countNoun(found.files.length, "file");
  const checked = `${countNoun(lines, "line")} in ${where}`;
  if (flags.json) await write(stdout, `${jsonLine(found)}\n`);
  else {
    const told = problems.length === 0 ? "" : problems.map((problem) => `${oneLine(problem)}\n`).join("");
    const good =
      problems.length > 0
        ? ""
        : head === undefined
          ? `nothing is audited yet in ${source.place}\n`
          : `${checked} are as they were written; the last is ${head}\n`;
    await write(stdout, told + good);
  }
  for (const note of notes) await tell(stderr, `note: ${oneLine(note)}`);
  if (problems.length === 0) return EXIT.done;
  await tell(stderr, `of ${checked}, not all is as it was written: do not trust it`);
  return EXIT.failed;
}

function parseHeadFlag(text: string): { seq: number; hash: string } {
  const [, seq, hash] = /^([1-9]\d{0,14}):(sha256:[0-9a-f]{64})$/.exec(text.trim()) ?? [];
  if (seq !== undefined && hash !== undefined) return { seq: Number(seq), hash };
  throw new UsageError(
    `--head: '${text.slice(0, 100)}' is not SEQ:sha256:DIGEST, as \`ptc audit head\` prints it`,
  );
}
