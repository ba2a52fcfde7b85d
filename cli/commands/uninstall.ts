import { lstatSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { messageOf } from "../../base/faults.ts";
import { jsonLine } from "../../base/json.ts";
import { countNoun, formatBytes } from "../../base/quantities.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import { findPtcInClaude } from "../../configuration/clients/claude-code.ts";
import { ClientChanges } from "../../configuration/clients/client-changes.ts";
import { editEntry } from "../../configuration/clients/edit-entry.ts";
import { findClientFiles } from "../../configuration/clients/import/client-files.ts";
import { findPtcEntries, type PtcEntry } from "../../configuration/clients/take-over.ts";
import { findConfiguration } from "../../configuration/load.ts";
import { linkOutOf } from "../../system/link-out-of.ts";
import { stopHostAt } from "../background/host-command.ts";
import type { DefineCommand } from "../command.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { layOutTable } from "../run-report/text-table.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { changeFile, readIfThere, shownPath, undoChanges } from "./configuration/client-files.ts";
import { ask } from "./configuration/find-servers.ts";
import {
  findInstalled,
  folderPart,
  type InstalledPart,
  type Machine,
  thisMachine,
} from "./uninstall-host.ts";

interface UninstallFlags {
  yes?: boolean;
  json?: boolean;
  archive?: boolean;
}

/** `ptc uninstall` */
export const uninstallCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("uninstall")
    .description(
      "remove what ptc has on this machine, after showing it: entries of clients, secrets, images, state",
    )
    .option("--archive", "remove .ptc/ of this folder too: its runs and its audit log")
    .option("--yes", "remove it without a question")
    .option("--json", "print what there is as JSON; with --yes, what was removed")
    .addHelpText(
      "after",
      "\nptc.yaml, programs/ and generated/ stay, and so do the runs of all folders, but for those that --archive names. Without --yes, in a pipe, nothing is removed.\n\nExample:\n  ptc uninstall --json\n",
    )
    .action(async (flags: UninstallFlags) => {
      finish(await uninstall(flags, surroundings));
    });
};

/** @param machine what is removed besides entries of clients; another one in tests. */
export async function uninstall(
  flags: UninstallFlags,
  surroundings: Surroundings,
  machine: Machine = thisMachine(surroundings.env, stopHostAt),
): Promise<ExitCode> {
  const { env, stdin, stdout, stderr } = surroundings;
  const warnings: string[] = [];
  const parts = [
    ...(await findClientParts(surroundings)),
    ...(await findInstalled(machine, env, (warning) => warnings.push(warning))),
    ...(flags.archive ? await findArchive(surroundings) : []),
  ];
  const described = parts.map(({ kind, what, bytes }) => ({
    kind,
    what,
    ...(bytes !== undefined && { bytes }),
  }));
  if (flags.json && !flags.yes) {
    await write(stdout, `${jsonLine({ removed: false, parts: described, warnings })}\n`);
    return EXIT.done;
  }
  if (!flags.json) {
    for (const warning of warnings) await write(stderr, `ptc: warning: ${oneLine(warning)}\n`);
    const rows = parts.map(({ kind, what, bytes }) => [
      { text: kind },
      { text: bytes === undefined ? "" : formatBytes(bytes), align: "right" as const },
      { text: visibleLine(what) },
    ]);
    if (parts.length > 0) await write(stdout, `${layOutTable(rows).join("\n")}\n`);
    await write(stdout, `${staysText(flags, surroundings)}\n`);
  }
  if (parts.length > 0 && flags.yes !== true) {
    if (stdin.isTTY !== true || stderr.isTTY !== true)
      throw new UsageError("nothing was removed, as nobody can be asked here; --yes removes it");
    const answer = await ask("Remove these? [y/N]: ", surroundings);
    if (!/^\s*y(?:es)?\s*$/i.test(answer ?? "")) {
      await write(stderr, "ptc: nothing was removed\n");
      return EXIT.failed;
    }
  }
  const failed: { what: string; why: string }[] = [];
  for (const part of parts) {
    try {
      await part.remove();
    } catch (error) {
      failed.push({ what: part.what, why: oneLine(messageOf(error)) });
    }
  }
  if (flags.json) await write(stdout, `${jsonLine({ removed: true, parts: described, failed, warnings })}\n`);
  else {
    for (const { what, why } of failed) await write(stderr, `ptc: ${visibleLine(what)} stays: ${why}\n`);
    const { plugin } = findPtcInClaude(env, surroundings.cwd());
    const last = [
      "npm uninstall --global ptc",
      ...(plugin === undefined ? [] : [`claude plugin uninstall ${plugin}`]),
    ];
    await write(
      stdout,
      `${countNoun(parts.length - failed.length, "part")} removed. Last:\n${last.map((line) => `  ${line}\n`).join("")}`,
    );
  }
  return failed.length === 0 ? EXIT.done : EXIT.failed;
}

function staysText({ archive }: UninstallFlags, { cwd }: Surroundings): string {
  const own = lstatSync(join(cwd(), ".ptc"), { throwIfNoEntry: false }) !== undefined && !archive;
  const runs = own ? ", .ptc/ (its runs and its audit log; --archive removes it)" : "";
  return `What stays: ptc.yaml, programs/ and generated/${runs}, and the runs of other folders.`;
}

/** What ptc changed in clients' files, and entries that start ptc. */
async function findClientParts(surroundings: Surroundings): Promise<InstalledPart[]> {
  const { env } = surroundings;
  const cwd = realpathSync(surroundings.cwd());
  const changes = new ClientChanges(env).list();
  const undone = changes.map(({ change }) => {
    const what =
      change.before === undefined
        ? "taken out of"
        : change.after === undefined
          ? "put back into"
          : "as before in";
    return `'${change.name}' ${what} ${change.client}, ${shownPath(change.path, surroundings)}`;
  });
  const parts: InstalledPart[] = [];
  if (changes.length > 0)
    parts.push({
      kind: "client",
      what: undone.join("; "),
      async remove() {
        // What became of each is said where the parts are told, in one line.
        const lines: string[] = [];
        const quiet = { ...surroundings, stdout: keeper(lines), stderr: keeper(lines) };
        const code = await undoChanges(changes, quiet);
        if (code !== EXIT.done)
          throw new Error(
            lines
              .filter((line) => line.startsWith("ptc: "))
              .join("; ")
              .replaceAll("ptc: ", ""),
          );
      },
    });
  const kept = (entry: PtcEntry) =>
    changes.some(
      ({ change }) =>
        change.path === entry.path &&
        change.name === entry.name &&
        change.keys.join("\0") === entry.keys.join("\0") &&
        change.after !== undefined,
    );
  for (const file of findClientFiles(env, cwd)) {
    // A link in the folder that leads out of it is not the user's word to change what it leads to.
    if (file.pluginRoot !== undefined || linkOutOf(cwd, file.path) !== undefined) continue;
    const path = realpathSync(file.path);
    const text = await readIfThere(path, cwd);
    for (const entry of await findPtcEntries({ ...file, path }, text ?? "")) {
      if (kept(entry)) continue;
      const shown = shownPath(path, surroundings);
      parts.push({
        kind: "client",
        what: `'${entry.name}' taken out of ${entry.client}, ${shown}`,
        remove: () =>
          changeFile(path, shown, surroundings, async (before) => ({
            text: await editEntry(entry, before, { name: entry.name, entry: undefined }),
            changes: [],
          })),
      });
    }
  }
  return parts;
}

function keeper(lines: string[]): Surroundings["stdout"] {
  return new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(...chunk.toString().trimEnd().split("\n"));
      done();
    },
  });
}

async function findArchive({ env, cwd }: Surroundings): Promise<InstalledPart[]> {
  const found = await findConfiguration({ flag: undefined, env, cwd: cwd() });
  const folder = join(found === undefined ? cwd() : dirname(found.path), ".ptc");
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ? [folderPart("archive", folder)] : [];
}
