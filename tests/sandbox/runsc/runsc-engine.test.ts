import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { RunscEngine } from "../../../sandbox/runsc/runsc-engine.ts";
import { newFolder } from "../../temporary-folder.ts";
import { keptOutput, NO_OUTPUT } from "../outputs.ts";

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

/** Has the engine build an image. @param files what its base has. */
async function build(engine: RunscEngine, files: readonly string[]) {
  const tree = newFolder();
  for (const name of files) {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    writeFileSync(join(tree, name), "");
  }
  const tar = join(newFolder(), "it.tar");
  execFileSync("tar", ["--create", `--file=${tar}`, `--directory=${tree}`, "."]);
  const images = await engine.openImages();
  await images.importRootfs({ tar: createReadStream(tar), reference: "base" });
  return images.build({
    ...{ reference: "ptc-runner", base: "base", contents: { content: `sha256:${"c".repeat(64)}` } },
    files: new Map([["runner.mjs", Buffer.from("the runner")]]),
    onProgress() {},
  });
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

  test("starts a sandbox of an image, and leaves nothing of one that has ended", async () => {
    const seen = join(newFolder(), "seen");
    const { engine, folder } = open(
      `echo "$*" >${seen}; for each; do case $each in --bundle=*) cp "\${each#--bundle=}/owner" ${seen}.owner;; esac; done; printf hello >&0; exit 5`,
    );
    const { digest: image } = await build(engine, ["etc/hosts"]);
    expect(await engine.findImage("ptc-runner")).toMatchObject({ digest: image });
    const told: string[] = [];
    const sandbox = await engine.start(
      { ...REQUEST, image, onRequested: () => told.push("asked") },
      NO_OUTPUT,
    );
    expect(told).toEqual(["asked"]);
    expect(await text(await sandbox.connected)).toBe("hello");
    expect(await sandbox.exited).toEqual({ code: 5 });
    await sandbox.removed();
    expect(readFileSync(seen, "utf8")).toMatch(
      new RegExp(`--network=none .* run --bundle=${folder}/${sandbox.id} ${sandbox.id}\n$`),
    );
    expect(readFileSync(`${seen}.owner`, "utf8")).toBe("test");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("says why a sandbox cannot have a folder", async () => {
    const { engine, folder } = open();
    const { digest: image } = await build(engine, ["etc/hosts"]);
    rmdirSync(folder);
    await expect(engine.start({ ...REQUEST, image }, NO_OUTPUT)).rejects.toMatchObject({
      code: "start_failed",
      message: expect.stringMatching(/^a sandbox cannot be started: ENOENT: .*mkdir/),
    });
  });
});

describe("sandboxes of another ptc", () => {
  const ID = "abcdef";

  /** A sandbox that another ptc has left, whose kernel is a process of the given name that waits for its input to end. */
  async function leave(name: string) {
    const base = newFolder();
    const options = { folder: join(base, "own"), runners: RUNNER_STARTS, allowsWeakerIsolation: true };
    const folders = { images: newFolder(), snapshots: newFolder() };
    const engine = new RunscEngine({ ...options, folders });
    const kernel = spawn("/bin/sh", ["-c", "echo; read line", ID], { argv0: name });
    onTestFinished(() => void kernel.kill("SIGKILL"));
    await once(kernel.stdout, "data");
    const folder = join(base, "other", ID);
    for (const place of [folder, join(base, "other", "logs"), join(base, "other", "012345")])
      mkdirSync(place, { recursive: true });
    writeFileSync(join(folder, "owner"), "another ptc");
    writeFileSync(join(base, "other", "logs", "owner"), "another ptc");
    const state = { sandbox: { pid: kernel.pid } };
    writeFileSync(join(folder, `${ID}_sandbox:${ID}.state`), JSON.stringify(state));
    return { engine, kernel, folder, other: join(base, "other") };
  }

  test("are listed by their folders, and removed with their kernels", async () => {
    const { engine, kernel, folder, other } = await leave("runsc-sandbox");
    const listed = await engine.list();
    expect(listed.filter(({ owner }) => owner === "another ptc")).toEqual([{ id: ID, owner: "another ptc" }]);
    expect(await engine.keepsKernelUnprivileged(ID)).toBe(process.getuid?.() !== 0);
    expect(await engine.keepsOutput()).toBe(false);
    const ended = once(kernel, "exit");
    await engine.remove(ID);
    expect(await ended).toEqual([null, "SIGKILL"]);
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(other).sort()).toEqual(["012345", "logs"]);
  });

  test("that are not there have no kernel, and are removed without an effect", async () => {
    const { engine, folder } = await leave("runsc-sandbox");
    expect(await engine.keepsKernelUnprivileged("fedcba")).toBeUndefined();
    await engine.remove("fedcba");
    expect(existsSync(folder)).toBe(true);
  });

  test("are removed without ending a process that is no kernel of theirs", async () => {
    const { engine, kernel, folder } = await leave("sh");
    expect(await engine.keepsKernelUnprivileged(ID)).toBeUndefined();
    await engine.remove(ID);
    expect(existsSync(folder)).toBe(false);
    kernel.stdin.end("\n");
    expect(await once(kernel, "exit")).toEqual([0, null]);
  });
});

/** A runner's hello, as its channel carries it. */
const HELLO = `printf '\\000\\000\\000\\020{"type":"hello"}' >&0`;
/** What a guard says when its program has ended: a claim of 28 characters, and exit code 0. */
const claims = (claim: string) =>
  `printf '1\\000\\000\\000\\034%s' "$(${claim})"; printf 'x\\000\\000\\000\\000'`;
const DRAWS = `printf '{"ok":true,"data":"%07d"}' $$`;

interface FakeSnapshots {
  restore?: string;
  checkpoint?: string;
}

describe.skipIf(process.getuid?.() !== 0)("a snapshot", () => {
  /** An engine with an image, whose runsc saves and restores as the test says. */
  async function openWith({
    restore = `${HELLO}; ${claims(DRAWS)}`,
    checkpoint = "for file in checkpoint pages pages_meta; do echo saved >$image/$file.img; done",
  }: FakeSnapshots = {}) {
    const restoring = join(newFolder(), "restoring");
    writeFileSync(restoring, restore);
    const { engine, folder } = open(`
      for each; do case $each in run|restore|checkpoint) verb=$each;; --image-path=*) image=\${each#*=};; esac; done
      case $verb in
        run) ${HELLO}; ${HELLO};;
        restore) . ${restoring};;
        checkpoint) ${checkpoint}; exit;;
      esac
      exec cat >/dev/null`);
    const { digest: image } = await build(engine, ["etc/hosts"]);
    return { engine, folder, request: { ...REQUEST, image }, restoring };
  }

  const NONE = "none yet: sandboxes are booted, and one is made when ptc serves or `ptc image build` runs";

  test("is made of a runner that has rehearsed, and sandboxes are restored from it", async () => {
    const { engine, folder, request } = await openWith();
    expect(await engine.describeSnapshot(request)).toBe(NONE);
    await engine.snapshot(request);
    expect(readdirSync(folder)).toEqual([]);
    expect(await engine.describeSnapshot(request)).toBe("sandboxes are restored from one");
    const { written, output } = keptOutput();
    const told: string[] = [];
    const restored = await engine.start({ ...request, onRequested: () => told.push("asked") }, output);
    expect(await restored.exited).toEqual({ code: 0 });
    expect(written.out).toMatch(/^{"ok":true,"data":"\d{7}"}$/);
    expect(told).toEqual(["asked"]);
    await restored.removed();
    restored.release();
    expect(await engine.describeSnapshot({ ...request, limits: { ...request.limits, pids: 65 } })).toBe(NONE);
  });

  test.each<[what: string, given: FakeSnapshots, why: string]>([
    [
      "from which two sandboxes draw the same",
      { restore: `${HELLO}; ${claims(`printf '{"ok":true,"data":"%07d"}' 7`)}` },
      "two sandboxes that are restored from it draw the same",
    ],
    [
      "in which programs fail",
      { restore: `${HELLO}; ${claims(`printf '{"ok":false,"why":"%07d"}' 7`)}` },
      'a sandbox that is restored from it fails: {"ok":false,"why":"0000007"}',
    ],
    [
      "that cannot be restored",
      { restore: "echo too old >&2; exit 1" },
      "the sandbox did not start: too old",
    ],
    ["that cannot be saved", { checkpoint: "exit 1" }, "Command failed: "],
  ])("%s is not used, which is counted", async (_, given, why) => {
    const { engine, folder, request } = await openWith(given);
    await expect(engine.snapshot(request)).rejects.toThrow(why);
    const described = await engine.describeSnapshot(request);
    expect(described.startsWith(`${NONE}; 1 failed, the last one because ${why}`), described).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("that fails later makes no sandbox fail, which is booted instead", async () => {
    const { engine, request, restoring } = await openWith();
    await engine.snapshot(request);
    writeFileSync(restoring, "exit 3");
    const booted = await engine.start(request, NO_OUTPUT);
    const [said] = await once(await booted.connected, "data");
    expect(String(said)).toContain("hello");
    expect(await engine.describeSnapshot(request)).toMatch(
      /; 1 failed, the last one because the sandbox did not start: runsc ended with exit code 3$/,
    );
    await booted.kill();
    await booted.removed();
    booted.release();
  });
});

describe("what an image needs to run while it is built", () => {
  function buildWith(script: string) {
    const { engine, folder } = open(script);
    const built = build(engine, ["usr/bin/python3", "usr/lib/python3.11/a.py", "etc/hosts"]);
    built.catch(() => {});
    return { built, folder };
  }

  test("runs as root in the image's own root, which it may write to, without a network", async () => {
    const seen = join(newFolder(), "seen");
    const { built, folder } = buildWith(
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
    const { built, folder } = buildWith(script);
    await expect(built).rejects.toMatchObject({
      code: "build_failed",
      message: expect.stringMatching(why),
    });
    expect(readdirSync(folder)).toEqual([]);
  });
});
