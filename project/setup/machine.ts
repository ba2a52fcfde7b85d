/** What this machine is, as far as it decides how gVisor comes onto it. */
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";

export interface Machine {
  platform: NodeJS.Platform;
  /** The distribution of a Linux; undefined where none is named. */
  distribution: Distribution | undefined;
  /** Whether it is a distribution inside of Windows. */
  isWsl: boolean;
  isRoot: boolean;
  /** Which of the commands that set-up uses are on the PATH. */
  commands: ReadonlySet<string>;
}

export interface Distribution {
  /** `ID` of os-release, such as `debian`. */
  id: string;
  /** `ID_LIKE`: what it is made from. */
  like: readonly string[];
  /** Its name for people. */
  title: string;
}

/** The commands that set-up asks for. */
const COMMANDS = [
  ...["sudo", "doas", "apt-get", "dnf", "pacman", "apk", "zypper", "brew"],
  ...["dockerd", "podman", "runsc", "limactl", "colima"],
];

const MAX_OS_RELEASE_BYTES = 64 * 1024;

/** Looks at this machine, and changes nothing. @param root where its files are, for tests. */
export function describeMachine(env: EnvironmentVariables, root = "/"): Machine {
  const read = (path: string) => {
    try {
      return readFileSync(join(root, path), "utf8").slice(0, MAX_OS_RELEASE_BYTES);
    } catch {
      return "";
    }
  };
  const text = read("etc/os-release") || read("usr/lib/os-release");
  return {
    platform: process.platform,
    distribution: parseOsRelease(text),
    isWsl: /microsoft/i.test(read("proc/sys/kernel/osrelease")),
    isRoot: process.getuid?.() === 0,
    commands: new Set(COMMANDS.filter((name) => isOnPath(name, env.PATH ?? ""))),
  };
}

/** Reads an os-release (freedesktop's os-release(5)). Returns undefined where it names nothing. */
export function parseOsRelease(text: string): Distribution | undefined {
  const values = new Map(
    [...text.matchAll(/^([A-Z_]+)=(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"']*))\s*$/gm)].map(
      ([, name = "", double, single, bare]) => [name, double ?? single ?? bare ?? ""],
    ),
  );
  const id = values.get("ID");
  if (id === undefined || !/^[a-z0-9._-]+$/.test(id)) return undefined;
  const like = (values.get("ID_LIKE") ?? "").split(" ").filter((each) => /^[a-z0-9._-]+$/.test(each));
  return { id, like, title: values.get("PRETTY_NAME") || values.get("NAME") || id };
}

function isOnPath(name: string, path: string): boolean {
  return path.split(":").some((folder) => {
    const file = join(folder, name);
    if (folder === "" || !existsSync(file)) return false;
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
