import { execFileSync, spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, inject } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { type PackageRegistry, serveInstalledPackages } from "./package-registry.ts";

const NOBODY = "65534";

interface Exited {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A user without root, Docker and gVisor, with the package as it is published, and a registry of packages on this machine. */
export interface OrdinaryUser {
  /** A folder that the user may read. */
  folder: string;
  /** The package. */
  file: string;
  /** Where `name` is on the user's PATH, beside Node.js and npm. */
  add(name: string, target: string): void;
  /** Runs a shell with what stands in no file of this machine's settings. */
  sh(args: readonly string[], env?: Record<string, string>): Promise<Exited>;
}

/** Makes the package from what is built for tests, once for a file of tests. */
export function useOrdinaryUser(): OrdinaryUser {
  usePtc();
  const folder = mkdtempSync(join(tmpdir(), "ptc-ordinary-"));
  const bin = join(folder, "bin");
  let registry: PackageRegistry;
  const user: OrdinaryUser = {
    folder,
    file: "",
    add: (name, target) => symlinkSync(realpathSync(target), join(bin, name)),
    async sh(args, more = {}) {
      const isRoot = process.getuid?.() === 0;
      const become = isRoot ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
      const [command = "", ...rest] = [...become, "sh", ...args];
      const env = {
        PATH: `${bin}:/usr/bin:/bin`,
        npm_config_registry: registry.url,
        DOCKER_HOST: "unix:///nowhere/docker.sock",
        ...more,
      };
      const child = spawn(command, rest, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
      const texts = Promise.all([child.stdout, child.stderr].map(textOf));
      const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
      const [stdout = "", stderr = ""] = await texts;
      return { code, stdout, stderr };
    },
  };
  beforeAll(async () => {
    registry = await serveInstalledPackages();
    const built = join(inject("buildFolder"), "ptc");
    const args = ["scripts/package.ts", "--out", folder];
    user.file = JSON.parse(execFileSync(process.execPath, args, { cwd: built, encoding: "utf8" })).file;
    mkdirSync(bin);
    // The user may not enter the folders of the one who runs the tests.
    copyFileSync(realpathSync(process.execPath), join(bin, "node"));
    for (const name of ["npm", "npx"]) user.add(name, onPath(name));
    execFileSync("chmod", ["-R", "a+rX", folder]);
    for (let each = folder; each.startsWith(`${tmpdir()}/`); each = dirname(each)) chmodSync(each, 0o755);
  });
  afterAll(() => {
    registry?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return user;
}

function onPath(name: string): string {
  return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += chunk;
  return text;
}
