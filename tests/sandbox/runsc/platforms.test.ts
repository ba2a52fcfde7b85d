import { existsSync, readFileSync, writeFileSync } from "node:fs";
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
const STARTS = "echo 'running container: starting container: failed to load /none' >&2; exit 128";

/** A stand-in for runsc, and what counts how often it was called. What makes a namespace is stood in for too. */
function open(script: string, folder = newFolder()) {
  const bin = newFolder();
  const calls = join(bin, "calls");
  writeFileSync(join(bin, "runsc"), `#!/bin/sh\necho called >>${calls}\n${script}\n`, { mode: 0o755 });
  const skip = 'while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"';
  writeFileSync(join(bin, "unshare"), `#!/bin/sh\n${skip}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${bin}${delimiter}${process.env.PATH}`);
  return {
    platforms: new Platforms(folder, "this machine"),
    folder,
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
