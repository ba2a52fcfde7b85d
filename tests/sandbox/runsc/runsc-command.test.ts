import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  findProgram,
  findRunsc,
  isRoot,
  LaunchedSandbox,
  runscCommand,
  runscFlags,
  runscVersion,
} from "../../../sandbox/runsc/runsc-command.ts";
import { newFolder } from "../../temporary-folder.ts";

afterEach(() => vi.unstubAllEnvs());

/** Puts a stand-in for runsc on the path. */
function standIn(script: string): string {
  const folder = newFolder();
  const path = join(folder, "runsc");
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env.PATH}`);
  return path;
}

describe("a program of this machine", () => {
  test("is the first on the path that can be run", () => {
    const [one, two, three] = [newFolder(), newFolder(), newFolder()];
    mkdirSync(join(one, "it"));
    writeFileSync(join(two, "it"), "", { mode: 0o644 });
    writeFileSync(join(three, "it"), "", { mode: 0o755 });
    expect(findProgram("it", ["", one, two, three].join(delimiter))).toBe(join(three, "it"));
    expect(findProgram("it", [one, two].join(delimiter))).toBeUndefined();
    expect(findProgram("it", "")).toBeUndefined();
  });

  test("is itself where a path names it", () => {
    const path = join(newFolder(), "it");
    writeFileSync(path, "", { mode: 0o755 });
    expect(findProgram(path, "/nowhere")).toBe(path);
    chmodSync(path, 0o644);
    expect(findProgram(path, "/nowhere")).toBeUndefined();
  });
});

describe("runsc", () => {
  test("is another one when its file has changed", () => {
    const path = standIn("exit 0");
    const before = findRunsc(undefined, "install it");
    expect(before.path).toBe(path);
    expect(findRunsc(undefined, "install it")).toEqual(before);
    writeFileSync(path, "#!/bin/sh\nexit 10\n");
    const after = findRunsc(undefined, "install it");
    expect([after.path, after.identity === before.identity]).toEqual([path, false]);
  });

  test("that is not there is said to be missing, with what to do", () => {
    vi.stubEnv("PATH", newFolder());
    expect(() => findRunsc(undefined, "install it")).toThrow(
      expect.objectContaining({
        code: "runtime_missing",
        message: "there is no runsc on this machine; install it",
      }),
    );
  });

  test("that managed settings choose is not that of PATH, and root's alone", () => {
    const own = standIn("exit 0");
    expect(findRunsc(undefined, "install it").path).toBe(own);
    // What is in the folders of the system depends on the machine; what is in a temporary folder, others could have written.
    try {
      const found = findRunsc("system", "install it");
      expect(found.path).not.toBe(own);
      expect(found.unshare).toMatch(/^\//);
    } catch (error) {
      expect((error as Error).message).not.toContain(own);
    }
    expect(() => findRunsc(own, "install it")).toThrow(
      "is not used, because managed settings require isolation and others than root could have written",
    );
    expect(() => findRunsc("/nowhere/runsc", "install it")).toThrow(
      "there is no runsc at /nowhere/runsc; install it",
    );
  });

  test.each([
    ["printf 'runsc version release-20260101.0\\nspec: 1.1.0\\n'", "release-20260101.0"],
    ["echo release-1", "release-1"],
    ["exit 0", ""],
  ])("that says its version by `%s` has the version %j", async (script, version) => {
    standIn(`[ "$*" = --version ] || exit 1; ${script}`);
    expect(await runscVersion(findRunsc(undefined, ""))).toBe(version);
  });

  test("that cannot be run is said to be so", async () => {
    const path = standIn("exit 1");
    await expect(runscVersion(findRunsc(undefined, ""))).rejects.toMatchObject({
      code: "start_failed",
      message: `${path} cannot be run`,
    });
  });

  test("is called as root of this machine, or as root of a namespace of the user's own", () => {
    const runsc = { path: "/bin/runsc", identity: "" };
    const flags = runscFlags("/folder", "ptrace");
    const namespace = ["unshare", "--user", "--map-root-user", "--mount", "/bin/runsc"];
    expect(runscCommand(runsc, [...flags, "run", "id"], true)).toEqual(["/bin/runsc", ...flags, "run", "id"]);
    expect(runscCommand(runsc, [...flags, "restore", "id"], true)).toEqual([
      "/bin/runsc",
      ...flags,
      "restore",
      "id",
    ]);
    expect(runscCommand(runsc, [...flags, "run", "id"], false)).toEqual([
      ...namespace,
      "--rootless",
      ...flags,
      "run",
      "id",
    ]);
    expect(runscCommand(runsc, [...flags, "restore", "id"], false)).toEqual([
      ...namespace,
      ...flags.filter((flag) => flag !== "--directfs=false"),
      "restore",
      "id",
    ]);
    expect(isRoot).toBe(process.getuid?.() === 0);
    expect(runscCommand(runsc, ["run"])).toEqual(runscCommand(runsc, ["run"], isRoot));
  });

  test("is told where its files are, and to let a sandbox have nothing of this machine", () => {
    expect(runscFlags("/folder", "ptrace")).toEqual([
      ...["--root=/folder", "--platform=ptrace", "--network=none", "--host-uds=none", "--overlay2=none"],
      ...["--directfs=false", "--ignore-cgroups"],
    ]);
  });
});

describe("a sandbox's process", () => {
  test("says how it ended, whenever it is asked, and that twice", async () => {
    const exits = new LaunchedSandbox(["/bin/sh", "-c", "exit 5"], []);
    expect(await exits.ended()).toBe(5);
    expect(await exits.ended()).toBe(5);
    const killed = new LaunchedSandbox(["sleep", "600"], []);
    killed.kill();
    expect(await killed.ended()).toBeNull();
    expect(await killed.ended()).toBeNull();
    killed.kill();
  });

  test("enters its groups before it is runsc, and is none where it cannot", async () => {
    const entrance = join(newFolder(), "cgroup.procs");
    const entered = new LaunchedSandbox(["/bin/sh", "-c", "exit 5"], [entrance]);
    expect(await entered.ended()).toBe(5);
    const outside = new LaunchedSandbox(["/bin/sh", "-c", "exit 5"], [join(newFolder(), "no", "procs")]);
    expect(await outside.ended()).toBe(126);
  });

  test("has its complaints as one line, the last of many", async () => {
    const complains = `echo "first  line" >&2; i=0; while [ $i -lt 300 ]; do echo "it  is wrong" >&2; i=$((i + 1)); done`;
    const launched = new LaunchedSandbox(["/bin/sh", "-c", complains], []);
    await launched.ended();
    await expect.poll(() => launched.complaint).toMatch(/^[^\n]{1000,2000}it is wrong$/);
    expect(launched.complaint).not.toContain("first");
  });
});
