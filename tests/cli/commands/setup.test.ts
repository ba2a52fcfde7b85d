import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { ProcessEngine } from "../../runner-image/process-engine.ts";
import { usePtcWithoutWalls, userProject } from "../in-process.ts";

/** An engine that has gVisor, or does not. */
class BareEngine extends ProcessEngine {
  hasRuntime = false;
  override describe = async () => ({
    ...{ version: "1", identity: "processes", profile: "none", endpoint: "here" },
    runtimes: new Map(this.hasRuntime ? [["runsc", { path: "/nowhere/runsc" }]] : []),
  });
}

const engine = new BareEngine();
usePtcWithoutWalls(engine);
beforeEach(() => {
  engine.hasRuntime = false;
});

/** A user's machine where the commands of set-up are scripts that write down what they are asked for. */
function bareMachine(exitCode = 0) {
  const project = userProject();
  const asked = join(project.folder, "asked");
  for (const name of ["sudo", "sh", "apt-get"])
    chmodSync(
      project.write(`~/bin/${name}`, `#!/bin/sh\necho "$0 $*" >>'${asked}'\necho said\nexit ${exitCode}\n`),
      0o755,
    );
  return { project, setup: (...args: string[]) => project.ptc("setup", ...args) };
}
/** Elsewhere other steps come out, which the tests of the plan are about. */
const isDebian = /^ID(?:_LIKE)?=.*\b(?:debian|ubuntu)\b/m.test(
  existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "",
);

describe.skipIf(!isDebian)("ptc setup", () => {
  test("only says what it would do with --print", async () => {
    const { project, setup } = bareMachine();
    const { code, stdout } = await setup("--print");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^This machine: /);
    expect(stdout).toMatch(/^1\. Install Docker and gVisor/m);
    expect(project.has("asked")).toBe(false);
  });

  test("does nothing where nobody can be asked, and says that with its exit code", async () => {
    const { project, setup } = bareMachine();
    expect(await setup()).toMatchObject({ code: 2, stdout: expect.stringContaining("1. Install Docker") });
    expect(project.has("asked")).toBe(false);
  });

  test("does each step with --yes, shows what it prints, and looks whether an engine is there", async () => {
    const { project, setup } = bareMachine();
    const { code, stdout } = await setup("--yes");
    expect(project.read("asked")).toMatch(/setup-engine\.sh$/m);
    expect(stdout).toContain("said\n");
    expect({ code, stdout }).toMatchObject({
      code: 3,
      stdout: expect.stringContaining("no engine with gVisor yet"),
    });
  });

  test("leaves an engine with gVisor alone", async () => {
    engine.hasRuntime = true;
    const { project, setup } = bareMachine();
    expect(await setup("--yes")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Nothing is to be done"),
    });
    expect(project.has("asked")).toBe(false);
  });

  test("ends with a step that fails", async () => {
    const { setup } = bareMachine(4);
    expect(await setup("--yes")).toMatchObject({ code: 1, stdout: expect.stringContaining("ended with 4") });
  });

  test("takes back with --undo", async () => {
    const { project, setup } = bareMachine();
    expect(await setup("--undo", "--yes")).toMatchObject({ code: 0 });
    expect(project.read("asked")).toMatch(/setup-engine\.sh --undo$/m);
  });

  test("is data with --json, and does nothing", async () => {
    const { project, setup } = bareMachine();
    const { stdout } = await setup("--json");
    expect(JSON.parse(stdout)).toMatchObject({ ready: null, steps: [{ command: expect.any(Array) }] });
    expect(project.has("asked")).toBe(false);
  });
});
