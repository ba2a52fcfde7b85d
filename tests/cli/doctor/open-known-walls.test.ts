import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadConfiguration } from "../../../configuration/load.ts";
import { openKnownWalls, refuseBrokenWalls } from "../../../wiring/open-known-walls.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";

test("what is known against the walls of an engine is refused with that engine, and nothing is left on disk", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-walls-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  const env = { XDG_RUNTIME_DIR: join(cwd, "run"), XDG_STATE_HOME: join(cwd, "state") };
  const configuration = await loadConfiguration({ flag: undefined, env, cwd });
  const { image, runtime } = configuration.sandbox;
  const engine = new InProcessEngine();
  const refuse = (asked: InProcessEngine) => refuseBrokenWalls(configuration, env, () => asked);
  await refuse(engine);
  const { digest } = await engine.findImage(image);
  await openKnownWalls(env).note({ engine, runtime, image: digest }, ["network"]);
  await expect(refuse(engine)).rejects.toMatchObject({ code: "wall_broken" });
  const other = new InProcessEngine();
  other.describe = async () => ({ ...(await engine.describe()), identity: "another" });
  await refuse(other);
  expect(readdirSync(join(cwd, "run")).flatMap((base) => readdirSync(join(cwd, "run", base)))).toEqual([]);
});
