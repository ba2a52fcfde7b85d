import { execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { encodeFrame } from "../../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../../protocol/limits.ts";
import { findCgroups, SandboxGroup } from "../../../sandbox/runsc/cgroups.ts";
import { RunscEngine } from "../../../sandbox/runsc/runsc-engine.ts";
import { runscFolders } from "../../../sandbox/runsc/runsc-folders.ts";
import type { SandboxExit } from "../../../sandbox/sandbox.ts";
import { SandboxStarter } from "../../../sandbox/sandbox-starter.ts";
import { eventually } from "../../eventually.ts";
import { kernelsOf } from "../containers-of.ts";
import { describeSandboxed } from "../in-sandbox.ts";
import { keptOutput } from "../outputs.ts";

const OWNER = `runsc-engine-${process.pid}`;
const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };
const RESTORED = "sandboxes are restored from one";

describeSandboxed("sandboxes without an engine", () => {
  let base = "";
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "ptc-n-"));
    mkdirSync(join(base, "run"));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    // A snapshot that the engine makes by itself, 3 s after a boot, has a sandbox of its own for a while.
    await eventually(() => expect(groupsOf(OWNER)).toEqual([]));
    rmSync(base, { recursive: true, force: true });
  });

  const open = (folder = join(base, "run")) =>
    new RunscEngine({
      folder,
      runners: RUNNER_STARTS,
      folders: { images: runscFolders().images, snapshots: join(base, "snapshots") },
    });

  async function requestFor(engine: RunscEngine, limits = LIMITS) {
    const image = (await engine.findImage(process.env.PTC_TEST_IMAGE ?? "ptc-runner"))?.digest ?? "";
    return { image, runtime: "runsc", runner: "javascript", limits, owner: OWNER } as const;
  }

  /** Runs a program to the end of its sandbox. @param meanwhile is done when it has printed something. */
  async function run(
    engine: RunscEngine,
    bundle: string,
    { limits = LIMITS, meanwhile = async (_id: string) => {} } = {},
  ): Promise<{ exit: SandboxExit; out: string }> {
    const { written, output } = keptOutput();
    const started = await engine.start(await requestFor(engine, limits), output);
    const channel = await started.connected;
    channel.resume();
    const program = { type: "program", bundle, data: {}, max_output_bytes: 9_999, max_stderr_bytes: 9_999 };
    channel.write(encodeFrame(program, MAX_REPLY_FRAME_BYTES));
    if (bundle.includes("'started'")) await eventually(() => expect(written.err).toContain("started"));
    await meanwhile(started.id);
    const exit = await started.exited;
    await started.removed();
    started.release();
    return { exit, out: written.out };
  }

  const TWO = "globalThis.result = 2;";
  const snapshots = () => readdirSync(join(base, "snapshots")).filter((name) => !name.endsWith(".platform"));

  test("are booted where a snapshot cannot be restored, which is counted and told", async () => {
    const engine = open();
    await engine.snapshot(await requestFor(engine));
    const [key = ""] = snapshots();
    const file = join(base, "snapshots", key, "checkpoint.img");
    writeFileSync(file, "no state of a kernel");
    const about = join(base, "snapshots", key, "snapshot.json");
    const said = JSON.parse(readFileSync(about, "utf8"));
    said.digests["checkpoint.img"] = createHash("sha256").update(readFileSync(file)).digest("hex");
    writeFileSync(about, JSON.stringify(said));
    const next = open();
    expect(await next.describeSnapshot(await requestFor(next))).toBe(RESTORED);
    expect((await run(next, TWO)).out).toContain('"data":2');
    expect(await next.describeSnapshot(await requestFor(next))).toMatch(
      /^none yet: .*; 1 failed, the last one because /,
    );
    await next.snapshot(await requestFor(next));
    expect(await next.describeSnapshot(await requestFor(next))).toMatch(
      /^sandboxes are restored from one; 1 failed/,
    );
  });

  test("count no failure against a snapshot where one cannot have its folder", async () => {
    const engine = open();
    const request = await requestFor(engine);
    rmSync(join(base, "run"), { recursive: true });
    for (let tries = 0; tries < 3; tries++)
      await expect(engine.snapshot(request)).rejects.toThrow("a sandbox cannot be started: ENOENT");
    mkdirSync(join(base, "run"));
    expect(await engine.describeSnapshot(request)).toMatch(/^none yet: (?!.*failed)/);
    await engine.snapshot(request);
    expect(await engine.describeSnapshot(request)).toBe(RESTORED);
  });

  test("are not taken from a snapshot whose files are no longer what was written", async () => {
    const engine = open();
    await engine.snapshot(await requestFor(engine));
    const [key = ""] = snapshots();
    const pages = join(base, "snapshots", key, "pages.img");
    const bytes = readFileSync(pages);
    bytes.write("the memory of a stranger", bytes.length - 64);
    writeFileSync(pages, bytes);
    expect((await run(open(), TWO)).out).toContain('"data":2');
    expect(snapshots()).toEqual([]);
  });

  test.each([
    ["which an older one says at once", "unknown platform: ptrace", "*--platform=ptrace*"],
    [
      "which a newer one says when it starts a sandbox",
      "running container: creating container: cannot create sandbox: cannot create sandbox process: cannot look up platform: unknown platform: ptrace",
      '*--platform=ptrace*" run "*',
    ],
  ])("run with a runsc that has no ptrace, %s, booted and restored", async (_, says, when) => {
    const bin = join(base, "bin");
    mkdirSync(bin);
    const found = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "runsc"));
    const runsc = found.find((path) => existsSync(path)) ?? "";
    const refuses = `case "$*" in ${when}) echo "${says}" >&2; exit 128;; esac`;
    writeFileSync(join(bin, "runsc"), `#!/bin/sh\n${refuses}\nexec ${runsc} "$@"\n`, { mode: 0o755 });
    vi.stubEnv("PATH", `${bin}${delimiter}${process.env.PATH}`);
    vi.stubEnv("PTC_RUNSC_PLATFORM", "");
    const engine = open();
    expect((await run(engine, TWO)).out).toContain('"data":2');
    await engine.snapshot(await requestFor(engine));
    const next = open();
    expect(await next.describeSnapshot(await requestFor(next))).toBe(RESTORED);
    expect((await run(next, TWO)).out).toContain('"data":2');
    const { profile } = await next.describe();
    vi.stubEnv("PATH", (process.env.PATH ?? "").slice(bin.length + 1));
    expect((await open().describe()).profile).not.toBe(profile);
  });

  test("are measured on each platform that runsc has, and use what was found", async () => {
    vi.stubEnv("PTC_RUNSC_PLATFORM", "");
    const engine = open();
    const { image } = await requestFor(engine);
    const said = (await engine.measurePlatforms({ image, owner: OWNER })) ?? "";
    const each =
      "boots Node.js in [0-9]+ ms, makes 10,000 system calls in [0-9]+ ms and fills 64 MB in [0-9]+ ms";
    expect(said).toMatch(new RegExp(`^(ptrace|systrap) is used: ptrace ${each}; systrap ${each}$`));
    process.stderr.write(`${said}\n`);
    expect((await run(engine, TWO)).out).toContain('"data":2');
    const [used = ""] = said.split(" ");
    const { profile } = await open().describe();
    vi.stubEnv("PTC_RUNSC_PLATFORM", used);
    expect((await open().describe()).profile).toBe(profile);
    expect(readdirSync(join(base, "run"))).toEqual([]);
  });

  /** Puts a runsc first in PATH that does something before it is the one that was found. */
  function wrapRunsc(before: string): void {
    const bin = mkdtempSync(join(base, "bin-"));
    const found = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "runsc"));
    const runsc = found.find((path) => existsSync(path)) ?? "";
    writeFileSync(join(bin, "runsc"), `#!/bin/sh\n${before}\nexec ${runsc} "$@"\n`, { mode: 0o755 });
    vi.stubEnv("PATH", `${bin}${delimiter}${process.env.PATH}`);
  }

  test("are measured each by itself, and the platform that does not work is told", async () => {
    vi.stubEnv("PTC_RUNSC_PLATFORM", "");
    wrapRunsc(
      'case "$*" in *--platform=systrap*" run "*) echo "cannot create subprocess: EPERM" >&2; exit 128;; esac',
    );
    const engine = open();
    const { image } = await requestFor(engine);
    const said = await engine.measurePlatforms({ image, owner: OWNER });
    expect(said).toMatch(
      /^ptrace is used: ptrace boots .* MB in [0-9]+ ms; systrap does not work here: cannot create subprocess: EPERM$/,
    );
  });

  test("find another platform after a start that says that runsc has not the noted one", async () => {
    vi.stubEnv("PTC_RUNSC_PLATFORM", "");
    const lost = join(base, "lost");
    wrapRunsc(
      `case "$*" in *--platform=ptrace*) [ -e ${lost} ] && { echo "unknown platform: ptrace" >&2; exit 128; };; esac`,
    );
    const engine = open();
    await requestFor(engine);
    await engine.describe();
    expect((await run(engine, TWO)).out).toContain('"data":2');
    writeFileSync(lost, "");
    const failed = await engine.start(await requestFor(engine), keptOutput().output);
    await expect(failed.connected).rejects.toThrow("unknown platform: ptrace");
    await failed.removed();
    failed.release();
    expect((await run(engine, TWO)).out).toContain('"data":2');
  });

  test("leave what the sweep finds where who measures platforms is killed", async () => {
    vi.stubEnv("PTC_RUNSC_PLATFORM", "");
    const [begun, ends] = ["begun", "ends"].map((name) => join(base, name)) as [string, string];
    wrapRunsc(
      `case "$*" in *" run "*/run/*) touch ${begun}; while [ ! -e ${ends} ]; do sleep 0.05; done; exit 1;; esac`,
    );
    mkdirSync(join(base, "run", "process"));
    const engine = open(join(base, "run", "process"));
    const { image } = await requestFor(engine);
    const measuring = engine.measurePlatforms({ image, owner: OWNER });
    await eventually(() => expect(existsSync(begun)).toBe(true));
    const sweeper = open(join(base, "run", "sweeper"));
    const left = (await sweeper.list()).filter(({ owner }) => owner === OWNER);
    for (const { id } of left) await sweeper.remove(id);
    expect([left.length, readdirSync(join(base, "run", "process"))]).toEqual([1, []]);
    writeFileSync(ends, "");
    await measuring;
  });

  test("are started by the runsc that is there now, and restored from none that another one made", async () => {
    const bin = join(base, "bin");
    mkdirSync(bin);
    const found = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "runsc"));
    const runsc = found.find((path) => existsSync(path)) ?? "";
    copyFileSync(runsc, join(bin, "runsc"));
    vi.stubEnv("PATH", `${bin}${delimiter}${process.env.PATH}`);
    const engine = open();
    await engine.snapshot(await requestFor(engine));
    const { identity } = await engine.describe();
    rmSync(join(bin, "runsc"));
    copyFileSync(runsc, join(bin, "runsc"));
    expect((await engine.describe()).identity).not.toBe(identity);
    expect(await engine.describeSnapshot(await requestFor(engine))).toMatch(/^none yet/);
    expect((await run(engine, TWO)).out).toContain('"data":2');
    vi.stubEnv("PATH", "/nowhere");
    await expect(run(engine, TWO)).rejects.toMatchObject({ code: "runtime_missing" });
  });

  test("of another image, or of one that is gone, are refused", async () => {
    const engine = open();
    const request = { ...(await requestFor(engine)), image: `sha256:${"0".repeat(64)}` };
    await expect(engine.start(request, keptOutput().output)).rejects.toMatchObject({ code: "image_missing" });
    const source = new SandboxStarter({ ...request, engine, image: "ptc-no-such-image" });
    await expect(source.acquire(keptOutput().output)).rejects.toThrow("run `ptc image build`");
  });

  test.skipIf(process.getuid?.() !== 0)("say so where the disk is full, and leave nothing", async () => {
    const full = join(base, "full");
    mkdirSync(full);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=4k,nr_inodes=4", "tmpfs", full]);
    try {
      const engine = open(full);
      await expect(run(engine, TWO)).rejects.toMatchObject({
        code: "start_failed",
        message: expect.stringMatching(/^a sandbox cannot be started: ENOSPC/),
      });
      expect(readdirSync(full)).toEqual([]);
    } finally {
      execFileSync("umount", [full]);
    }
  });

  test("say by their group's own counters that the memory was full", async () => {
    const hungry = "const kept = []; for (;;) kept.push(Buffer.alloc(16 * 1024 * 1024, 1));";
    const { exit } = await run(open(), hungry, { limits: { ...LIMITS, memoryMb: 192 } });
    expect(exit).toEqual({ code: 137 });
  });

  test("say that somebody else has killed them", async () => {
    const { exit } = await run(open(), "console.error('started'); for (;;) {}", {
      async meanwhile(id) {
        for (const pid of kernelsOf(id)) process.kill(pid, "SIGKILL");
      },
    });
    expect(exit).toEqual({ code: 137, isKilledByOthers: true });
  });

  test("say that a program has killed itself", async () => {
    const { exit } = await run(open(), "process.kill(process.pid, 'SIGKILL');");
    expect(exit).toEqual({ code: 123 });
  });

  test("of a ptc that is killed end by themselves, and the next one removes what they leave", async () => {
    const holder = spawn(
      process.execPath,
      [join(import.meta.dirname, "../pool/fixtures/pool-holder.ts"), join(base, "state")],
      { env: { ...process.env, PTC_ENGINE: "runsc" } },
    );
    try {
      const [line] = await once(holder.stdout, "data");
      const owner = String(line).trim();
      const next = open(join(base, "state", "next"));
      const owned = async () =>
        (await next.list()).filter((each) => each.owner === owner).map(({ id }) => id);
      await eventually(async () => expect(await owned()).toHaveLength(2));
      const ids = await owned();
      await eventually(() => expect(ids.flatMap(kernelsOf)).toHaveLength(2));
      holder.kill("SIGKILL");
      await eventually(() => expect(ids.flatMap(kernelsOf)).toEqual([]));
      for (const id of await owned()) await next.remove(id);
      expect(await owned()).toEqual([]);
      expect(groupsOf(owner)).toEqual([]);
      expect(readdirSync(join(base, "state", owner)).filter((name) => ids.includes(name))).toEqual([]);
    } finally {
      holder.kill("SIGKILL");
    }
  });
});

/** Ids of sandboxes whose groups are there, with or without processes. */
function groupsOf(owner: string): string[] {
  const hierarchy = findCgroups();
  if (hierarchy.version === undefined) return [];
  return SandboxGroup.list(hierarchy).flatMap((group) => (group.owner === owner ? [group.id] : []));
}
