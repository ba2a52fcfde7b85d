import { lstatSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../base/faults.ts";
import { jsonLine } from "../../base/json.ts";
import { countNoun, formatBytes } from "../../base/quantities.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import { findPtcInClaude } from "../../configuration/clients/claude-code.ts";
import { ClientChanges } from "../../configuration/clients/client-changes.ts";
import { findClientFiles } from "../../configuration/clients/clients.ts";
import { editEntry } from "../../configuration/clients/edit-entry.ts";
import { findPtcEntries, type PtcEntry } from "../../configuration/clients/take-over.ts";
import { projectFolder } from "../../configuration/configuration-paths.ts";
import { findConfiguration } from "../../configuration/load.ts";
import { type KeyringPackage, listKeyringAccounts, openKeyring } from "../../secrets/keyring.ts";
import { compileCacheFolder } from "../../system/compile-cache.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { linkOutOf } from "../../system/link-out-of.ts";
import { currentProcess, isDead, parseIdentity } from "../../system/process-identity.ts";
import { stateFolders } from "../../system/state-directory.ts";
import { findHost, type HostPlace, UnsafePlaceError } from "../background/host-place.ts";
import {
  defineCommand,
  EXIT,
  type ExitCode,
  type Surroundings,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { layOutTable } from "../terminal/terminal.ts";
import {
  canAsk,
  changeFile,
  isConfirmed,
  readIfThere,
  shownPath,
  undoChanges,
} from "./configuration/client-files.ts";
import { stopHostAt } from "./host.ts";

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
  machine: Machine = thisMachine(surroundings.env, stopHostAt),
): Promise<ExitCode> {
  const { env, stdout, stderr } = surroundings;
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

function staysText({ archive }: UninstallFlags, { env, cwd }: Surroundings): string {
  const folder = projectFolder({ env, cwd: cwd() });
  const own = lstatSync(join(folder, ".ptc"), { throwIfNoEntry: false }) !== undefined && !archive;
  const runs = own ? ", .ptc/ (its runs and its audit log; --archive removes it)" : "";
  return `What stays: ptc.yaml, programs/ and generated/${runs}, and the runs of other folders.`;
}

/** The changes of ptc to clients' files, and entries that start ptc. */
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
        // The report has one line for each part, so the output here is collected.
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
    // A link that leads out of the folder does not permit ptc to change its target.
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

/** How long a background host may take to end. */
const HOST_PATIENCE_MS = 10_000;
const HOST_LOOK_MS = 50;

/** Something that ptc has put on this machine. */
interface InstalledPart {
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
function thisMachine(env: EnvironmentVariables, stopHost: Machine["stopHost"]): Machine {
  return {
    runFolders: stateFolders(env, currentProcess()),
    images: async () => (await import("../../project/sandboxes/image.ts")).openOwnImages(env),
    stopHost,
  };
}

/** The parts on this machine, in the order of their removal. @param warn receives parts that could not be looked for. */
async function findInstalled(
  machine: Machine,
  env: EnvironmentVariables,
  warn: (warning: string) => void,
): Promise<InstalledPart[]> {
  const hosts = findHosts(machine, warn);
  const images = await findImages(machine).catch((error: unknown) => {
    warn(`images are not looked for: ${messageOf(error)}`);
    return [];
  });
  const ended = hosts.map(({ identity }) => identity);
  return [
    ...(await findSecrets(machine, env, warn)),
    ...hosts,
    ...images,
    ...findState(machine, env, ended, warn),
  ];
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
  const compiled = compileCacheFolder(env);
  if (isOwnFolder(compiled)) parts.push(folderPart("state", compiled));
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
