import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { buildServerModel } from "../../catalog/tool-model.ts";
import type { GeneratedModule } from "../../codegen/language-printer.ts";
import { PYTHON_PRINTER } from "../../codegen/python/python-printer.ts";
import type { ModuleSource } from "../../languages/module-source.ts";
import { createPythonTypeChecker } from "../../languages/python/type-check/type-check-python.ts";
import { renderAgentsSnippet } from "../../scripts/agents-snippet.ts";
import { listingOf } from "../codegen/list-tools.ts";
import { verdictOf } from "../languages/python/type-check/sample-stubs.ts";

const ROOT = join(import.meta.dirname, "../..");
const PLUGIN = join(ROOT, "plugin");
const root = mkdtempSync(join(tmpdir(), "ptc-plugin-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const SKILL = read("plugin/skills/programs/SKILL.md");

/** The programs of a language that a text shows. */
function programsIn(text: string, language: "ts" | "py"): string[] {
  const fenced = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)];
  return fenced.filter(([, named]) => named === language).map(([, , program = ""]) => program);
}

/** This repository's modules, as programs in Python see them. */
async function pythonModules(): Promise<ModuleSource> {
  const modules = new Map<string, GeneratedModule>();
  for (const { name, module, tools } of JSON.parse(read("generated/catalog.json")).servers) {
    const { server } = buildServerModel(listingOf(tools, name), module);
    const { text } = await PYTHON_PRINTER.printModule(server);
    const names = new Set(server.tools.map(({ namespacedName }) => namespacedName));
    modules.set(module, PYTHON_PRINTER.readModule(module, text, names));
  }
  return { modules: () => [...modules.keys()], load: async (module) => modules.get(module) };
}

/** What the type checker says of programs beside this repository's modules. */
function typeCheck(programs: readonly string[]): string {
  const folder = mkdtempSync(join(root, "programs-"));
  cpSync(join(ROOT, "generated"), join(folder, "generated"), { recursive: true });
  for (const [index, program] of programs.entries())
    writeFileSync(join(folder, `program-${index}.ts`), program);
  const compilerOptions = {
    rootDirs: [".", "./generated"],
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
  };
  const config = {
    extends: "./generated/tsconfig.json",
    compilerOptions,
    include: ["*.ts", "generated/*.d.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const run = spawnSync(process.execPath, [tsc, "-p", folder, "--noEmit"], { encoding: "utf8" });
  return `${run.stdout}${run.stderr}`;
}

describe("the skill", () => {
  it("shows programs whose types are right", () => {
    const programs = programsIn(SKILL, "ts");
    expect(programs).toHaveLength(5);
    expect(typeCheck(programs)).toBe("");
    const wrong = programs.map((program) => program.replace("head: 40", "heads: 40"));
    expect(typeCheck(wrong)).toContain("error TS");
  });

  it("shows a program in Python whose calls are right", async () => {
    const checker = createPythonTypeChecker({ limitMs: 60_000 });
    const modules = await pythonModules();
    const programs = programsIn(SKILL, "py");
    expect(programs).toHaveLength(1);
    const [program = ""] = programs;
    expect(await verdictOf(checker, modules, program)).toBe("clean");
    expect(await verdictOf(checker, modules, program.replace("head=1", "heads=1"))).toMatch(/^program\.py:/);
    await checker.close();
  });

  it("is the same for clients that read AGENTS.md", () => {
    expect(read("plugin/AGENTS.snippet.md")).toBe(renderAgentsSnippet(SKILL));
    expect(renderAgentsSnippet(SKILL)).toMatch(/^<!-- ptc: begin -->\n## Programs for ptc\n/);
  });

  it("names failures that there are", () => {
    const named = [...SKILL.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(
      ([, names = ""]) => names.match(/\w+/g) ?? [],
    );
    const known = read("protocol/failure.ts");
    expect(named.length).toBeGreaterThan(8);
    for (const name of named) expect(known).toContain(`"${name}"`);
  });
});

describe("the plugin", () => {
  it("has the version of ptc", () => {
    const version = JSON.parse(read("package.json")).version;
    expect(JSON.parse(read("plugin/.claude-plugin/plugin.json")).version).toBe(version);
  });

  it("has commands that name what there is", () => {
    const commands = readdirSync(join(PLUGIN, "commands")).sort();
    expect(commands).toEqual(["replay.md", "runs.md", "save.md"]);
  });
});

describe("the check at the start of a session", () => {
  /** Runs it in a folder, with a `ptc` that says something and ends with a code; without one for `undefined`. */
  function check(ptc: { says: string; code: number } | undefined, hasConfiguration = true): string {
    const folder = mkdtempSync(join(root, "session-"));
    const bin = join(folder, "bin");
    mkdirSync(bin);
    for (const tool of ["sh", "head", "tr", "sed"]) {
      const path = execFileSync("sh", ["-c", `command -v ${tool}`], { encoding: "utf8" }).trim();
      writeFileSync(join(bin, tool), `#!${tool === "sh" ? path : "/bin/sh"}\nexec ${path} "$@"\n`, {
        mode: 0o755,
      });
    }
    if (hasConfiguration) writeFileSync(join(folder, "ptc.yaml"), "servers: []\n");
    if (ptc !== undefined) {
      writeFileSync(join(folder, "said"), ptc.says);
      const script = `#!/bin/sh\n[ "$*" = "doctor --quick" ] || exit 9\nread -r line < "$PWD/said"; printf '%s\\n' "$line"\nexit ${ptc.code}\n`;
      writeFileSync(join(bin, "ptc"), script, { mode: 0o755 });
    }
    return execFileSync("/bin/sh", [join(PLUGIN, "hooks/check.sh")], {
      encoding: "utf8",
      env: { PATH: bin, CLAUDE_PROJECT_DIR: folder },
    });
  }

  it("says nothing when all is well, and where ptc is not used", () => {
    expect(check({ says: "", code: 0 })).toBe("");
    expect(check(undefined, false)).toBe("");
  });

  it.each([
    [{ says: 'there is no image "x" in C:\\y', code: 3 }, 'ptc: there is no image "x" in C:\\y'],
    [
      undefined,
      "ptc: ptc is not installed, or not on the PATH: install it with npm, and start Claude Code again",
    ],
  ])("says to person and model what is wrong: %j", (ptc, line) => {
    const said = check(ptc);
    expect(JSON.parse(said)).toEqual({
      systemMessage: line,
      hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: line },
    });
  });
});
