import { execFileSync } from "node:child_process";
import { createReadStream, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { RunscEngine } from "../../../sandbox/runsc/runsc-engine.ts";
import { newFolder } from "../../temporary-folder.ts";
import { NO_OUTPUT } from "../outputs.ts";

afterEach(() => vi.unstubAllEnvs());

/** An engine without gVisor: a script stands for runsc, and for what makes an ordinary user root of a namespace. */
function open(script = "exit 1") {
  const bin = newFolder();
  writeFileSync(join(bin, "runsc"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  writeFileSync(join(bin, "unshare"), '#!/bin/sh\nshift 3\nexec "$@"\n', { mode: 0o755 });
  vi.stubEnv("PATH", `${bin}${delimiter}${process.env.PATH}`);
  const folder = newFolder();
  const folders = { images: newFolder(), snapshots: newFolder() };
  const options = { folder, runners: RUNNER_STARTS, folders, allowsWeakerIsolation: true };
  return { engine: new RunscEngine(options), folder };
}

const REQUEST = {
  image: `sha256:${"1".repeat(64)}`,
  runtime: "runsc",
  runner: "javascript" as const,
  limits: { memoryMb: 128, cpus: 1, pids: 64 },
  owner: "test",
};

describe("the engine without an engine", () => {
  test("starts nothing but runsc, of an image that there is", async () => {
    const { engine, folder } = open();
    await expect(engine.start({ ...REQUEST, runtime: "runc" }, NO_OUTPUT)).rejects.toMatchObject({
      code: "runtime_missing",
      message: "without an engine there is no runtime but runsc, and sandbox.runtime is 'runc'",
    });
    await expect(engine.start(REQUEST, NO_OUTPUT)).rejects.toMatchObject({ code: "image_missing" });
    expect(await engine.findImage("ptc-runner")).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("what an image needs to run while it is built", () => {
  async function build(script: string) {
    const { engine, folder } = open(script);
    const tree = newFolder();
    for (const name of ["usr/bin/python3", "usr/lib/python3.11/a.py", "etc/hosts"]) {
      mkdirSync(dirname(join(tree, name)), { recursive: true });
      writeFileSync(join(tree, name), "");
    }
    const tar = join(newFolder(), "it.tar");
    execFileSync("tar", ["--create", `--file=${tar}`, `--directory=${tree}`, "."]);
    const images = await engine.openImages();
    await images.importRootfs({ tar: createReadStream(tar), reference: "base" });
    const files = new Map([["runner.mjs", Buffer.from("the runner")]]);
    const content = `sha256:${"c".repeat(64)}`;
    const built = images.build({ reference: "ptc-runner", base: "base", files, content, onProgress() {} });
    return { built, folder };
  }

  test("runs as root in the image's own root, which it may write to, without a network", async () => {
    const seen = join(newFolder(), "seen");
    const { built, folder } = await build(
      `for each; do case $each in --bundle=*) cat "\${each#--bundle=}/config.json" >${seen}; echo "$*" >${seen}.args;; esac; done`,
    );
    await built;
    const { process: own, root } = JSON.parse(readFileSync(seen, "utf8"));
    expect(own).toMatchObject({ user: { uid: 0, gid: 0 }, cwd: "/" });
    expect(own.args.slice(0, 3)).toEqual(["/usr/bin/python3", "-m", "compileall"]);
    expect(own).not.toHaveProperty("rlimits");
    expect(root).toEqual({ path: expect.stringMatching(/^\//), readonly: false });
    expect(readFileSync(`${seen}.args`, "utf8")).toContain("--network=none");
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    [
      "the last that runsc says",
      "echo first >&2; echo second >&2; echo last >&2; exit 1",
      /python3 failed: last$/,
    ],
    ["how it ended, where it says nothing", "exit 1", /python3 failed: Command failed: /],
  ])("fails with %s", async (_, script, why) => {
    const { built, folder } = await build(script);
    await expect(built).rejects.toMatchObject({
      code: "build_failed",
      message: expect.stringMatching(why),
    });
    expect(readdirSync(folder)).toEqual([]);
  });
});
