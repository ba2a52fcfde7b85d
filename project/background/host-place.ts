import { createHash } from "node:crypto";
import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  configurationPaths,
  type FindOptions,
  namedConfiguration,
} from "../../configuration/configuration-paths.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";

/** The project that a background host works for: one configuration of one user, at the moment of a call. */
export interface Project {
  /** Digest of the real path of the configuration, or of the working directory without one. */
  readonly key: string;
  /** SHA-256 of the configuration's bytes. */
  readonly fileDigest: string;
}

/** The files through which the background host of a project is reached. */
export interface HostPlace {
  /** Private to the user: only this user's processes can open anything in it. */
  readonly folder: string;
  /** A link to the socket of the host that is in service. Another host takes over by replacing it. */
  readonly link: string;
  /** Holds a secret that a caller must know. It proves that the caller can read this user's private files. */
  readonly tokenFile: string;
  /** Exists while a host is being started, and names the process that starts it. */
  readonly claim: string;
}

/** The most bytes of a Unix socket's path, on any system. */
const MAX_SOCKET_PATH_BYTES = 103;
/** The longest name of a socket: an identity of a process, and its suffix. */
const SOCKET_NAME_BYTES = 48;
const KEY_CHARS = 16;
const OTHERS = 0o077;

/** Somebody else could have created or could open a part of a host's place. The message says which part, and what to do. */
export class UnsafePlaceError extends Error {
  override readonly name = "UnsafePlaceError";
}

/** The project of a call; `undefined` if another process could not find the configuration as a file. */
export function findProject(options: FindOptions): Project | undefined {
  for (const path of configurationPaths(options)) {
    const file = statSync(path, { throwIfNoEntry: false });
    if (file === undefined) continue;
    return file.isFile()
      ? { key: digest(realpathSync(path)), fileDigest: digest(readFileSync(path)) }
      : undefined;
  }
  if (namedConfiguration(options) !== undefined) return undefined;
  return { key: digest(`${realpathSync(options.cwd)}/`), fileDigest: digest("") };
}

/** Where the host of a project is, whether or not there is one. */
export function placeOf({ key }: Pick<Project, "key">, { XDG_RUNTIME_DIR }: EnvironmentVariables): HostPlace {
  const name = key.slice(0, KEY_CHARS);
  const own = `ptc-${process.getuid?.() ?? 0}`;
  const folderIn = (parent: string) => join(parent, own, "hosts", name);
  const fits = (parent: string) =>
    existsSync(parent) &&
    Buffer.byteLength(folderIn(parent)) + 1 + SOCKET_NAME_BYTES <= MAX_SOCKET_PATH_BYTES;
  const folder = folderIn([XDG_RUNTIME_DIR || tmpdir(), tmpdir()].find(fits) ?? "/tmp");
  return {
    folder,
    link: join(folder, "host.sock"),
    tokenFile: join(folder, "token"),
    claim: join(folder, "starting"),
  };
}

/** The folders of a place that must be the user's own, outermost first. */
export function foldersOf({ folder }: HostPlace): string[] {
  return [dirname(dirname(folder)), dirname(folder), folder];
}

/**
 * The path of the socket in service, and the secret to present there; `undefined` if no host was started.
 *
 * @throws UnsafePlaceError when a folder, the link, the socket or the secret is not the user's alone.
 */
export function findHost(place: HostPlace): { socket: string; token: string } | undefined {
  for (const folder of foldersOf(place)) {
    if (!refuseUnsafe(folder, "folder")) return undefined;
  }
  if (!refuseUnsafe(place.link, "link")) return undefined;
  const name = readlinkSync(place.link);
  if (name.includes("/")) throw new UnsafePlaceError(`${place.link} leads out of its folder; remove it`);
  const socket = join(place.folder, name);
  if (!refuseUnsafe(socket, "socket") || !refuseUnsafe(place.tokenFile, "file")) return undefined;
  return { socket, token: readFileSync(place.tokenFile, "utf8") };
}

/**
 * Whether something of this kind exists.
 *
 * @throws UnsafePlaceError when it is of another kind, another user's, or open to others.
 */
export function refuseUnsafe(path: string, kind: "folder" | "link" | "socket" | "file"): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return false;
  const isKind = {
    folder: found.isDirectory(),
    link: found.isSymbolicLink(),
    socket: found.isSocket(),
    file: found.isFile(),
  }[kind];
  if (!isKind) throw new UnsafePlaceError(`${path} is not a ${kind}; remove it`);
  if (process.getuid !== undefined && found.uid !== process.getuid())
    throw new UnsafePlaceError(`${path} belongs to another user; remove it`);
  // The mode of a link says nothing.
  if (kind !== "link" && (found.mode & OTHERS) !== 0)
    throw new UnsafePlaceError(
      `${path} is open to other users; chmod ${kind === "folder" ? "700" : "600"} it`,
    );
  return true;
}

function digest(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** A text that differs between installations of ptc, and after an update. @param entry the file of the `ptc` command. */
export function describeBuild(entry: string): string {
  const path = realpathSync(entry);
  const { mtimeNs, size } = statSync(path, { bigint: true });
  return [path, mtimeNs, size, process.execPath, process.version].join(" ");
}
