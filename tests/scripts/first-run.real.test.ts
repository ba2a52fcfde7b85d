/** What a first user does with the package as it is published: two commands, from an empty folder and an empty home, without root, Docker and gVisor. */
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { type PackageRegistry, serveInstalledPackages } from "./package-registry.ts";

const REPOSITORY = join(import.meta.dirname, "../..");
const NOBODY = "65534";
/** What two commands may put on a disk: the package with what it needs, and the servers that it runs. */
const MAX_MEGABYTES = { installed: 110, home: 150 };

usePtc();
const folder = mkdtempSync(join(tmpdir(), "ptc-first-run-"));
let registry: PackageRegistry;
let file: string;

beforeAll(async () => {
  registry = await serveInstalledPackages();
  const built = join(inject("buildFolder"), "ptc");
  const printed = execFileSync(process.execPath, ["scripts/package.ts", "--out", folder], { cwd: built });
  ({ file } = JSON.parse(printed.toString()));
  // The user may read the package, and Node.js and npm, which are elsewhere than on this machine's PATH.
  copyFileSync(join(REPOSITORY, "scripts/try-package.sh"), join(folder, "try-package.sh"));
  mkdirSync(join(folder, "bin"));
  copyFileSync(realpathSync(process.execPath), join(folder, "bin/node"));
  for (const name of ["npm", "npx"]) symlinkSync(realpathSync(onPath(name)), join(folder, "bin", name));
  execFileSync("chmod", ["-R", "a+rX", folder]);
  for (let each = folder; each !== dirname(tmpdir()) && each !== "/"; each = dirname(each))
    if (each.startsWith(`${tmpdir()}/`)) chmodSync(each, 0o755);
});
afterAll(() => {
  registry?.close();
  rmSync(folder, { recursive: true, force: true });
});

function onPath(name: string): string {
  return execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
}

/** Runs the script as somebody who is not root, who finds nothing of this machine's settings. */
async function tryPackage(): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
  const [command = "", ...args] = [...user, "sh", join(folder, "try-package.sh"), file];
  const env = {
    PATH: `${join(folder, "bin")}:/usr/bin:/bin`,
    npm_config_registry: registry.url,
    DOCKER_HOST: "unix:///nowhere/docker.sock",
  };
  const child = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr] = [child.stdout, child.stderr].map(async (stream) => {
    let text = "";
    for await (const chunk of stream) text += chunk;
    return text;
  });
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, stdout: (await stdout) ?? "", stderr: (await stderr) ?? "" };
}

test("an ordinary user without Docker and gVisor has a first answer of a program over real servers in two commands, without a development dependency", async () => {
  const { code, stdout, stderr } = await tryPackage();
  expect({ code, stderr }).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("ptc is set up. Next: "),
  });
  const took = JSON.parse(stdout);
  expect(took).toMatchObject({ commands: 2, status: "ok", calls: 1 });
  expect(took.megabytes.installed).toBeLessThan(MAX_MEGABYTES.installed);
  expect(took.megabytes.home).toBeLessThan(MAX_MEGABYTES.home);
  expect(stderr).toContain("6/6  program  done: ");
  console.log(`first answer: ${stdout.trim()}`);
});
