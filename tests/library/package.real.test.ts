import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { publint } from "publint";
import { beforeAll, describe, expect, inject, test } from "vitest";
import { usePtc } from "../cli/ptc-process.ts";
import { newFolder } from "../temporary-folder.ts";

usePtc();
const run = promisify(execFile);
const NODE_MODULES = join(import.meta.dirname, "../../node_modules");

interface Manifest {
  exports: Record<string, { types: string; default: string } | string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional: boolean }>;
}

describe("the package", () => {
  let built = "";
  let manifest: Manifest;
  beforeAll(() => {
    built = join(inject("buildFolder"), "ptc");
    manifest = JSON.parse(readFileSync(join(built, "package.json"), "utf8"));
  });

  test("has nothing that publint complains of", async () => {
    const { messages } = await publint({ pkgDir: built, pack: false, level: "warning" });
    expect(messages).toEqual([]);
  });

  test("has types that are right however it is imported as a module", async () => {
    const folder = newFolder();
    const pack = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
    const { stdout } = await run("npm", pack, { cwd: built });
    const attw = join(NODE_MODULES, "@arethetypeswrong/cli/dist/index.js");
    const tarball = join(folder, stdout.trim().split("\n").at(-1) ?? "");
    // What is not told of is the resolution of Node.js 10, and `require`, which Node.js does with modules by now.
    const args = [attw, tarball, "--profile", "esm-only", "--no-color", "--format", "json"];
    const checked = run(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
    const said = await checked.catch((error: { stdout: string }) => error);
    const { analysis, problems } = JSON.parse(said.stdout);
    expect(Object.keys(analysis.entrypoints)).toEqual(
      expect.arrayContaining([
        ".",
        "./ai-sdk",
        "./openai-agents",
        "./langchain",
        "./claude-agent-sdk",
        "./mcp",
      ]),
    );
    const told = Object.values(problems as Record<string, { resolutionKind: string }[]>)
      .flat()
      .filter(({ resolutionKind }) => resolutionKind !== "node10" && resolutionKind !== "node16-cjs");
    expect(told).toEqual([]);
  });

  test("exports this, which changes only as docs/versions.md says", async () => {
    const files = Object.entries(manifest.exports).flatMap(([name, each]) =>
      typeof each === "string" ? [] : [[name, each.types] as const],
    );
    const own = [...files, ["./dist/library/api.js", "./dist/library/api.d.ts"] as const];
    const texts = own.map(([name, file]) => {
      const text = readFileSync(join(built, file), "utf8");
      return `// ${name}\n${text.replace(/^\s*\/\*\*[\s\S]*?\*\/\n/gm, "").trim()}\n`;
    });
    await expect(texts.join("\n")).toMatchFileSnapshot("public-api.txt");
  });

  test("documents everything that it exports", () => {
    const text = readFileSync(join(built, "dist/library/api.d.ts"), "utf8");
    const bare = [...text.matchAll(/(?<!\*\/\n)^export (?:declare )?\w+ \w+/gm)].map(([line]) => line);
    expect(bare).toEqual([]);
  });

  test("takes each SDK as an optional peer, and loads none of them by itself", async () => {
    for (const name of Object.keys(manifest.peerDependencies))
      expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true });
    const entry = join(built, "dist/library/ptc.js");
    const hooks = `
      import { registerHooks } from "node:module";
      registerHooks({ resolve(name, context, next) {
        if (${JSON.stringify(Object.keys(manifest.peerDependencies))}.some((peer) => name === peer || name.startsWith(peer + "/"))) throw new Error("loads " + name);
        return next(name, context);
      } });
      const { createPtc } = await import(${JSON.stringify(entry)});
      console.log(typeof createPtc);`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", hooks]);
    expect(stdout.trim()).toBe("function");
  });

  test("is found by its name from a folder that has it", () => {
    const require = createRequire(join(built, "package.json"));
    expect(require.resolve("ptc/mcp")).toBe(join(built, "dist/library/adapters/mcp.js"));
  });
});
