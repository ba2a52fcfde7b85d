import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { encodePythonBundle } from "../../../protocol/runners.ts";
import { findPyodide } from "../../../sandbox/wasm/pyodide.ts";
import { buildWasmRunner } from "../../../scripts/wasm-runner.ts";

/** Before a command, hides /proc from it. */
const WITHOUT_PROC = [
  "--user",
  "--map-root-user",
  "--mount",
  "sh",
  "-c",
  'mount -t tmpfs none /proc && exec "$@"',
  "sh",
];
const canHide = spawnSync("unshare", [...WITHOUT_PROC, "true"]).status === 0;
const missing = canHide ? "" : " (skipped: /proc cannot be hidden here)";

const sources = (path: string) => JSON.stringify(join(import.meta.dirname, "../../..", path));

const base = mkdtempSync(join(tmpdir(), "ptc-wasm-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));
/** What a URL, a shell or a pattern would read otherwise. */
const folder = join(base, "Ordner, mit #1 & 100%20 ü [x] (y)'s");
const runner = join(folder, "runner");
mkdirSync(folder);
await buildWasmRunner(runner);
const pyodide = findPyodide(import.meta.dirname) as { folder: string };
cpSync(pyodide.folder, join(folder, "node_modules/pyodide"), { recursive: true });

const PROGRAMS = [
  { runner: "javascript", bundle: "globalThis.result = ['js', new URL('https://a.example/b').host];" },
  {
    runner: "python",
    bundle: encodePythonBundle({ mode: "sync", source: "result = ['py']", file_name: "a.py", modules: {} }),
  },
] as const;

/** Runs both programs, in a process in which no socket has a name, and prints their claims. */
const SCRIPT = `
import { existsSync } from "node:fs";
import net from "node:net";
import { WasmEngine } from ${sources("sandbox/wasm/wasm-engine.ts")};
import { runProgram } from ${sources("tests/sandbox/wasm/run-program.ts")};
const refuse = () => { throw new Error("a socket with a name"); };
net.Server.prototype.listen = refuse;
net.Socket.prototype.connect = refuse;
const engine = new WasmEngine({ folder: process.argv[1], snapshots: process.argv[2] });
const claims = [];
for (const program of JSON.parse(process.argv[3])) claims.push((await runProgram(engine, program)).claim?.data);
console.log(JSON.stringify([existsSync("/proc/self"), claims]));
await engine.close();
process.exit();`;

describe.skipIf(!canHide)(`the engine of interpreters elsewhere${missing}`, () => {
  test("needs no /proc, no socket with a name, and no plain path", () => {
    const snapshots = join(base, "Schnapp schüsse #%");
    const command = [process.execPath, "--input-type=module-typescript", "--no-warnings", "-e", SCRIPT];
    const given = [runner, snapshots, JSON.stringify(PROGRAMS)];
    const ran = spawnSync("unshare", [...WITHOUT_PROC, ...command, ...given], { encoding: "utf8" });
    expect([ran.stdout.trim(), ran.stderr]).toEqual(['[false,[["js","a.example"],["py"]]]', ""]);
  });
});
