import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { oneLine } from "../../../base/text/one-line.ts";
import { visibleLine } from "../../../base/text/visible-text.ts";
import { clientEntry, namedVariables } from "../../../host/clients/client-entry.ts";
import {
  CLIENTS,
  type ClientName,
  type ClientPlace,
  type ClientScope,
  clientPlace,
  SCOPES,
} from "../../../host/clients/client-place.ts";
import { editEntry } from "../../../host/clients/edit-entry.ts";
import { fileChanges } from "../../../host/clients/file-changes.ts";
import {
  ClientFileError,
  MAX_CLIENT_FILE_BYTES,
} from "../../../host/configuration/import/read-client-file.ts";
import { findConfiguration } from "../../../host/configuration/load.ts";
import { readTextFile } from "../../arguments/text-file.ts";
import { callOfPtc } from "../../claude-command.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { terminalOf } from "../../terminal/terminal.ts";
import { ask } from "./find-servers.ts";
import { replaceFile } from "./replace-file.ts";

interface InstallFlags {
  config?: string;
  scope: string;
  name: string;
  remove?: boolean;
  yes?: boolean;
}

/** `ptc install CLIENT` */
export const installCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("install")
    .description("write ptc into the configuration of an MCP client, after showing what changes")
    .argument("<client>", CLIENTS.join(", "))
    .option(
      "--scope <scope>",
      "project: for this folder; user: for all folders; local: Claude Code, for you in this folder",
      "project",
    )
    .option("--name <name>", "what the client calls the server", "ptc")
    .option("--remove", "take the entry out again")
    .option("--yes", "write without a question")
    .option("--config <file>", "configuration file that the client's ptc uses (default: ptc.yaml here)")
    .addHelpText(
      "after",
      "\nExamples:\n  ptc install claude --yes\n  ptc install codex --scope user\n  ptc install cursor --remove\n",
    )
    .action(async (client: string, flags: InstallFlags) => {
      finish(await install(client, flags, surroundings));
    });
};

async function install(named: string, flags: InstallFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdout, stderr, stdin } = surroundings;
  const client = oneOf(CLIENTS, named, "client");
  const scope = oneOf(SCOPES, flags.scope, "--scope");
  const { name } = flags;
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name))
    throw new UsageError("--name: a server's name has 1 to 64 letters, digits, `_` or `-`");
  const cwd = realpathSync(surroundings.cwd());
  const place = clientPlace(client, scope, { env, cwd });
  if (place === undefined) throw new UsageError(`--scope: only claude has '${scope}'; give project or user`);
  const shown = shownPath(place.path, surroundings);
  const before = await readIfThere(place.path, cwd);
  const entry = flags.remove ? undefined : await entryFor(client, scope, flags, cwd, surroundings);
  const after = await edited(place, shown, before, { name, entry });
  if (after === before) {
    const state = flags.remove ? `is not in ${shown}` : `is in ${shown} already`;
    await write(stdout, `'${name}' ${state}; nothing to do\n`);
    return EXIT.done;
  }
  const { style } = terminalOf(stdout, env);
  await write(stdout, `${style("bold", shown)}${describeFile(before, after)}\n`);
  for (const line of fileChanges(before, after))
    await write(stdout, `${style(line.startsWith("+") ? "green" : "red", visibleLine(line))}\n`);
  if (flags.yes !== true) {
    if (stdin.isTTY !== true || stderr.isTTY !== true)
      throw new UsageError("nothing was written, as nobody can be asked here; --yes writes it");
    const answer = await ask("Write this? [y/N]: ", surroundings);
    if (!/^\s*y(?:es)?\s*$/i.test(answer ?? "")) {
      await write(stderr, "ptc: nothing was written\n");
      return EXIT.failed;
    }
  }
  await replaceFile(place.path, before, after);
  const done = flags.remove ? `ptc is no longer in ${place.client}` : `${place.next}`;
  await write(stdout, `${after === undefined ? "removed" : "wrote"} ${shown}; ${done}\n`);
  return EXIT.done;
}

function describeFile(before: string | undefined, after: string | undefined): string {
  if (before === undefined) return " (a new file)";
  return after === undefined ? " (removed: nothing else is in it)" : "";
}

async function edited(
  place: ClientPlace,
  shown: string,
  before: string | undefined,
  edit: Parameters<typeof editEntry>[2],
): Promise<string | undefined> {
  try {
    return await editEntry(place, before, edit);
  } catch (error) {
    throw error instanceof ClientFileError ? new UsageError(`${shown}: ${error.message}`) : error;
  }
}

/** What the client is told, with warnings about what will not work as it is. */
async function entryFor(
  client: ClientName,
  scope: ClientScope,
  flags: InstallFlags,
  cwd: string,
  surroundings: Surroundings,
) {
  const { env, stderr } = surroundings;
  const warn = (message: string) => write(stderr, `ptc: warning: ${oneLine(message)}\n`);
  const found = await findConfiguration({ flag: flags.config, env, cwd });
  if (found === undefined)
    await warn("there is no ptc.yaml here, and ptc has no servers without one; `ptc init` writes it");
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

async function readIfThere(path: string, cwd: string): Promise<string | undefined> {
  try {
    realpathSync(path);
  } catch {
    return undefined;
  }
  return readTextFile(path, cwd, MAX_CLIENT_FILE_BYTES);
}

function oneOf<T extends string>(known: readonly T[], named: string, what: string): T {
  const found = known.find((each) => each === named);
  if (found !== undefined) return found;
  throw new UsageError(`${what}: '${visibleLine(named.slice(0, 40))}' is not one of ${known.join(", ")}`);
}

/** A path as people write it: from here, or from home. */
function shownPath(path: string, { env, cwd }: Pick<Surroundings, "env" | "cwd">): string {
  const shown = [
    [`${realpathSync(cwd())}/`, ""],
    [`${env.HOME || homedir()}/`, "~/"],
  ].find(([folder = ""]) => path.startsWith(folder));
  return visibleLine(shown === undefined ? path : `${shown[1]}${path.slice((shown[0] ?? "").length)}`);
}
