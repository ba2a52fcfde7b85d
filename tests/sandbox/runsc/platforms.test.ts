import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { chooseByCost, Platforms } from "../../../sandbox/runsc/platforms.ts";
import { newFolder } from "../../temporary-folder.ts";

beforeEach(() => vi.stubEnv("PTC_RUNSC_PLATFORM", ""));
afterEach(() => vi.unstubAllEnvs());

/** What an older and a newer runsc say of a platform that they do not have. */
const OLDER = `case "$*" in *--platform=ptrace*) echo 'unknown platform: ptrace' >&2; exit 128;; esac`;
const NEWER = `case "$*" in *--platform=ptrace*" run "*) echo 'running container: creating container: cannot create sandbox: cannot create sandbox process: cannot look up platform: unknown platform: ptrace' >&2; exit 128;; esac`;
/** What one says that starts a sandbox in which there is no program. */
const STARTS = "echo 'running container: starting container: failed to load /no-such-program' >&2; exit 128";

/** What is said where a user may make no namespace, a process or a file. */
const NOT_PERMITTED = "echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1";

/** A stand-in for runsc, and what counts how often it was called. What makes a namespace is stood in for too. */
function open(script: string, folder = newFolder()) {
  const bin = newFolder();
  const calls = join(bin, "calls");
  const become = (next: string) =>
    writeFileSync(join(bin, "runsc"), `#!/bin/sh\necho called >>${calls}\n${next}\n`, { mode: 0o755 });
  become(script);
  const skip = 'while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"';
  writeFileSync(join(bin, "unshare"), `#!/bin/sh\n${skip}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${bin}${delimiter}${process.env.PATH}`);
  return {
    platforms: new Platforms(folder, "this machine"),
    folder,
    become,
    runsc: { path: join(bin, "runsc"), identity: "one" },
    calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").split("\n").length - 1 : 0),
  };
}

describe("the platform", () => {
  test.each([
    ["has ptrace", STARTS, "", "ptrace", ["ptrace", "systrap"]],
    ["has none, and says so at once", OLDER, "", "systrap", ["systrap"]],
    ["has none, and says so when it starts a sandbox", NEWER, "", "systrap", ["systrap"]],
    ["says nothing", "exit 128", "", "ptrace", ["ptrace", "systrap"]],
    ["cannot be started", NOT_PERMITTED, "", "ptrace", ["ptrace", "systrap"]],
    ["is not asked, because a variable names one", OLDER, "kvm", "kvm", ["ptrace", "systrap"]],
  ])("of a runsc that %s", async (_, script, named, platform, all) => {
    vi.stubEnv("PTC_RUNSC_PLATFORM", named);
    const { platforms, runsc } = open(script);
    expect(await platforms.find(runsc)).toBe(platform);
    expect(await platforms.all(runsc)).toEqual(all);
  });

  test("is asked for once, also by later processes, until runsc is another", async () => {
    const { platforms, runsc, calls, folder } = open(NEWER);
    expect(platforms.known(runsc)).toBeUndefined();
    await Promise.all([platforms.find(runsc), platforms.find(runsc)]);
    const later = new Platforms(folder, "this machine");
    expect([later.known(runsc), await later.find(runsc), calls()]).toEqual(["systrap", "systrap", 1]);
    expect(await later.find({ ...runsc, identity: "other" })).toBe("systrap");
    expect(await new Platforms(folder, "another machine").find(runsc)).toBe("systrap");
    expect(calls()).toBe(3);
  });

  test("is asked for again where nothing can be kept, and where what is kept is broken", async () => {
    const { platforms, runsc, folder, calls } = open(NEWER, "/dev/null/none");
    expect(await platforms.find(runsc)).toBe("systrap");
    expect(await new Platforms(folder, "this machine").find(runsc)).toBe("systrap");
    expect(calls()).toBe(2);
  });

  test.each([
    ["may make no namespace", NOT_PERMITTED],
    ["has no memory for a process", "echo 'runsc: fork: Resource temporarily unavailable' >&2; exit 1"],
    ["says nothing", "exit 128"],
  ])("is asked for again where who asked %s, so that nothing was found out", async (_, failing) => {
    const { platforms, runsc, folder, calls, become } = open(failing);
    expect(await platforms.find(runsc)).toBe("ptrace");
    expect([platforms.known(runsc), readdirSync(folder)]).toEqual([undefined, []]);
    become(NEWER);
    expect(await platforms.find(runsc)).toBe("systrap");
    expect(new Platforms(folder, "this machine").known(runsc)).toBe("systrap");
    expect(calls()).toBe(2);
  });

  test.each([
    ["as it was asked for", false],
    ["as it was measured", true],
  ])(
    "is forgotten, %s, once a failure says that runsc lacks it, and after no other one",
    async (_, isMeasured) => {
      const { platforms, runsc, become } = open(STARTS);
      const cost = { bootMs: 1, callsMs: 1, memoryMs: 1 };
      expect(await platforms.find(runsc)).toBe("ptrace");
      if (isMeasured) {
        await platforms.note(runsc, [
          { ...cost, platform: "ptrace", bootMs: 100 },
          { ...cost, platform: "systrap" },
        ]);
      }
      const kept = isMeasured ? "systrap" : "ptrace";
      become(NEWER);
      platforms.doubt(runsc, "running container: starting container: no space left on device");
      expect(platforms.known(runsc)).toBe(kept);
      platforms.doubt(runsc, `the sandbox did not start: unknown platform: ${kept}`);
      expect(platforms.known(runsc)).toBeUndefined();
      expect(await platforms.find(runsc)).toBe("systrap");
      expect(await platforms.all(runsc)).toEqual(["systrap"]);
    },
  );

  test("that was measured stays when runsc answers later", async () => {
    const { platforms, runsc, folder } = open(`sleep 1; ${STARTS}`);
    const asked = platforms.find(runsc);
    const { runsc: quick, platforms: doctors, become } = open(STARTS, folder);
    const cost = { callsMs: 1, memoryMs: 1 };
    const costs = [
      { ...cost, platform: "ptrace" as const, bootMs: 100 },
      { ...cost, platform: "systrap" as const, bootMs: 10 },
    ];
    expect(quick.identity).toBe(runsc.identity);
    expect(await doctors.note(quick, costs)).toBe("systrap");
    become("exit 1");
    await asked;
    expect(platforms.known(runsc)).toBe("systrap");
  });

  test("replaces what was kept in one step, so that a reader sees the old or the new", async () => {
    const { platforms, runsc, folder } = open(STARTS);
    const costs = (ptrace: number, systrap: number) => [
      { platform: "ptrace" as const, bootMs: ptrace, callsMs: 1, memoryMs: 1 },
      { platform: "systrap" as const, bootMs: systrap, callsMs: 1, memoryMs: 1 },
    ];
    await platforms.note(runsc, costs(100, 1));
    const before = readdirSync(folder).map((name) => openSync(join(folder, name), "r"));
    await platforms.note(runsc, costs(1, 100));
    const old = before.map((file) => JSON.parse(readFileSync(file, "utf8")).platform);
    for (const file of before) closeSync(file);
    expect(old.toSorted()).toEqual(["ptrace", "systrap"]);
    expect(platforms.known(runsc)).toBe("ptrace");
  });

  test("is the one on which a measured program was done sooner, from then on and in later processes", async () => {
    const { platforms, runsc, folder } = open(STARTS);
    const costs = (callsMs: number) => [
      { platform: "ptrace" as const, bootMs: 100, callsMs: 300, memoryMs: 50 },
      { platform: "systrap" as const, bootMs: 140, callsMs, memoryMs: 60 },
    ];
    expect(await platforms.note(runsc, costs(240))).toBe("ptrace");
    expect(await platforms.note(runsc, costs(20))).toBe("systrap");
    expect(new Platforms(folder, "this machine").known(runsc)).toBe("systrap");
    expect(await platforms.note(runsc, costs(240))).toBe("systrap");
    expect(await platforms.note(runsc, costs(900))).toBe("ptrace");
  });

  test("stays as a variable names it, whatever was measured", async () => {
    vi.stubEnv("PTC_RUNSC_PLATFORM", "ptrace");
    const { platforms, runsc } = open(STARTS);
    const costs = [
      { platform: "ptrace" as const, bootMs: 100, callsMs: 300, memoryMs: 50 },
      { platform: "systrap" as const, bootMs: 10, callsMs: 3, memoryMs: 5 },
    ];
    expect(await platforms.note(runsc, costs)).toBe("ptrace");
    vi.stubEnv("PTC_RUNSC_PLATFORM", "");
    expect(platforms.known(runsc)).toBeUndefined();
  });

  test("is not chosen by costs of others", () => {
    expect(
      chooseByCost("kvm", [{ platform: "systrap", bootMs: 1, callsMs: 1, memoryMs: 1 }]),
    ).toBeUndefined();
    expect(chooseByCost("ptrace", [])).toBeUndefined();
  });
});
