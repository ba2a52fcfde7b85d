import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildReseedLibrary, RESEED_MACHINES } from "../../../runner-image/reseed-library.ts";
import { DockerEngine } from "../../../sandbox/docker/docker-engine.ts";
import { DockerImageStore } from "../../../sandbox/docker/docker-image-store.ts";
import { ensureDebianBase } from "../../../sandbox/image/debian-base.ts";
import { neededImage, readRunnerFiles } from "../../../sandbox/image/needed-image.ts";
import { buildRunnerImage, type RunnerImage } from "../../../sandbox/image/runner-image.ts";
import type { ImageStore } from "../../../sandbox/sandbox-engine.ts";
import { describeDocker } from "../in-sandbox.ts";

const repository = join(import.meta.dirname, "../../..");
const reference = `ptc-image-test-${process.pid}`;
/** Where there are packages, it is the base that they make which is tested: it also has Python. */
const hasPackages = existsSync("/usr/bin/apt-get");

describeDocker("the runner image", () => {
  const { docker } = new DockerEngine();
  const store = new DockerImageStore(docker);
  const directory = mkdtempSync(join(tmpdir(), "ptc-image-test-"));

  const made = new Set<string>();

  async function build(runner: string, base?: string): Promise<RunnerImage> {
    const filesPath = join(directory, "files");
    cpSync(join(repository, "runner-image/python"), join(filesPath, "python"), { recursive: true });
    for (const name of ["guard.pl", "relay.pl"])
      cpSync(join(repository, "runner-image", name), join(filesPath, name));
    for (const name of ["launcher.mjs", "server.mjs"]) writeFileSync(join(filesPath, name), "");
    writeFileSync(join(filesPath, "runner.mjs"), runner, { mode: 0o600 });
    for (const machine of RESEED_MACHINES)
      writeFileSync(join(filesPath, `reseed-${machine}.so`), buildReseedLibrary(machine));
    const files = readRunnerFiles(filesPath, join(repository, "Dockerfile.runner")) ?? new Map();
    const image = await buildRunnerImage({
      store,
      needed: neededImage({ image: reference, pythonPackages: [], runners: [], files }),
      files,
      onProgress: () => {},
      ...(base !== undefined ? { base } : hasPackages ? { base: "debian-packages" } : {}),
    });
    made.add(image.digest);
    return image;
  }

  /** Runs a command of the image under gVisor; without one, what the image runs by itself. */
  async function run(command: string[] = [], options: string[] = []): Promise<string> {
    const isolation = ["--rm", "--runtime", "runsc", "--network", "none", ...options];
    const entrypoint = command.slice(0, 1).flatMap((program) => ["--entrypoint", program]);
    const { stdout } = await promisify(execFile)("docker", [
      "run",
      ...isolation,
      ...entrypoint,
      reference,
      ...command.slice(1),
    ]);
    return stdout;
  }

  const runJavaScript = async (code: string, options?: string[]): Promise<unknown> =>
    JSON.parse(await run(["/usr/local/bin/node", "--input-type=module", "-e", code], options));

  beforeAll(() => build('process.stdout.write("the runner")'));

  afterAll(async () => {
    rmSync(directory, { recursive: true, force: true });
    for (const digest of made) await docker.getImage(digest).remove({ force: true });
  });

  test("runs the runner when it is given nothing to run", async () => {
    expect(await run([], ["--read-only"])).toBe("the runner");
  });

  test("is somebody without rights, in an empty directory, behind gVisor's kernel", async () => {
    const found = await runJavaScript(`
      import { readdirSync } from "node:fs";
      import { release, userInfo } from "node:os";
      const { uid, gid, username } = userInfo();
      console.log(JSON.stringify({ uid, gid, username, cwd: process.cwd(), files: readdirSync("."),
        major: process.versions.node.split(".")[0], kernel: release() }));
    `);
    expect(found).toMatchObject({
      uid: 65534,
      gid: 65534,
      username: "nobody",
      cwd: "/workspace",
      files: [],
      major: "24",
    });
    expect(found).not.toMatchObject({ kernel: release() });
  });

  test.runIf(hasPackages)(
    "has nothing that its user may change but /tmp, and no file that lends its owner's rights",
    async () => {
      const found = await runJavaScript(`
      import { accessSync, constants, lstatSync, readdirSync } from "node:fs";
      import { join } from "node:path";
      const writable = [], lending = [];
      let seen = 0;
      const walk = (path) => {
        const stat = lstatSync(path);
        if (stat.isSymbolicLink()) return;
        seen++;
        if (stat.isFile() && stat.mode & 0o6000) lending.push(path);
        try { accessSync(path, constants.W_OK); writable.push(path); } catch {}
        if (stat.isDirectory()) for (const name of readdirSync(path)) walk(join(path, name));
      };
      for (const name of readdirSync("/")) if (!["proc", "sys", "dev"].includes(name)) walk("/" + name);
      console.log(JSON.stringify({ writable, lending, enough: seen > 500 }));
    `);
      expect(found).toEqual({ writable: ["/tmp"], lending: [], enough: true });
    },
  );

  test.runIf(hasPackages)("has a Python whose modules load", async () => {
    const code =
      "import asyncio, hashlib, json, pwd, ssl, sqlite3, os; print(pwd.getpwuid(os.getuid()).pw_name)";
    expect(await run(["/usr/bin/python3", "-c", code], ["--read-only"])).toBe("nobody\n");
  });

  test("is left alone when nothing has changed, and built anew when the runner has", async () => {
    const first = await build("1");
    expect(await build("1")).toEqual({ ...first, built: false });
    const other = await build('process.stdout.write("another runner")');
    expect(other.built).toBe(true);
    expect(other.digest).not.toBe(first.digest);
    expect(await run()).toBe("another runner");
  });

  test("is not built on a base that nobody has", async () => {
    await expect(build("1", "ptc-no-such-base:1")).rejects.toMatchObject({ code: "base_unavailable" });
  });
});

test.runIf(hasPackages)("the same packages make the same base, to the byte", async () => {
  const digests: string[] = [];
  const hashing = {
    inspect: async () => undefined,
    async importRootfs({ tar }) {
      const hash = createHash("sha256");
      for await (const chunk of tar) hash.update(chunk);
      digests.push(hash.digest("hex"));
      return { digest: "" };
    },
  } satisfies Partial<ImageStore> as unknown as ImageStore;
  await ensureDebianBase(hashing, () => {});
  await ensureDebianBase(hashing, () => {});
  expect(digests).toHaveLength(2);
  expect(digests[0]).toBe(digests[1]);
});
