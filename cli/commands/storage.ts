import { resolve } from "node:path";
import { jsonLine } from "../../base/json.ts";
import { countNoun, formatBytes } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { Project } from "../../project/open-project.ts";
import {
  migrateStorage,
  openTakeover,
  reencryptStorage,
  type StorageStatus,
  storageStatus,
} from "../../project/storage.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  defineGroup,
  EXIT,
  type ExitCode,
  exitOnSignals,
  tell,
  write,
} from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";

/** `ptc storage ...`: the PostgreSQL database that several ptc share. */
export const storageCommand = defineGroup(
  "storage",
  () => [defineStatus, defineMigrate, defineImport, defineReencrypt],
  (command) =>
    command
      .description("manage the PostgreSQL database of `storage.url`, which several ptc share")
      .addHelpText("after", "\nExample:\n  ptc storage status\n"),
);

const defineStatus = defineProjectCommand("status", status, (command) =>
  command
    .description("show what the database holds, its size, and whether its tables match this ptc")
    .option(...CONFIG)
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  ptc storage status --json | jq .kept.runs\n"),
);

async function status(project: Project, flags: CommonFlags, { stdout }: Surroundings): Promise<ExitCode> {
  const found = await storageStatus(project);
  if (found === undefined) {
    const files = { place: "files", archive: project.configuration.archive.path };
    const text = flags.json ? jsonLine(files) : `files of this machine: runs in ${files.archive}`;
    await write(stdout, `${text}\n`);
    return EXIT.done;
  }
  await write(stdout, flags.json ? `${jsonLine(found)}\n` : renderStatus(found));
  return EXIT.done;
}

function renderStatus({ place, server, version, newest, kept }: StorageStatus): string {
  const state =
    version === newest
      ? `version ${version}, which is that of this ptc`
      : version === 0
        ? "none yet; the first ptc that needs them, or `ptc storage migrate`, makes them"
        : `version ${version}; the next ptc that starts, or \`ptc storage migrate\`, makes version ${newest} of it`;
  const lines = [`${place}, server ${server}`, `tables: ${state}`];
  if (kept !== undefined) {
    const others =
      kept.sealedOtherwise === 0
        ? "all sealed with the first key"
        : `${kept.sealedOtherwise} not sealed with the first key: \`ptc storage reencrypt\``;
    lines.push(
      `runs: ${countNoun(kept.runs, "run")} of ${countNoun(kept.months, "month")}, ${formatBytes(kept.runBytes)}, and their values, ${formatBytes(kept.valueBytes)}`,
      `audit: ${countNoun(kept.auditLines, "line")}, ${formatBytes(kept.auditBytes)}`,
      `secrets: ${countNoun(kept.waiting, "waiting approval")}, ${countNoun(kept.logins, "login")}; ${others}`,
      `the whole database: ${formatBytes(kept.wholeBytes)}`,
    );
  }
  return lines.map((line) => `${oneLine(line)}\n`).join("");
}

const defineMigrate = defineProjectCommand("migrate", migrate, (command) =>
  command
    .description("create the tables, or update them to the version of this ptc; starting ptc does the same")
    .option(...CONFIG)
    .option("--json", "print the versions as JSON")
    .addHelpText("after", "\nExample:\n  ptc storage migrate\n"),
);

async function migrate(project: Project, flags: CommonFlags, { stdout }: Surroundings): Promise<ExitCode> {
  const { place, before, now } = await migrateStorage(project);
  const text =
    before === now
      ? `${place} has version ${now} already`
      : `${place} had ${before === 0 ? "no tables" : `version ${before}`}, and has version ${now} now`;
  await write(stdout, flags.json ? `${jsonLine({ place, before, now })}\n` : `${text}\n`);
  return EXIT.done;
}

const defineImport = defineProjectCommand("import", importArchive, (command) =>
  command
    .description(
      "import an SQLite archive and its audit log, with their digests and chains; what was imported before is skipped",
    )
    .argument("[file]", "the archive; by default that of archive.path")
    .option(...CONFIG)
    .option("--json", "print the outcome as JSON")
    .addHelpText(
      "after",
      "\nThe audit log is the audit.jsonl in the folder of the file, or without one that of the project.\nThe files stay as they are. Run it again after an interruption: it continues. Runs and lines are checked before they are imported.\n\nExample:\n  ptc storage import .ptc/archive.db\n",
    ),
);

async function importArchive(
  project: Project,
  file: string | undefined,
  flags: CommonFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, cwd } = surroundings;
  exitOnSignals(surroundings);
  const takeover = await openTakeover(project, file === undefined ? undefined : resolve(cwd(), file));
  const isShown = stderr.isTTY === true;
  const showing = (what: string) => (done: number, of: number) =>
    void (isShown && stderr.write(`\r${done} of ${countNoun(of, what)}`));
  const clear = () => void (isShown && stderr.write("\r\u001b[K"));
  const say = (from: string, what: string, { place, taken, head }: TakenOver) =>
    write(
      stdout,
      `${oneLine(
        taken === 0
          ? `${place} has all of ${from} already; its head is ${head}`
          : `${place} has taken ${countNoun(taken, what)} over; the head is ${head}, as it was`,
      )}\n`,
    );
  const runs = await takeover.takeRuns(showing("record"));
  clear();
  if (!flags.json) await say(takeover.archivePath, "record", runs);
  const { taken, head, place } = await takeover.takeAudit(showing("line"));
  clear();
  if (flags.json) await write(stdout, `${jsonLine({ ...runs, audit: { taken, head: head ?? null } })}\n`);
  else if (head !== undefined) await say(takeover.auditPath, "line", { place, taken, head });
  return EXIT.done;
}

interface TakenOver {
  place: string;
  taken: number;
  head: string;
}

const defineReencrypt = defineProjectCommand("reencrypt", reencrypt, (command) =>
  command
    .description(
      "encrypt logins and suspended runs with the first of storage.encryption_key; exit 1 when some cannot be",
    )
    .option(...CONFIG)
    .option("--json", "print the outcome as JSON")
    .addHelpText(
      "after",
      "\nPut the new key first and keep the old one behind it, start every ptc anew, run this, then remove the old one.\n\nExample:\n  ptc storage reencrypt\n",
    ),
);

async function reencrypt(
  project: Project,
  flags: CommonFlags,
  { stdout, stderr }: Surroundings,
): Promise<ExitCode> {
  const found = await reencryptStorage(project);
  const text = `encrypted ${countNoun(found.reencrypted, "value")} with the first key; ${found.current} had it already`;
  await write(stdout, flags.json ? `${jsonLine(found)}\n` : `${text}\n`);
  if (found.unreadable === 0) return EXIT.done;
  await tell(
    stderr,
    `${countNoun(found.unreadable, "value")} cannot be read with any key of storage.encryption_key: add the one that they were encrypted with`,
  );
  return EXIT.failed;
}
