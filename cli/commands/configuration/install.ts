import { oneLine, visibleLine } from "../../../base/visible-text.ts";
import { projectFolder } from "../../../configuration/configuration-paths.ts";
import { findConfiguredTwice, findUndoable } from "../../../project/clients/client-files.ts";
import {
  clientNamed,
  KNOWN_CLIENTS,
  type OwnEntry,
  planEntry,
  scopeNamed,
  titleOf,
  whyTwice,
} from "../../../project/clients/own-entry.ts";
import type { Surroundings } from "../../../project/surroundings.ts";
import { terminalOf } from "../../../project/terminal/terminal.ts";
import { callOfPtc } from "../../claude-command.ts";
import { defineCommand, EXIT, type ExitCode, tell, UsageError, warnOn, write } from "../../command.ts";
import {
  canAsk,
  isConfirmed,
  offerTakeOver,
  renderChanges,
  takeOverChoice,
  undoAndTell,
} from "./client-files.ts";

interface InstallFlags {
  config?: string;
  scope: string;
  name: string;
  remove?: boolean;
  yes?: boolean;
  takeOver?: boolean;
  keep?: boolean;
  undo?: boolean;
  all?: boolean;
}

/** `ptc install CLIENT` */
export const installCommand = defineCommand("install", install, (command) =>
  command
    .description("write ptc into the configuration of an MCP client, after showing what changes")
    .argument("[client]", KNOWN_CLIENTS)
    .option(
      "--scope <scope>",
      "project: for this folder; user: for all folders; local: Claude Code, for you in this folder",
      "project",
    )
    .option("--name <name>", "what the client calls the server", "ptc")
    .option("--remove", "take the entry out again")
    .option(
      "--take-over",
      "take the servers that ptc.yaml has out of the client's files; without a client, of all clients",
    )
    .option("--keep", "leave them in the client's files, and do not ask")
    .option(
      "--undo",
      "put back what ptc changed in clients' files from this folder, also if they were edited since",
    )
    .option("--all", "with --undo: what ptc changed from any folder")
    .option("--yes", "write without a question")
    .option(
      "--config <file>",
      "configuration file that the client's ptc uses (default: ptc.yaml here, or the nearest above)",
    )
    .addHelpText(
      "after",
      "\nExamples:\n  ptc install claude --yes\n  ptc install codex --scope user\n  ptc install cursor --remove\n  ptc install --take-over\n  ptc install --undo --yes\n",
    ),
);

/** Writes ptc into the configuration of a client, or takes it out. @throws UsageError, Refusal */
export async function install(
  named: string | undefined,
  flags: InstallFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, stdout } = surroundings;
  const client = named === undefined ? undefined : clientNamed("client", named);
  const scope = scopeNamed("--scope", flags.scope);
  const { name, config } = flags;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw new UsageError("--name: a server's name has 1 to 64 letters, digits, `_` or `-`");
  const choice = takeOverChoice(flags);
  const project = projectFolder({ flag: config, env, cwd: surroundings.cwd() });
  if (flags.undo) return undo(client, flags, project, surroundings);
  if (flags.all) throw new UsageError("--all goes with --undo");
  if (client === undefined) {
    if (choice !== "take") throw new UsageError(`name a client: ${KNOWN_CLIENTS}`);
    const twice = await findConfiguredTwice({ client, config, project }, surroundings);
    if (twice.entries.length === 0)
      await write(stdout, "no client here has a server that ptc.yaml has; nothing to do\n");
    await offerTakeOver(twice, choice, surroundings);
    return EXIT.done;
  }
  const { exitCode, title } = await writeEntry({ client, scope, name, project }, flags, surroundings);
  if (exitCode !== EXIT.done || flags.remove) return exitCode;
  await offerTakeOver(
    await findConfiguredTwice({ client: title, config, project }, surroundings),
    choice,
    surroundings,
  );
  return exitCode;
}

/** Adds the entry to a client's file, or removes it. */
async function writeEntry(
  entry: OwnEntry,
  flags: InstallFlags,
  surroundings: Surroundings,
): Promise<{ exitCode: ExitCode; title: string }> {
  const { env, stdout, stderr } = surroundings;
  const made = flags.remove ? undefined : { call: callOfPtc(surroundings), config: flags.config };
  const planned = await planEntry(entry, made, surroundings, warnOn(stderr));
  const { title, file, becomes } = planned;
  if (becomes === "same") {
    const state = flags.remove ? `is not in ${file}` : `is in ${file} already`;
    await write(stdout, `'${entry.name}' ${state}; nothing to do\n`);
    return { exitCode: EXIT.done, title };
  }
  const { style } = terminalOf(stdout, env);
  await write(stdout, `${style("bold", file)}${BECOMES[becomes]}\n`);
  for (const line of planned.lines)
    await write(stdout, `${style(line.startsWith("+") ? "green" : "red", visibleLine(line))}\n`);
  if (flags.yes !== true && !(await isAgreed("Write this?", surroundings))) {
    await tell(stderr, "nothing was written");
    return { exitCode: EXIT.failed, title };
  }
  await planned.write();
  const done = flags.remove ? `ptc is no longer in ${title}` : planned.next;
  await write(stdout, `${becomes === "removed" ? "removed" : "wrote"} ${file}; ${done}\n`);
  const twice = whyTwice(entry.client, entry.project, surroundings);
  if (twice !== undefined) await tell(stderr, `Claude Code ${oneLine(twice)}`);
  return { exitCode: EXIT.done, title };
}

const BECOMES = { new: " (a new file)", edited: "", removed: " (removed: nothing else is in it)" } as const;

/** @throws UsageError if nobody can be asked. */
async function isAgreed(question: string, surroundings: Surroundings): Promise<boolean> {
  if (!canAsk(surroundings))
    throw new UsageError("nothing was written, as nobody can be asked here; --yes writes it");
  return isConfirmed(question, surroundings);
}

/** `ptc install [CLIENT] --undo` */
async function undo(
  client: OwnEntry["client"] | undefined,
  flags: InstallFlags,
  project: string,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const title = client && titleOf(client, surroundings);
  const undoable = findUndoable({ client: title, project: flags.all ? undefined : project }, surroundings);
  if (undoable.changes.length === 0) {
    const where = flags.all ? "" : " from this folder";
    await write(stdout, `ptc has changed nothing in clients' files${where} that is not undone\n`);
    return EXIT.done;
  }
  await write(stdout, `${renderChanges(undoable)}\n`);
  if (flags.yes !== true && !(await isAgreed("Undo these?", surroundings))) {
    await tell(stderr, "nothing was written");
    return EXIT.failed;
  }
  return undoAndTell(undoable, surroundings);
}
