import { randomBytes } from "node:crypto";
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import { parseForeignJson } from "../../base/json.ts";
import {
  currentProcess,
  formatIdentity,
  isDead,
  parseIdentity,
  startTimeOf,
} from "../../system/process-identity.ts";
import { foldersOf, type HostPlace, refuseUnsafe } from "./host-place.ts";

const SUFFIX = ".sock";
/** An older claim is ignored, because its process may be in another pid namespace, or hang. */
const MAX_CLAIM_MS = 30_000;

/** The files of one background host. A host replaces another by putting its own files in place of the other's. */
export class HostFiles {
  readonly socket: string;
  readonly token: string;
  readonly #place: HostPlace;

  /** Creates the private folder if there is none. @throws UnsafePlaceError */
  constructor(place: HostPlace) {
    this.#place = place;
    for (const folder of foldersOf(place)) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      refuseUnsafe(folder, "folder");
    }
    this.socket = join(place.folder, `${formatIdentity(currentProcess())}${SUFFIX}`);
    this.token = openToken(place.tokenFile);
  }

  /** Claims the right to start a host now. Two processes at a time do no harm, because the last to publish stays. */
  claim(): boolean {
    const { claim } = this.#place;
    const self = currentProcess();
    for (let tries = 0; tries < 3; tries++) {
      try {
        writeFileSync(claim, formatIdentity(self), { flag: "wx", mode: 0o600 });
        return true;
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
      }
      const made = statSync(claim, { throwIfNoEntry: false });
      if (made === undefined) continue;
      if (Date.now() - made.mtimeMs < MAX_CLAIM_MS && !isDead(readIfThere(claim), self)) return false;
      rmSync(claim, { force: true });
    }
    return false;
  }

  /** How many hosts of this user's other projects are in service. */
  countOthers(): number {
    const self = currentProcess();
    const all = dirname(this.#place.folder);
    return readdirSync(all).filter((name) => {
      const socket =
        join(all, name) === this.#place.folder ? undefined : readLink(join(all, name, "host.sock"));
      return socket !== undefined && !isDead(basename(socket, SUFFIX), self);
    }).length;
  }

  /** Puts this host in service, and replaces any other. */
  publish(): void {
    const { folder, link } = this.#place;
    const next = join(folder, `${basename(this.socket)}.link`);
    rmSync(next, { force: true });
    symlinkSync(basename(this.socket), next);
    renameSync(next, link);
    this.unclaim();
    const self = currentProcess();
    for (const name of readdirSync(folder)) {
      if (name.endsWith(SUFFIX) && isDead(name.slice(0, -SUFFIX.length), self)) rmSync(join(folder, name));
    }
  }

  unclaim(): void {
    rmSync(this.#place.claim, { force: true });
  }

  /** Whether this host is still in service. */
  get isPublished(): boolean {
    return readLink(this.#place.link) === basename(this.socket);
  }

  /** Takes this host out of service. */
  withdraw(): void {
    if (this.isPublished) rmSync(this.#place.link, { force: true });
    rmSync(this.socket, { force: true });
  }
}

/** Kills the process of a host that does not answer. Returns its pid; `undefined` when it is gone. */
export function killHost(socket: string): number | undefined {
  const identity = parseIdentity(basename(socket, SUFFIX));
  if (identity === undefined || identity.host !== currentProcess().host) return undefined;
  if (startTimeOf(identity.pid) !== identity.startTime) return undefined;
  process.kill(identity.pid, "SIGKILL");
  return identity.pid;
}

/** The secret of a folder. It is created once. */
function openToken(file: string): string {
  if (!refuseUnsafe(file, "file")) {
    const made = `${file}.${process.pid}`;
    writeFileSync(made, randomBytes(32).toString("hex"), { mode: 0o600 });
    try {
      // Unlike a rename, this fails if another process was faster. Its secret then counts.
      linkSync(made, file);
    } catch {
      refuseUnsafe(file, "file");
    } finally {
      rmSync(made, { force: true });
    }
  }
  return readFileSync(file, "utf8");
}

function readLink(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

const MAX_NAMES = 200;
const MAX_BYTES = 256 * 1024;
const MAX_DEPTH = 3;

const Lost = z.array(z.tuple([z.string(), z.string()]));

/** The sessions that ended with a background host, so that the next host in its place can report them. */
export class LostSessions {
  readonly #file: string;

  constructor({ folder }: Pick<HostPlace, "folder">) {
    this.#file = join(folder, "lost-sessions.json");
  }

  /** @param how continues "the one before ended". */
  add(names: readonly string[], how: string): void {
    if (names.length === 0) return;
    const others = this.#read().filter(([name]) => !names.includes(name));
    this.#write([...others, ...names.map((name): [string, string] => [name, how])]);
  }

  /** Returns once how the session of a name ended. */
  take(name: string): string | undefined {
    const all = this.#read();
    const found = all.find(([each]) => each === name);
    if (found !== undefined) this.#write(all.filter((each) => each !== found));
    return found?.[1];
  }

  #read(): [string, string][] {
    try {
      const text = readFileSync(this.#file, "utf8");
      return Lost.parse(parseForeignJson(text, { maxBytes: MAX_BYTES, maxDepth: MAX_DEPTH }));
    } catch {
      return [];
    }
  }

  #write(lost: [string, string][]): void {
    if (lost.length === 0) rmSync(this.#file, { force: true });
    else writeFileSync(this.#file, JSON.stringify(lost.slice(-MAX_NAMES)), { mode: 0o600 });
  }
}
