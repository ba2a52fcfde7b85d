/**
 * The packages of servers in sandboxes: fixed in the lock, fetched once into a read-only layer, which is found by the digest of what the
 * lock has.
 *
 *     .ptc/packages/<digest>/files/       what is mounted
 *     .ptc/packages/<digest>/layer.json   the digest of these files, so that edited ones are noticed
 */

import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import {
  access,
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { messageOf } from "../../base/faults.ts";
import { parseForeignJson } from "../../base/json.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { hideFromGit, PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";
import type { GroupObserver } from "../run-command.ts";
import { npmPackages } from "./npm-packages.ts";
import type { PackageCommand, PackageKind } from "./package-command.ts";
import { PackageError } from "./package-error.ts";
import { type LockedPackages, PACKAGE_LOCK, readPackageLock, writePackageLock } from "./package-lock.ts";
import { pythonPackages } from "./python-packages.ts";
import { type Install, InstallStep, type PackageStart } from "./run-installer.ts";

const FOLDER = "packages";
const INSTALLING = "installing-";
/** An installation of this age belongs to a ptc that was killed. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;
/** A layer that no lock names is removed when it was unused for this long: another ptc may still run servers from it. */
const UNUSED_AFTER_MS = 30 * 24 * 60 * 60 * 1000;

/** Packages of a server, ready to be mounted. */
export interface PackageLayer {
  /** The folder here. */
  folder: string;
  /** How the server's program is started if the folder is mounted at a path. */
  start(inside: string): PackageStart;
}

export interface LayerOptions {
  /** The folder of ptc.yaml. */
  directory: string;
  /** The names of the servers that ptc.yaml has. The lock keeps no others when it is written. */
  servers: ReadonlySet<string>;
  /**
   * Whether the newest packages that fit are found and written into the lock, for each server once; `missing`: where the lock does not have
   * those of the server. Otherwise servers start from what the lock has, and from nothing else.
   */
  resolves: boolean | "missing";
  arch: string;
  python: string;
  observer: GroupObserver;
}

const Layer = z.object({ sha256: z.string() });

/** The layers of one project. */
export class PackageLayers {
  readonly #options: LayerOptions;
  readonly #ready = new Map<string, Promise<PackageLayer>>();

  constructor(options: LayerOptions) {
    this.#options = options;
  }

  /**
   * The packages of a server, fetched if they are not here yet. A layer is checked once while this object lives.
   *
   * @param env variables of the server that say where packages come from, such as `npm_config_registry`.
   * @throws PackageError
   */
  get(
    server: string,
    command: PackageCommand,
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<PackageLayer> {
    const key = JSON.stringify([server, command]);
    const found = this.#ready.get(key) ?? this.#open(server, command, env, signal);
    this.#ready.set(key, found);
    // A failure may be over by the next start.
    found.catch(() => this.#ready.delete(key));
    return found;
  }

  async #open(
    server: string,
    command: PackageCommand,
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<PackageLayer> {
    const { resolves } = this.#options;
    const locked =
      resolves === true || (resolves === "missing" && !this.#isLocked(server, command))
        ? await this.#resolve(server, command, env, signal)
        : this.#locked(server, command);
    const { arch, python } = this.#options;
    const digest = digestOf({ locked, arch, python: locked.kind === "python" ? python : undefined });
    const layer = join(this.#base(), digest.replace(/^\w+:/, "").slice(0, 32));
    if (await isThere(layer)) await checkLayer(layer);
    else {
      await this.#install(locked, layer, env, signal);
      await removeUnused(this.#base(), layer);
    }
    const now = new Date();
    await utimes(layer, now, now).catch(() => {});
    const folder = join(layer, "files");
    return { folder, start: (inside) => installerFor(locked.kind).start(command, folder, inside) };
  }

  #isLocked(server: string, { kind, packages }: Pick<PackageCommand, "kind" | "packages">): boolean {
    const locked = readPackageLock(this.#options.directory).get(server);
    return locked?.kind === kind && JSON.stringify(locked.packages) === JSON.stringify(packages);
  }

  #locked(server: string, { kind, packages }: PackageCommand): LockedPackages {
    const locked = readPackageLock(this.#options.directory).get(server);
    if (locked === undefined)
      throw new PackageError(`${PACKAGE_LOCK} does not have its packages; run \`ptc generate ${server}\``);
    if (!this.#isLocked(server, { kind, packages }))
      throw new PackageError(
        `${PACKAGE_LOCK} has ${locked.packages.join(", ")}, and ptc.yaml ${packages.join(", ")}; run \`ptc generate ${server}\``,
      );
    return locked;
  }

  async #resolve(
    server: string,
    command: PackageCommand,
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<LockedPackages> {
    const { directory, servers } = this.#options;
    const { kind, packages } = command;
    const tree = await this.#within(env, signal, (step) => installerFor(kind).resolve(command, step));
    const locked = { kind, packages, tree } as LockedPackages;
    const all = readPackageLock(directory);
    for (const name of all.keys()) if (!servers.has(name)) all.delete(name);
    writePackageLock(directory, all.set(server, locked));
    return locked;
  }

  async #install(
    locked: LockedPackages,
    layer: string,
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#within(env, signal, async (step) => {
      await installerFor(locked.kind).install(locked.tree, step);
      const made = `${step.folder}.layer`;
      await mkdir(made, { mode: 0o755 });
      try {
        await rename(step.folder, join(made, "files"));
        await openToAll(join(made, "files"));
        const sha256 = await treeDigest(join(made, "files"));
        await writeFile(join(made, "layer.json"), `${JSON.stringify({ sha256 })}\n`);
        // Another ptc may have been faster, with the same packages.
        await rename(made, layer).catch(async (error: unknown) => {
          if (!(await isThere(layer))) throw error;
        });
      } finally {
        await rm(made, { recursive: true, force: true });
      }
    });
  }

  /** Does a step in a folder of its own, of which nothing is left. */
  async #within<T>(
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
    work: (step: InstallStep) => Promise<T>,
  ): Promise<T> {
    const { directory, arch, python, observer } = this.#options;
    const base = this.#base();
    const folder = join(base, `${INSTALLING}${randomBytes(6).toString("hex")}`);
    try {
      const isNew =
        (await mkdir(join(directory, PRIVATE_FOLDER_NAME), { recursive: true, mode: 0o700 })) !== undefined;
      hideFromGit(join(directory, PRIVATE_FOLDER_NAME), isNew);
      await mkdir(folder, { recursive: true });
      return await work(new InstallStep({ folder, directory, arch, python, env, signal, observer }));
    } catch (error) {
      if (error instanceof PackageError) throw error;
      throw new PackageError(`its packages cannot be installed: ${messageOf(error)}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  #base(): string {
    return join(this.#options.directory, PRIVATE_FOLDER_NAME, FOLDER);
  }
}

type Tree = LockedPackages["tree"];

function installerFor(kind: PackageKind): Install<Tree> {
  // The tree is of the same kind, which types cannot say.
  return (kind === "npm" ? npmPackages : pythonPackages) as Install<Tree>;
}

/** @throws PackageError for a layer that was edited. */
async function checkLayer(layer: string): Promise<void> {
  let isSame = false;
  try {
    const { sha256 } = Layer.parse(
      parseForeignJson(await readFile(join(layer, "layer.json")), { maxBytes: 1_000, maxDepth: 2 }),
    );
    isSame = sha256 === (await treeDigest(join(layer, "files")));
  } catch {
    // What cannot be read is not as it was installed.
  }
  if (!isSame)
    throw new PackageError(`the packages in ${layer} are not as they were installed; remove that folder`);
}

/** The digest of all names, contents, links and rights to execute below a folder. */
async function treeDigest(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const add = (text: string) => hash.update(`${Buffer.byteLength(text)}:${text}`);
  const visit = async (path: string, name: string): Promise<void> => {
    const status = await lstat(path);
    add(name);
    if (status.isSymbolicLink()) add(`link ${await readlink(path)}`);
    else if (status.isDirectory()) {
      const names = (await readdir(path)).sort();
      add(`folder ${names.length}`);
      for (const each of names) await visit(join(path, each), each);
    } else {
      const content = await readFile(path);
      add(`file ${status.mode & 0o100} ${content.length}`);
      hash.update(content);
    }
  };
  await visit(folder, "");
  return hash.digest("hex");
}

/** Lets the sandbox's user read everything, whatever the umask was. */
async function openToAll(path: string): Promise<void> {
  const status = await lstat(path);
  if (status.isSymbolicLink()) return;
  const isExecuted = status.isDirectory() || (status.mode & 0o100) !== 0;
  await chmod(path, isExecuted ? 0o755 : 0o644);
  if (status.isDirectory()) for (const name of await readdir(path)) await openToAll(join(path, name));
}

async function isThere(layer: string): Promise<boolean> {
  return access(layer, constants.F_OK).then(
    () => true,
    () => false,
  );
}

/** Removes what killed processes left, and layers that nobody used for long. */
async function removeUnused(base: string, used: string): Promise<void> {
  for (const name of await readdir(base).catch(() => [])) {
    const path = join(base, name);
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now());
    const limit = name.startsWith(INSTALLING) ? ABANDONED_AFTER_MS : UNUSED_AFTER_MS;
    if (path !== used && age > limit) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}
