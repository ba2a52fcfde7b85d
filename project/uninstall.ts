/** What ptc has put on a machine besides its package, and how each part of it is removed. */

import { lstatSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../base/faults.ts";
import { findPtcInClaude } from "../configuration/clients/claude-code.ts";
import { ClientChanges } from "../configuration/clients/client-changes.ts";
import { findClientFiles } from "../configuration/clients/clients.ts";
import { editEntry } from "../configuration/clients/edit-entry.ts";
import { findPtcEntries, type PtcEntry } from "../configuration/clients/take-over.ts";
import { projectFolder } from "../configuration/configuration-paths.ts";
import { findConfiguration } from "../configuration/load.ts";
import { pyodideFolder } from "../sandbox/wasm/pyodide.ts";
import { type KeyringPackage, listKeyringAccounts, openKeyring } from "../secrets/keyring.ts";
import { compileCacheFolder } from "../system/compile-cache.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { linkOutOf } from "../system/link-out-of.ts";
import { currentProcess, isDead, parseIdentity } from "../system/process-identity.ts";
import { stateFolders } from "../system/state-directory.ts";
import { stopHostAt } from "./background/host-control.ts";
import { findHost, type HostPlace, UnsafePlaceError } from "./background/host-place.ts";
import { changeFile, findUndoable, type Here, readIfThere, shownPath } from "./clients/client-files.ts";

/** How long a background host may take to end. */
const HOST_PATIENCE_MS = 10_000;
const HOST_LOOK_MS = 50;

/** Something that ptc has put on this machine. */
export interface InstalledPart {
  kind: "client" | "keyring" | "host" | "image" | "state" | "archive";
  what: string;
  bytes?: number;
  /** @throws Error in one line, if the part stays. */
  remove(): Promise<void>;
}

/** The places where ptc leaves something on a machine, besides the folders of projects and the files of clients. */
export interface Machine {
  /** The folders that hold the folders of this user's running ptc processes. */
  runFolders: readonly string[];
  images(): Promise<{
    listOwn(): Promise<{ reference: string; bytes: number }[]>;
    remove(reference: string): Promise<void>;
    /** The folder of the snapshots that sandboxes are restored from. It may not exist. */
    snapshots: string;
  }>;
  /** Loads the package that reaches the system's keyring; another one in tests. */
  loadKeyring?: () => Promise<KeyringPackage>;
  /** Asks a background host to end. */
  stopHost(host: { socket: string; token: string }): Promise<unknown>;
}

/** This machine, as the environment of a command shows it. */
export function thisMachine(env: EnvironmentVariables): Machine {
  return {
    runFolders: stateFolders(env, currentProcess()),
    images: async () => (await import("./sandboxes/image.ts")).openOwnImages(env),
    stopHost: stopHostAt,
  };
}

/**
 * What ptc has put on a machine, in the order of its removal.
 *
 * @param what also the archive of the project, if that is asked for.
 * @param warn receives parts that could not be looked for.
 */
export async function findInstalled(
  machine: Machine,
  here: Here,
  what: { archive: boolean },
  warn: (warning: string) => void,
): Promise<InstalledPart[]> {
  const { env } = here;
  const clients = await findClientParts(here);
  const hosts = findHosts(machine, warn);
  const images = await findImages(machine).catch((error: unknown) => {
    warn(`images are not looked for: ${messageOf(error)}`);
    return [];
  });
  const ended = hosts.map(({ identity }) => identity);
  return [
    ...clients,
    ...(await findSecrets(machine, env, warn)),
    ...hosts,
    ...images,
    ...findState(machine, env, ended, warn),
    ...(what.archive ? await findArchive(here) : []),
  ];
}

/** Whether the project has runs. */
export function hasArchive({ env, cwd }: Here): boolean {
  const folder = projectFolder({ env, cwd: cwd() });
  return lstatSync(join(folder, ".ptc"), { throwIfNoEntry: false }) !== undefined;
}

/** Claude Code's name of the plugin by which it has ptc here, if it has one. */
export function pluginOfClaude({ env, cwd }: Here): string | undefined {
  return findPtcInClaude(env, cwd()).plugin;
}

/** The changes of ptc to clients' files, and entries that start ptc. */
async function findClientParts(here: Here): Promise<InstalledPart[]> {
  const { env } = here;
  const cwd = realpathSync(here.cwd());
  const { changes: undoable, undo } = findUndoable({}, here);
  const parts: InstalledPart[] = [];
  if (undoable.length > 0)
    parts.push({
      kind: "client",
      what: undoable
        .map(({ name, undoing, client, file }) => `'${name}' ${UNDOING[undoing]} ${client}, ${file}`)
        .join("; "),
      async remove() {
        const stays: string[] = [];
        for await (const { file, what, isRefused } of undo())
          if (isRefused) stays.push(`${file}: ${what}; it stays as it is, change it by hand`);
        if (stays.length > 0) throw new Error(stays.join("; "));
      },
    });
  const changes = new ClientChanges(env).list();
  const kept = (entry: PtcEntry) =>
    changes.some(
      ({ change }) =>
        change.path === entry.path &&
        change.name === entry.name &&
        change.keys.join("\0") === entry.keys.join("\0") &&
        change.after !== undefined,
    );
  for (const file of findClientFiles(env, cwd)) {
    // A link that leads out of the folder does not permit ptc to change its target.
    if (file.pluginRoot !== undefined || linkOutOf(cwd, file.path) !== undefined) continue;
    const path = realpathSync(file.path);
    const text = await readIfThere(path, cwd);
    for (const entry of await findPtcEntries({ ...file, path }, text ?? "")) {
      if (kept(entry)) continue;
      const shown = shownPath(path, here);
      parts.push({
        kind: "client",
        what: `'${entry.name}' taken out of ${entry.client}, ${shown}`,
        remove: () =>
          changeFile(path, shown, here, async (before) => ({
            text: await editEntry(entry, before, { name: entry.name, entry: undefined }),
            changes: [],
          })),
      });
    }
  }
  return parts;
}

const UNDOING = {
  "take out": "taken out of",
  "put back": "put back into",
  "as before": "as before in",
} as const;

async function findArchive({ env, cwd }: Here): Promise<InstalledPart[]> {
  const found = await findConfiguration({ flag: undefined, env, cwd: cwd() });
  const folder = join(found === undefined ? cwd() : dirname(found.path), ".ptc");
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ? [folderPart("archive", folder)] : [];
}

/** Secrets and logins in the system's keyring. Those in files belong to the state. */
async function findSecrets(
  { loadKeyring }: Machine,
  env: EnvironmentVariables,
  warn: (warning: string) => void,
): Promise<InstalledPart[]> {
  const options = { env, ...(loadKeyring !== undefined && { load: loadKeyring }) };
  const keyring = await openKeyring(options);
  if (keyring === undefined) return [];
  const accounts = await listKeyringAccounts(options).catch((error: unknown) => {
    warn(`secrets in the keyring are not looked for: ${messageOf(error)}`);
    return [];
  });
  return accounts.map((account) => ({
    kind: "keyring",
    what: `${account} in the system's keyring (${keyring.name})`,
    async remove() {
      await keyring.delete(account);
    },
  }));
}

/** The background hosts. They are asked to end. */
function findHosts(
  { runFolders, stopHost }: Machine,
  warn: (warning: string) => void,
): (InstalledPart & { identity: string })[] {
  const self = currentProcess();
  return runFolders.flatMap((base) =>
    namesIn(join(base, "hosts")).flatMap((name) => {
      const folder = join(base, "hosts", name);
      const place: HostPlace = {
        folder,
        link: join(folder, "host.sock"),
        tokenFile: join(folder, "token"),
        claim: join(folder, "starting"),
      };
      try {
        const found = findHost(place);
        if (found === undefined) return [];
        const identity = basename(found.socket, ".sock");
        if (isDead(identity, self)) return [];
        const what = `the background host ${name} (process ${parseIdentity(identity)?.pid})`;
        const remove = async () => {
          await stopHost(found);
          for (let left = HOST_PATIENCE_MS; left > 0 && !isDead(identity, self); left -= HOST_LOOK_MS)
            await delay(HOST_LOOK_MS);
          if (!isDead(identity, self)) throw new Error("it ends with the commands that it runs");
        };
        return [{ kind: "host", what, identity, remove } as const];
      } catch (error) {
        if (!(error instanceof UnsafePlaceError)) throw error;
        warn(error.message);
        return [];
      }
    }),
  );
}

/** Images that `ptc image build` has made. */
async function findImages(machine: Machine): Promise<InstalledPart[]> {
  const images = await machine.images();
  const parts = (await images.listOwn()).map(
    ({ reference, bytes }): InstalledPart => ({
      kind: "image",
      what: `the image ${reference}`,
      bytes,
      remove: () => images.remove(reference),
    }),
  );
  const hasSnapshots = lstatSync(images.snapshots, { throwIfNoEntry: false })?.isDirectory() === true;
  return hasSnapshots ? [...parts, folderPart("state", images.snapshots)] : parts;
}

/** ptc's folders of this user, except those of running processes. */
function findState(
  { runFolders }: Machine,
  env: EnvironmentVariables,
  /** Identities of processes that are asked to end first. */
  ended: readonly string[],
  warn: (warning: string) => void,
): InstalledPart[] {
  const parts: InstalledPart[] = [];
  for (const base of runFolders) {
    const why = whyInUse(base, ended);
    if (why !== undefined) {
      warn(why);
      continue;
    }
    parts.push({
      ...folderPart("state", base),
      async remove() {
        // During the question another ptc may have started, and a host may still run.
        const whyNow = whyInUse(base);
        if (whyNow !== undefined) throw new Error(whyNow);
        // The files in this folder are needed to find a host that still runs.
        if (ended.some((identity) => !isDead(identity, currentProcess())))
          throw new Error("a background host still runs; uninstall again when it has ended");
        rmSync(base, { recursive: true, force: true });
      },
    });
  }
  for (const cached of [compileCacheFolder(env), pyodideFolder(env)])
    if (isOwnFolder(cached)) parts.push(folderPart("state", cached));
  const home = join(env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state"), "ptc");
  if (isOwnFolder(home) === false) warn(`${home} belongs to another user, and stays`);
  else if (isOwnFolder(home)) {
    parts.push({
      ...folderPart("state", home),
      async remove() {
        const left = new ClientChanges(env);
        if (left.list().length > 0) {
          for (const name of namesIn(home))
            if (join(home, name) !== left.folder) rmSync(join(home, name), { recursive: true });
          throw new Error(
            `${left.folder} still says what was changed in clients' files; remove it when you need it no longer`,
          );
        }
        rmSync(home, { recursive: true, force: true });
      },
    });
  }
  return parts;
}

/** Whether a folder is this user's; `undefined` if there is none. */
function isOwnFolder(path: string): boolean | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return undefined;
  return process.getuid === undefined || found.uid === process.getuid();
}

/** Why a folder of running processes cannot be removed. @param ended identities of processes that end before. */
function whyInUse(base: string, ended: readonly string[] = []): string | undefined {
  const self = currentProcess();
  const running = namesIn(base)
    .filter((name) => parseIdentity(name) !== undefined && !isDead(name, self) && !ended.includes(name))
    .map((name) => parseIdentity(name)?.pid)
    .filter((pid) => pid !== self.pid);
  if (running.length === 0) return undefined;
  return `ptc still runs (${running.length === 1 ? "process" : "processes"} ${running.join(", ")}), as \`ptc serve\` of a client: end the client, and uninstall again to have ${base} removed`;
}

/** A folder that is removed whole. Links in it are not followed. */
function folderPart(kind: InstalledPart["kind"], path: string): InstalledPart {
  return {
    kind,
    what: path,
    bytes: bytesIn(path),
    async remove() {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** The bytes of all files below a folder. Links are not followed. */
function bytesIn(folder: string): number {
  let total = 0;
  for (const name of namesIn(folder)) {
    const found = lstatSync(join(folder, name), { throwIfNoEntry: false });
    if (found?.isDirectory()) total += bytesIn(join(folder, name));
    else total += found?.size ?? 0;
  }
  return total;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
