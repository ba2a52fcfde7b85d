import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { fixtureServer, usePtc } from "../cli/ptc-process.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { newFolder } from "../temporary-folder.ts";
import { variablesIn } from "./open.ts";

usePtc();
const run = promisify(execFile);

/** Uses everything that holds something open: servers, sandboxes of both languages, type checks, a question, an archive, a signal. */
const PROGRAM = (config: string) => `
import { createPtc, tool } from "ptc";
const wipe = tool({ description: "Wipes", annotations: { destructiveHint: true }, execute: () => "gone" });
const signal = new AbortController().signal;
const own = () => createPtc({ config: ${config}, tools: { wipe } });
const [ptc, other] = await Promise.all([own(), own()]);
const run = await ptc.run('globalThis.result = [await mcp__echo__echo({ text: "hi" }), await mcp__functions__wipe({})]', { approve: () => ({ allow: true }), signal, onEvent() {} });
const python = await ptc.run("result = 1 + 1", { language: "python" });
const waits = await other.run("await mcp__functions__wipe({})");
const replay = await ptc.replay(run.envelope.run_id);
await Promise.all([ptc.close(), other.close()]);
const open = () => process.getActiveResourcesInfo().filter((name) => /Process|TCP|Timeout|Worker|MessagePort/.test(name));
// What was killed is there until the system says that it has ended, and limits of time that nobody needs any more until they are over.
while (open().length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
console.log(JSON.stringify({ ok: run.ok, python: python.value, waits: waits.waiting !== undefined, same: replay.same, children: open() }));
`;

describeSandboxed("a process that has closed its ptc", () => {
  test("has nothing open that keeps it, ends by itself, and leaves nothing behind", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(join(inject("buildFolder"), "ptc"), join(folder, "node_modules/ptc"));
    const config = { servers: [fixtureServer("echo", "echo-v2.mjs")], languages: ["typescript", "python"] };
    writeFileSync(join(folder, "program.mjs"), PROGRAM(JSON.stringify(config)));
    const child = run(process.execPath, ["program.mjs"], { cwd: folder, env: variablesIn(folder) });
    const { stdout, stderr } = await child;
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({ ok: true, python: 2, waits: true, same: true, children: [] });
    const own = readdirSync(join(folder, "run")).flatMap((name) => readdirSync(join(folder, "run", name)));
    expect(own).toEqual([]);
    const processes = execFileSync("ps", ["-A", "-o", "args="], { encoding: "utf8" });
    expect(processes).not.toContain(folder);
    // Compiled code is kept for the next process, in the user's folder of caches.
    expect(readdirSync(join(folder, ".cache"))).toEqual(["ptc"]);
    expect(readdirSync(join(folder, ".cache/ptc"))).toEqual(["compiled"]);
    expect(readdirSync(folder).sort()).toEqual(
      [".cache", ".ptc", "node_modules", "program.mjs", "run", "state"].sort(),
    );
  });
});
