import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { judgeWalls } from "../../../sandbox/walls/judge-walls.ts";
import { tryWalls } from "../../../sandbox/walls/try-walls.ts";
import { WASM_IMAGE, WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";
import { builtWasmRunner } from "./runner-files.ts";

const engine = new WasmEngine({ folder: await builtWasmRunner() });
afterAll(() => engine.close());

test("the walls that an interpreter has hold by experiment, and those that it lacks are named with what to do", async () => {
  const probe = readFileSync(join(import.meta.dirname, "../../../sandbox/walls/probe-wasm.js"), "utf8");
  const limits = { memoryMb: 256, cpus: 1, pids: 64 };
  const hostPaths = [process.execPath, "/etc/passwd"];
  const evidence = await tryWalls({
    ...{ engine, probe, hostPaths, limits, owner: "test", image: WASM_IMAGE, runtime: WASM_IMAGE },
  });
  const findings = judgeWalls(evidence, engine.advice.walls, engine.lacks);
  const lacking = findings.filter(({ verdict }) => verdict === "does not hold");
  expect(lacking.map(({ wall, required }) => [wall, required])).toEqual(
    Object.keys(engine.lacks).map((wall) => [wall, false]),
  );
  for (const { detail } of lacking) expect(detail).toContain("use an engine with gVisor");
  expect(findings.filter(({ verdict }) => verdict === "could not be told")).toEqual([]);
});
