/** The entry by which an MCP client starts ptc. */

import { realpathSync } from "node:fs";
import { join } from "node:path";
import { visibleLine } from "../../base/visible-text.ts";
import { describeTwice, findPtcInClaude } from "../../configuration/clients/claude-code.ts";
import {
  ClientChanges,
  changeEntry,
  type EditedFile,
  fileChanges,
} from "../../configuration/clients/client-changes.ts";
import {
  CLIENTS,
  type ClientName,
  type ClientScope,
  clientEntry,
  clientPlace,
  namedVariables,
  SCOPES,
} from "../../configuration/clients/clients.ts";
import type { EntryEdit } from "../../configuration/clients/edit-entry.ts";
import { ClientFileError } from "../../configuration/clients/read-client-file.ts";
import { findConfiguration } from "../../configuration/load.ts";
import { Refusal } from "../refusal.ts";
import { changeFile, type Here, readIfThere, refuseLinkOut, shownPath } from "./client-files.ts";

/** The clients into whose files ptc can write itself, as a list for people. */
export const KNOWN_CLIENTS = CLIENTS.join(", ");

/** The client that a user names. @throws Refusal */
export function clientNamed(flag: string, name: string): ClientName {
  return oneOf(CLIENTS, flag, name);
}

/** The scope of an entry that a user names. @throws Refusal */
export function scopeNamed(flag: string, name: string): ClientScope {
  return oneOf(SCOPES, flag, name);
}

function oneOf<T extends string>(known: readonly T[], flag: string, name: string): T {
  const found = known.find((each) => each === name);
  if (found !== undefined) return found;
  throw new Refusal(`${flag}: '${visibleLine(name.slice(0, 40))}' is not one of ${known.join(", ")}`);
}

/** Which entry of which client. */
export interface OwnEntry {
  client: ClientName;
  scope: ClientScope;
  /** What the client calls ptc. */
  name: string;
  /** The folder of the project, without symbolic links. */
  project: string;
}

/** A change of a client's file that is planned and not made. */
export interface PlannedEntry {
  /** The client, for people. */
  title: string;
  /** The file, as people write it. */
  file: string;
  /** What the file becomes; `same` if the entry is there, or gone, already. */
  becomes: "same" | "new" | "edited" | "removed";
  /** The lines that change, each with `+ ` or `- ` before it. */
  lines: readonly string[];
  /** What the client does with the changed file, for people. */
  next: string;
  /** Makes the change, and keeps it so that it can be undone. @throws Refusal */
  write(): Promise<void>;
}

/**
 * Plans to write the entry, or to remove it.
 *
 * @param made the words that start ptc, and the value of `--config`; `undefined` to remove the entry.
 * @param warn receives what will not work.
 * @throws Refusal if the client has no such scope, or its file cannot be read.
 */
export async function planEntry(
  { client, scope, name, project }: OwnEntry,
  made: { call: readonly string[]; config: string | undefined } | undefined,
  here: Here,
  warn: (message: string) => unknown,
): Promise<PlannedEntry> {
  const { env } = here;
  const place = clientPlace(client, scope, { env, cwd: project });
  if (place === undefined) throw new Refusal(`--scope: only claude has '${scope}'; give project or user`);
  if (scope === "project") refuseLinkOut(project, place.path);
  const shown = shownPath(place.path, here);
  const before = await readIfThere(place.path, project);
  const entry = made && (await entryFor({ client, scope, project }, made, here, warn));
  const path = before === undefined ? place.path : realpathSync(place.path);
  const kept = new ClientChanges(env);
  const isOwnFile = [...kept.of(path), ...kept.of(place.path)].some(({ piece }) => !piece.wasThere);
  const file = { ...place, path, project };
  const after = await edited(file, shown, before, { name, entry }, isOwnFile);
  return {
    title: place.client,
    file: shown,
    becomes:
      after === before ? "same" : before === undefined ? "new" : after === undefined ? "removed" : "edited",
    lines: fileChanges(before, after),
    next: place.next,
    write: () =>
      changeFile(path, shown, here, async (text) => {
        const { change, ...changed } = await changeEntry(file, text, { name, entry }, isOwnFile);
        return { ...changed, changes: change === undefined ? [] : [change] };
      }),
  };
}

/** What people call a client. */
export function titleOf(client: ClientName, { env, cwd }: Here): string | undefined {
  return clientPlace(client, "user", { env, cwd: cwd() })?.client;
}

/** Why Claude Code starts ptc more than once in a folder, continuing its name; `undefined` if it does not. */
export function whyTwice(client: ClientName, project: string, { env }: Here): string | undefined {
  return client === "claude" ? describeTwice(findPtcInClaude(env, project)) : undefined;
}

/** What a client has of ptc for a project. */
export interface ClientState {
  /** The client, for people. */
  title: string;
  /** The file for its entry, as people write it. */
  file: string;
  /** What the client does with a changed file, for people. */
  next: string;
  /** How it has ptc, for people; `undefined` if it does not. */
  has: string | undefined;
  /** Why its file cannot be read, for people. */
  problem?: string;
}

/** Whether a client has ptc for the folder in which a command is called. */
export async function examineClient(client: ClientName, here: Here): Promise<ClientState> {
  const { env } = here;
  const project = realpathSync(here.cwd());
  const place = clientPlace(client, "project", { env, cwd: project });
  if (place === undefined) throw new TypeError(`${client} has no file of a project`);
  const { client: title, next } = place;
  const file = shownPath(place.path, here);
  const state = (has: string | undefined) => ({ title, file, next, has });
  if (client === "claude") {
    const { plugin, entries } = findPtcInClaude(env, project);
    if (plugin !== undefined) return state(`ptc by the plugin ${plugin}`);
    if (entries.length > 0) return state("ptc");
  }
  try {
    const text = await readIfThere(place.path, project);
    const without = await edited({ ...place, project }, file, text, { name: "ptc", entry: undefined }, false);
    return state(without === text ? undefined : "ptc");
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ...state(undefined), problem: error.message };
  }
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
    throw error instanceof ClientFileError ? new Refusal(`${shown}: ${error.message}`) : error;
  }
}

/** The entry for the client. Warns about anything that will not work. */
async function entryFor(
  { client, scope, project }: Omit<OwnEntry, "name">,
  { call, config }: { call: readonly string[]; config: string | undefined },
  { env }: Here,
  warn: (message: string) => unknown,
) {
  const found = await findConfiguration({ flag: config, env, cwd: project });
  if (found === undefined)
    await warn(
      "there is no ptc.yaml here or above, and ptc has no servers without one; `ptc init` writes it",
    );
  if (scope === "project" && call.length > 1)
    await warn(
      "a shell does not find this ptc by its name, so the entry has paths of this machine; install ptc globally before others share it",
    );
  return clientEntry(client, scope, {
    call,
    configuration: found === undefined ? join(project, "ptc.yaml") : realpathSync(found.path),
    cwd: project,
    variables: namedVariables(found?.text ?? ""),
  });
}
