import { beforeAll, describe, expect, test } from "vitest";
import { openWasmEngine } from "../sandbox/wasm/runner-files.ts";
import { usePtcWithoutWalls } from "./in-process.ts";
import { envelopeOf, fixtureServer, type Project } from "./ptc-process.ts";

const newProject = usePtcWithoutWalls(await openWasmEngine());
let project: Project;

beforeAll(async () => {
  project = newProject();
  project.write("ptc.yaml", {
    servers: [fixtureServer("w", "counts-calls.mjs", ["calls"])],
    sandbox: { engine: "wasm", warm: 0 },
  });
  await project.generate();
});

describe("with the engine wasm", () => {
  test("a program calls tools, and envelope and record name the engine", async () => {
    const { envelope } = await project.run(
      'import { note } from "./servers/w/index.js"; console.log(await note({ id: "1" })); globalThis.result = { at: Date.now(), random: Math.random() };',
      ["--approve", "mcp__w__*"],
    );
    expect(envelope).toMatchObject({
      sandbox_engine: "wasm",
      approval_state: "APPROVED",
      result: { ok: true, metrics: { tool_calls: 1 } },
    });
    const { stdout } = await project.ptc(["runs", "show", envelope.run_id, "--json"]);
    expect(stdout).toContain('"sandbox_engine":"wasm"');
    const replayed = await project.ptc(["replay", envelope.run_id]);
    expect([replayed.code, replayed.stderr]).toMatchObject([0, expect.stringContaining("same: 1 call")]);
  });

  test("a call that may change something waits for a person, and the program goes on with the answer", async () => {
    const first = await project.run(
      `import { note } from "./servers/w/index.js";
      const seen = { at: Date.now(), random: Math.random(), id: crypto.randomUUID() };
      console.log(JSON.stringify(seen));
      await note({ id: "x" });
      globalThis.result = seen;`,
      ["--suspend"],
    );
    expect(first.envelope.result).toMatchObject({ error: { type: "ApprovalPending" } });
    const [{ ticket }] = JSON.parse((await project.ptc(["approvals", "list", "--json"])).stdout);
    expect((await project.ptc(["approvals", "approve", ticket])).code).toBe(0);
    const resumed = envelopeOf(await project.ptc(["run", "--ticket", ticket]));
    const [seen = ""] = /\{"at".*\}/.exec(first.stderr) ?? [];
    expect(resumed.result).toMatchObject({ ok: true, data: JSON.parse(seen) });
  });

  test.each([
    [
      "Intl",
      "globalThis.result = new Intl.NumberFormat('de').format(1);",
      "TypeCheckError",
      "'Intl' is not in this engine",
    ],
    [
      "fetch",
      "globalThis.result = await fetch('http://127.0.0.1');",
      "TypeCheckError",
      "'fetch' is not in this engine",
    ],
    [
      "a module of Node.js",
      "import fs from 'node:fs'; globalThis.result = fs;",
      "BundleError",
      "'node:fs' is not in this engine",
    ],
  ])("%s is refused by its name before a program runs", async (_what, code, type, message) => {
    const { envelope } = await project.run(code);
    expect(envelope).toMatchObject({ sandbox_image: null, result: { error: { type } } });
    expect(JSON.stringify(envelope.result)).toContain(message);
  });

  test("a name that the program declares itself is the program's", async () => {
    const { envelope } = await project.run(
      "const fetch = (x: number) => x + 1; const o = { Intl: 2 }; globalThis.result = [fetch(1), o.Intl, typeof Blob];",
    );
    expect(envelope.result).toMatchObject({ ok: true, data: [2, 2, "undefined"] });
  });

  test("a run of another engine is not replayed, and the reason says with which it is", async () => {
    const { envelope } = await project.run("globalThis.result = 1;");
    project.write("other.yaml", {
      servers: [],
      sandbox: { engine: "docker" },
      archive: { path: ".ptc/archive.db" },
    });
    const other = await project.ptc(["replay", envelope.run_id, "--config", "other.yaml"]);
    expect(other.code).not.toBe(0);
  });

  test("a Python program calls tools, replays, and goes on with the answer that a person gave", async () => {
    const python = newProject();
    python.write("ptc.yaml", {
      servers: [fixtureServer("w", "counts-calls.mjs", ["calls"])],
      languages: ["python"],
      sandbox: { engine: "wasm", warm: 0 },
    });
    await python.generate();
    const source = `
import json, random, time, uuid
from servers.w import note

seen = {"at": time.time(), "random": random.random(), "id": str(uuid.uuid4())}
print(json.dumps(seen))
note(id="x")
result = seen
`;
    const live = envelopeOf(await python.ptc(["run", "-", "--approve", "mcp__w__*"], { stdin: source }));
    expect(live).toMatchObject({ sandbox_engine: "wasm", result: { ok: true, metrics: { tool_calls: 1 } } });
    const failed = await python.ptc(["run", "-"], { stdin: "import pandas" });
    expect(failed.stderr).toContain("no packages: `sandbox.python_packages` needs an engine");
    const replayed = await python.ptc(["replay", live.run_id]);
    expect([replayed.code, replayed.stderr]).toMatchObject([0, expect.stringContaining("same: 1 call")]);
    const first = await python.ptc(["run", "-", "--suspend"], { stdin: source });
    expect(envelopeOf(first).result).toMatchObject({ error: { type: "ApprovalPending" } });
    const [{ ticket }] = JSON.parse((await python.ptc(["approvals", "list", "--json"])).stdout);
    expect((await python.ptc(["approvals", "approve", ticket])).code).toBe(0);
    const resumed = envelopeOf(await python.ptc(["run", "--ticket", ticket]));
    const [seen = ""] = /\{"at".*\}/.exec(first.stderr) ?? [];
    expect(resumed.result).toMatchObject({ ok: true, data: JSON.parse(seen) });
  });
});
