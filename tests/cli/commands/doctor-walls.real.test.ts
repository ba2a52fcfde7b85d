import { join } from "node:path";
import { expect, test } from "vitest";
import { imageOf } from "../../../project/sandboxes/project-image.ts";
import { USUAL_SANDBOX } from "../../../project/sandboxes/sandboxes.ts";
import { KnownWalls } from "../../../sandbox/known-walls.ts";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { openTestedEngine } from "../../sandbox/tested-engine.ts";
import { envelopeOf, fixtureServer, usePtc } from "../ptc-process.ts";

const project = usePtc();

describeSandboxed("ptc doctor --walls", () => {
  test("tells of every wall on a line of its own, and as JSON", async () => {
    const folder = project();
    const env = { XDG_STATE_HOME: join(folder.directory, "state") };
    const told = await folder.ptc(["doctor", "--walls"], { env });
    expect(told).toMatchObject({ code: 0, stderr: "" });
    expect(told.stdout).toMatch(/^ok {4}network {10}a program cannot reach any network or port$/m);
    const { code, stdout } = await folder.ptc(["doctor", "--walls", "--json"], { env });
    expect(code).toBe(0);
    const { ok, walls } = JSON.parse(stdout) as { ok: boolean; walls: { wall: string; verdict: string }[] };
    expect(ok).toBe(true);
    expect(walls).toHaveLength(told.stdout.trimEnd().split("\n").length);
  });

  test("keeps ptc serve from starting where a wall is known not to hold", async () => {
    const folder = project({ "ptc.yaml": { servers: [fixtureServer("x", "documents.mjs")] } });
    const state = join(folder.directory, "state");
    const engine = openTestedEngine(state);
    const image = (await engine.findImage(imageOf(USUAL_SANDBOX).reference))?.digest ?? "";
    await new KnownWalls(join(state, "ptc/walls.json")).note({ engine, runtime: "runsc", image }, [
      "network",
    ]);
    const exited = await folder.ptc(["serve"], { env: { XDG_STATE_HOME: state } });
    expect(exited).toMatchObject({ code: 3, stdout: "" });
    expect(exited.stderr).toMatch(/^ptc: a wall that is required does not hold here: network; .*\n$/);
  });

  test("keeps ptc run from running anything where a wall is known not to hold", async () => {
    const folder = project();
    const state = join(folder.directory, "state");
    const engine = openTestedEngine(state);
    const image = (await engine.findImage(imageOf(USUAL_SANDBOX).reference))?.digest ?? "";
    const walls = new KnownWalls(join(state, "ptc/walls.json"));
    await walls.note({ engine, runtime: "runsc", image }, ["network"]);
    const exited = await folder.run("globalThis.result = 1;", [], { env: { XDG_STATE_HOME: state } });
    expect(exited.code).toBe(3);
    expect(envelopeOf(exited).result).toMatchObject({
      ok: false,
      error: { type: "SandboxUnavailable", message: expect.stringContaining("ptc doctor --walls") },
    });
  });
});
