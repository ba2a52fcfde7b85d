import { messageOf } from "../../base/faults.ts";
import { jsonLine } from "../../base/json.ts";
import { countNoun, formatBytes } from "../../base/quantities.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import { layOutTable } from "../../project/terminal/terminal.ts";
import {
  findInstalled,
  hasArchive,
  type Machine,
  pluginOfClaude,
  thisMachine,
} from "../../project/uninstall.ts";
import { defineCommand, EXIT, type ExitCode, tell, UsageError, write } from "../command.ts";
import { canAsk, isConfirmed } from "./configuration/client-files.ts";

interface UninstallFlags {
  yes?: boolean;
  json?: boolean;
  archive?: boolean;
}

/** `ptc uninstall` */
export const uninstallCommand = defineCommand(
  "uninstall",
  (...given: [UninstallFlags, Surroundings]) => uninstall(...given),
  (command) =>
    command
      .description(
        "remove what ptc has on this machine, after showing it: entries of clients, secrets, images, state",
      )
      .option("--archive", "remove .ptc/ of this folder too: its runs and its audit log")
      .option("--yes", "remove it without a question")
      .option("--json", "print what there is as JSON; with --yes, what was removed")
      .addHelpText(
        "after",
        "\nptc.yaml, programs/ and generated/ stay, and so do the runs of all folders, but for those that --archive names. In a pipe, ptc removes nothing without --yes.\n\nExample:\n  ptc uninstall --json\n",
      ),
);

/** @param machine finds what is removed besides entries of clients; another one in tests. */
export async function uninstall(
  flags: UninstallFlags,
  surroundings: Surroundings,
  machine: Machine = thisMachine(surroundings.env),
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const warnings: string[] = [];
  const parts = await findInstalled(machine, surroundings, { archive: flags.archive === true }, (warning) =>
    warnings.push(warning),
  );
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
    for (const warning of warnings) await tell(stderr, `warning: ${oneLine(warning)}`);
    const rows = parts.map(({ kind, what, bytes }) => [
      { text: kind },
      { text: bytes === undefined ? "" : formatBytes(bytes), align: "right" as const },
      { text: visibleLine(what) },
    ]);
    if (parts.length > 0) await write(stdout, `${layOutTable(rows).join("\n")}\n`);
    await write(stdout, `${staysText(flags, surroundings)}\n`);
  }
  if (parts.length > 0 && flags.yes !== true) {
    if (!canAsk(surroundings))
      throw new UsageError("nothing was removed, as nobody can be asked here; --yes removes it");
    if (!(await isConfirmed("Remove these?", surroundings))) {
      await tell(stderr, "nothing was removed");
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
    for (const { what, why } of failed) await tell(stderr, `${visibleLine(what)} stays: ${why}`);
    const plugin = pluginOfClaude(surroundings);
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

function staysText({ archive }: UninstallFlags, surroundings: Surroundings): string {
  const runs =
    hasArchive(surroundings) && !archive ? ", .ptc/ (its runs and its audit log; --archive removes it)" : "";
  return `What stays: ptc.yaml, programs/ and generated/${runs}, and the runs of other folders.`;
}
