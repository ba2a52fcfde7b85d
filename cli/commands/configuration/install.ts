import { realpathSync } from "node:fs";
import { join } from "node:path";
import { oneLine, visibleLine } from "../../../base/visible-text.ts";
import { describeTwice, findPtcInClaude } from "../../../configuration/clients/claude-code.ts";
import {
  ClientChanges,
  changeEntry,
  type EditedFile,
  fileChanges,
  type KeptChange,
} from "../../../configuration/clients/client-changes.ts";
import {
  CLIENTS,
  type ClientName,
  type ClientPlace,
  type ClientScope,
  clientEntry,
  clientPlace,
  findClientFiles,
  namedVariables,
  SCOPES,
} from "../../../configuration/clients/clients.ts";
import type { EntryEdit } from "../../../configuration/clients/edit-entry.ts";
import { ClientFileError } from "../../../configuration/clients/read-client-file.ts";
import { serversWrittenIn } from "../../../configuration/clients/take-over.ts";
import { projectFolder } from "../../../configuration/configuration-paths.ts";
import { findConfiguration } from "../../../configuration/load.ts";
import { callOfPtc } from "../../claude-command.ts";
import {
  defineCommand,
  EXIT,
  type ExitCode,
  type Surroundings,
  tell,
  UsageError,
  warnOn,
  write,
} from "../../command.ts";
import { terminalOf } from "../../terminal/terminal.ts";
import {
  canAsk,
  changeFile,
  isConfirmed,
  offerTakeOver,
  readIfThere,
  refuseLinkOut,
  renderChanges,
  shownPath,
  type TakeOverChoice,
  takeOverChoice,
  undoChanges,
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
    .argument("[client]", CLIENTS.join(", "))
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

/** Writes ptc into the configuration of a client, or takes it out. @throws UsageError */
export async function install(
  named: string | undefined,
  flags: InstallFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env } = surroundings;
  const client = named === undefined ? undefined : oneOf(CLIENTS, named, "client");
  const scope = oneOf(SCOPES, flags.scope, "--scope");
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(flags.name))
    throw new UsageError("--name: a server's name has 1 to 64 letters, digits, `_` or `-`");
  const choice = takeOverChoice(flags);
  const cwd = projectFolder({ flag: flags.config, env, cwd: surroundings.cwd() });
  if (flags.undo) return undo(client, flags, cwd, surroundings);
  if (flags.all) throw new UsageError("--all goes with --undo");
  if (client === undefined) {
    if (choice !== "take") throw new UsageError(`name a client: ${CLIENTS.join(", ")}`);
    const count = await takeOver(undefined, choice, flags, cwd, surroundings);
    if (count === 0)
      await write(surroundings.stdout, "no client here has a server that ptc.yaml has; nothing to do\n");
    return EXIT.done;
  }
  const place = clientPlace(client, scope, { env, cwd });
  if (place === undefined) throw new UsageError(`--scope: only claude has '${scope}'; give project or user`);
  if (scope === "project") refuseLinkOut(cwd, place.path);
  const code = await writeEntry({ client, scope, place }, flags, cwd, surroundings);
  if (code !== EXIT.done || flags.remove) return code;
  await takeOver(place.client, choice, flags, cwd, surroundings);
  return code;
}

/** Whether a client's file has a server of this name. @throws UsageError for a file that cannot be read. */
export async function hasEntry(
  client: ClientName,
  scope: ClientScope,
  name: string,
  surroundings: Surroundings,
): Promise<boolean> {
  const cwd = realpathSync(surroundings.cwd());
  const place = clientPlace(client, scope, { env: surroundings.env, cwd });
  if (place === undefined) return false;
  const text = await readIfThere(place.path, cwd);
  const without = await edited(
    { ...place, project: cwd },
    shownPath(place.path, surroundings),
    text,
    { name, entry: undefined },
    false,
  );
  return without !== text;
}

/** Adds the entry to a client's file, or removes it. */
async function writeEntry(
  { client, scope, place }: { client: ClientName; scope: ClientScope; place: ClientPlace },
  flags: InstallFlags,
  cwd: string,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, stdout, stderr } = surroundings;
  const { name } = flags;
  const shown = shownPath(place.path, surroundings);
  const before = await readIfThere(place.path, cwd);
  const entry = flags.remove ? undefined : await entryFor(client, scope, flags, cwd, surroundings);
  const path = before === undefined ? place.path : realpathSync(place.path);
  const kept = new ClientChanges(env);
  const isOwnFile = [...kept.of(path), ...kept.of(place.path)].some(({ piece }) => !piece.wasThere);
  const file = { ...place, path, project: cwd };
  const after = await edited(file, shown, before, { name, entry }, isOwnFile);
  if (after === before) {
    const state = flags.remove ? `is not in ${shown}` : `is in ${shown} already`;
    await write(stdout, `'${name}' ${state}; nothing to do\n`);
    return EXIT.done;
  }
  const { style } = terminalOf(stdout, env);
  await write(stdout, `${style("bold", shown)}${describeFile(before, after)}\n`);
  for (const line of fileChanges(before, after))
    await write(stdout, `${style(line.startsWith("+") ? "green" : "red", visibleLine(line))}\n`);
  if (flags.yes !== true && !(await isAgreed("Write this?", surroundings))) {
    await tell(stderr, "nothing was written");
    return EXIT.failed;
  }
  await changeFile(path, shown, surroundings, async (text) => {
    const { change, ...changed } = await changeEntry(file, text, { name, entry }, isOwnFile);
    return { ...changed, changes: change === undefined ? [] : [change] };
  });
  const done = flags.remove ? `ptc is no longer in ${place.client}` : `${place.next}`;
  await write(stdout, `${after === undefined ? "removed" : "wrote"} ${shown}; ${done}\n`);
  const twice = client === "claude" ? describeTwice(findPtcInClaude(env, cwd)) : undefined;
  if (twice !== undefined) await tell(stderr, `Claude Code ${oneLine(twice)}`);
  return EXIT.done;
}

/** @throws UsageError if nobody can be asked. */
async function isAgreed(question: string, surroundings: Surroundings): Promise<boolean> {
  if (!canAsk(surroundings))
    throw new UsageError("nothing was written, as nobody can be asked here; --yes writes it");
  return isConfirmed(question, surroundings);
}

/** Offers to remove the servers of ptc.yaml from the files of one client or of all. Returns the number of entries found. */
async function takeOver(
  client: string | undefined,
  choice: TakeOverChoice,
  flags: InstallFlags,
  cwd: string,
  surroundings: Surroundings,
): Promise<number> {
  const { env } = surroundings;
  const found = await findConfiguration({ flag: flags.config, env, cwd });
  if (found === undefined) return 0;
  const files = findClientFiles(env, cwd).filter((file) => client === undefined || file.client === client);
  const servers = serversWrittenIn(found.text);
  return offerTakeOver({ files, servers, project: cwd, choice }, surroundings);
}

/** `ptc install [CLIENT] --undo` */
async function undo(
  client: ClientName | undefined,
  flags: InstallFlags,
  cwd: string,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, stdout, stderr } = surroundings;
  const named = client && clientPlace(client, "user", { env, cwd })?.client;
  const isWanted = ({ change }: KeptChange) =>
    (named === undefined || change.client === named) && (flags.all === true || change.project === cwd);
  const changes = new ClientChanges(env).list().filter(isWanted);
  if (changes.length === 0) {
    const where = flags.all ? "" : " from this folder";
    await write(stdout, `ptc has changed nothing in clients' files${where} that is not undone\n`);
    return EXIT.done;
  }
  await write(stdout, `${renderChanges(changes, surroundings)}\n`);
  if (flags.yes !== true && !(await isAgreed("Undo these?", surroundings))) {
    await tell(stderr, "nothing was written");
    return EXIT.failed;
  }
  return undoChanges(changes, surroundings);
}

function describeFile(before: string | undefined, after: string | undefined): string {
  if (before === undefined) return " (a new file)";
  return after === undefined ? " (removed: nothing else is in it)" : "";
}

async function edited(
  file: EditedFile,
  shown: string,
  before: string | undefined,
  edit: EntryEdit,
  isOwnFile: boolean,
): Promise<string | undefined> {
  try {
    return (await changeEntry(file, before, edit, isOwnFile)).text;
  } catch (error) {
    throw error instanceof ClientFileError ? new UsageError(`${shown}: ${error.message}`) : error;
  }
}

/** The entry for the client. Warns about anything that will not work. */
async function entryFor(
  client: ClientName,
  scope: ClientScope,
  flags: InstallFlags,
  cwd: string,
  surroundings: Surroundings,
) {
  const { env, stderr } = surroundings;
  const warn = warnOn(stderr);
  const found = await findConfiguration({ flag: flags.config, env, cwd });
  if (found === undefined)
    await warn(
      "there is no ptc.yaml here or above, and ptc has no servers without one; `ptc init` writes it",
    );
  const call = callOfPtc(surroundings);
  if (scope === "project" && call.length > 1)
    await warn(
      "a shell does not find this ptc by its name, so the entry has paths of this machine; install ptc globally before others share it",
    );
  return clientEntry(client, scope, {
    call,
    configuration: found === undefined ? join(cwd, "ptc.yaml") : realpathSync(found.path),
    cwd,
    variables: namedVariables(found?.text ?? ""),
  });
}

function oneOf<T extends string>(known: readonly T[], named: string, what: string): T {
  const found = known.find((each) => each === named);
  if (found !== undefined) return found;
  throw new UsageError(`${what}: '${visibleLine(named.slice(0, 40))}' is not one of ${known.join(", ")}`);
}
