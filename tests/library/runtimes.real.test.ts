import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, inject, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { newFolder } from "../temporary-folder.ts";
import { variablesIn } from "./open.ts";

usePtc();
const run = promisify(execFile);

const PROGRAM = `import { createPtc, tool } from "ptc";
const it = tool({ description: "It", execute: () => 41 });
const ptc = await createPtc({ tools: { it } });
const ran = await ptc.run("globalThis.result = await mcp__functions__it({})");
const replay = await ptc.replay(ran.envelope.run_id);
await ptc.close();
console.log(ran.value, replay.same);`;

/** Takes away what Deno lacks, in the process and in its threads. */
const LIKE_DENO = `import module from "node:module";
import { parentPort } from "node:worker_threads";
module.enableCompileCache = undefined;
if (parentPort !== null) {
  const close = parentPort.close.bind(parentPort);
  parentPort.close = undefined;
  globalThis.close = close;
}`;

function embedder(): string {
  const folder = newFolder();
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(join(inject("buildFolder"), "ptc"), join(folder, "node_modules/ptc"));
  writeFileSync(join(folder, "program.mjs"), PROGRAM);
  writeFileSync(join(folder, "like-deno.mjs"), LIKE_DENO);
  return folder;
}

describeSandboxed("ptc in a runtime with less than Node.js", () => {
  test("runs a program, archives it and ends", async () => {
    const folder = embedder();
    const args = ["--import", "./like-deno.mjs", "program.mjs"];
    const { stdout, stderr } = await run(process.execPath, args, { cwd: folder, env: variablesIn(folder) });
    expect({ stdout, stderr }).toEqual({ stdout: "41 true\n", stderr: "" });
  });
});

describeSandboxed("a bundle of an embedder's program", () => {
  async function bundled(external: string[]) {
    const folder = embedder();
    await build({
      ...{ absWorkingDir: folder, entryPoints: ["program.mjs"], outfile: "bundle.mjs", external },
      ...{ bundle: true, minify: true, platform: "node", format: "esm", logLevel: "silent" },
    });
    return run(process.execPath, ["bundle.mjs"], { cwd: folder, env: variablesIn(folder) });
  }

  test("runs with the package left outside", async () => {
    expect((await bundled(["ptc", "ptc/*"])).stdout).toBe("41 true\n");
  });

  test("says in one line what to leave outside where it holds ptc itself", async () => {
    await expect(bundled([])).rejects.toMatchObject({
      stderr: expect.stringMatching(
        /Error: ptc was bundled into another file, and cannot run there: .*--external:ptc --external:ptc\/\*/,
      ),
    });
  });
});
