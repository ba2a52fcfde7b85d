import { describe, expect, it } from "vitest";
import { bundleProgram } from "../../../../languages/typescript/bundling/bundle.ts";
import { modulesOf } from "../../module-texts.ts";

const MODULE = `
import { tool } from "../../runtime.js";
export const readFile = tool<{ path: string }, any>("mcp__files__read_file");
export const readDir = tool<ReadDirInput, any>("mcp__files__read-dir");
export const copyFile = tool<CopyFileInput, any>("mcp__files__copy-file");
export const copyFile_1 = tool<CopyFile1Input, any>("mcp__files__copy.file");
export const stat = tool<StatInput, any>("mcp__files__stat");
export const stat_2 = tool<Stat2Input, any>("mcp__files__sta.t");
`;

const source = {
  ...modulesOf({ files: MODULE, broken: "// ok\nexport const = 1;" }),
  modules: () => ["broken", "files", "google_drive"],
};

const bundle = (code: string, language = "typescript") =>
  bundleProgram({ code, data: {}, language, fileName: "report.ts" }, source);

let evaluated = 0;

/** Runs a bundle here, with a runner that only notes what is called. */
async function run(code: string): Promise<{ value: unknown; called: unknown[] }> {
  const outcome = await bundle(code);
  if (!outcome.ok) throw new Error(outcome.message);
  const called: unknown[] = [];
  const key = Symbol.for("ptc.tool");
  Reflect.set(globalThis, key, (name: string) => (args: unknown) => {
    called.push([name, args]);
    return name;
  });
  // Equal text would be one module, evaluated once.
  const text = `${outcome.bundle}\n// ${evaluated++}`;
  await import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
  Reflect.deleteProperty(globalThis, key);
  return { value: Reflect.get(globalThis, "value"), called };
}

describe("bundling a program", () => {
  it.each([
    "./servers/files/index.js",
    "./servers/files/index.ts",
    "./servers/files",
    "servers/files/index.js",
  ])("takes a generated module from %s", async (path) => {
    const { called } = await run(`import * as files from "${path}"; files.readFile({ path: "a" });`);
    expect(called).toEqual([["mcp__files__read_file", { path: "a" }]]);
  });

  it("gives every tool by its namespaced name, known or not, for the broker to judge", async () => {
    const { called } = await run("mcp__files__read_file({}); mcp__no__such(1);");
    expect(called).toEqual([
      ["mcp__files__read_file", {}],
      ["mcp__no__such", 1],
    ]);
  });

  it.each([
    ["mcp__files__read_dir", "characters that identifiers lack written as _"],
    ["mcp__files__readDir", "the function's name"],
  ])("gives a tool whose name is no identifier as %s: %s", async (name) => {
    const { called } = await run(`${name}({ path: "a" });`);
    expect(called).toEqual([["mcp__files__read-dir", { path: "a" }]]);
  });

  it("gives a tool by its exact name, whatever others could be called", async () => {
    const exact = MODULE.replace("mcp__files__stat", "mcp__files__sta_t");
    const outcome = await bundleProgram(
      { code: "mcp__files__sta_t();", data: {}, language: "typescript", fileName: "report.ts" },
      modulesOf({ files: exact }),
    );
    expect(outcome).toMatchObject({ ok: true, bundle: expect.stringContaining('"mcp__files__sta_t"') });
  });

  it.each([
    ['import { readFile } from "./servers/files/index.js"; readFile({});', ["files"]],
    ['import * as files from "./servers/files/index.js"; files.stat({});', ["files"]],
    ["mcp__files__read_file({});", ["files"]],
    ["mcp__files__readDir({});", ["files"]],
    ["mcp__files__copy_file({});", []],
    ["mcp__files__none({}); mcp__mail__send({});", []],
    ["globalThis.value = 1;", []],
  ])("tells which modules it certainly uses: %s, %j", async (code, named) => {
    const told = new Set<string>();
    const outcome = await bundleProgram(
      { code, data: {}, language: "typescript", fileName: "report.ts" },
      { ...source, named: (module) => void told.add(module) },
    );
    expect(outcome.ok).toBe(true);
    expect([...told]).toEqual(named);
  });

  it("fails where a name that may mean several tools is called, and names them", async () => {
    await expect(run("mcp__files__copy_file({});")).rejects.toThrow(
      "'mcp__files__copy_file' may mean 'mcp__files__copy-file' (write mcp__files__copyFile) or 'mcp__files__copy.file' (write mcp__files__copyFile_1)",
    );
    expect((await run("// mcp__files__copy_file\nmcp__files__copyFile(1);")).called).toEqual([
      ["mcp__files__copy-file", 1],
    ]);
  });

  it("leaves alone a namespaced name that the program defines itself, or only mentions", async () => {
    const { value, called } = await run(
      'const mcp__files__read_file = () => "mine"; globalThis.value = mcp__files__read_file() + "mcp__a__b";',
    );
    expect(value).toBe("minemcp__a__b");
    expect(called).toEqual([]);
  });

  it("allows top-level await and Node's built-in modules, with or without their scheme", async () => {
    const { value } = await run(
      'import { basename } from "path"; import os from "node:os"; globalThis.value = await basename("/a/b") + typeof os.EOL;',
    );
    expect(value).toBe("bstring");
  });

  it.each([
    ["lodash", "'lodash' cannot be imported"],
    ["/etc/passwd", "'/etc/passwd' cannot be imported"],
    ["../../package.json", "'../../package.json' cannot be imported"],
    ["file:///etc/passwd", "cannot be imported"],
    ["data:text/javascript,1", "cannot be imported"],
    ["./servers/../../x/index.js", "cannot be imported"],
    ["./servers/mail/index.js", "there is no server module 'mail'"],
    ["../../runtime.js", "cannot be imported"],
    ["../report.ts", "cannot be imported"],
    ["@servers/files", "cannot be imported; did you mean"],
    ...["@tools/fil", "npm:fil", "fil/index.mts", "./lib:fil.js", "lib/a/b/c/fil"].map((path) => [
      path,
      `'${path}' cannot be imported; did you mean ./servers/files/index.js?`,
    ]),
  ])("refuses to import %s and says what can be imported", async (path, message) => {
    for (const code of [
      `import "${path}";`,
      `await import("${path}");`,
      `export * from "${path}" with { type: "text" };`,
    ]) {
      const outcome = await bundle(code);
      expect(outcome).toMatchObject({ ok: false, message: expect.stringContaining(message) });
      expect(outcome).toMatchObject({
        ok: false,
        message: expect.stringMatching(
          /\.\/servers\/(?:files\/index\.js|<name>\/index\.js of broken, files)/,
        ),
      });
      expect(JSON.stringify(outcome)).not.toMatch(/root:|devDependencies/);
    }
  });

  describe("walks no folder of the host for a computed import:", () => {
    // The folder that the tests run in has files that these patterns match.
    it.each([
      'await import("./package." + data.extension);',
      'await import("./package" + ".js" + "on" + data.x);',
      "await import(`./package.${data.extension}`);",
      'await import/* x */("./package." + data.x);',
      'await import\u2028("./package." + data.x);',
      "await import(`../../../../../../../../../etc/pass${data.x}`);",
      'enum Path { Here = "./package." }; await import(Path.Here + data.extension);',
      'await import(data.x ? "./package.json" : "./package." + data.x);',
      'await import(("./package.", "./package." + data.x));',
      'const { a = import("./package." + data.x) } = {};',
      'class A { [import("./package." + data.x)]() {} static { import(/* x */ "./package." + data.x); } }',
      'export { A } from "fs"; label: for (;;) import("./package." + data.x, { with: { type: "json" } });',
      "const text = `${await import(`./package.${data.x}`)}`;",
    ])("%s", async (code) => {
      const outcome = await bundle(code);
      expect(outcome).toMatchObject({
        ok: false,
        message: expect.stringContaining("an import cannot be computed"),
      });
    });

    it.each([
      'require("./package." + data.x);',
      "require(`./package.${data.x}`);",
      'require("./package.json");',
      "require.resolve(`./${data.x}`);",
    ])("%s is left to the sandbox", async (code) => {
      const outcome = await bundle(code);
      expect(outcome.ok && outcome.bundle).toContain("globalThis.require");
      expect(JSON.stringify(outcome)).not.toContain("devDependencies");
    });

    it("a module named in a variable is left to the sandbox too, where there are only Node's own", async () => {
      const { value } = await run(
        'const name = "node:os"; globalThis.value = typeof (await import(name)).EOL;',
      );
      expect(value).toBe("string");
    });
  });

  it("ends at nesting that no parser takes", async () => {
    const outcome = await bundle(`globalThis.value = ${"[".repeat(200_000)}${"]".repeat(200_000)};`);
    expect(outcome).toMatchObject({ ok: false, message: expect.any(String) });
  });

  it("tells an error in the program's own line and column", async () => {
    const outcome = await bundle("const a = 1;\nconst b = ;\n");
    expect(outcome).toMatchObject({ ok: false, message: 'report.ts:2:11: Unexpected ";"\n    const b = ;' });
  });

  it.each([
    [
      'import { read_file } from "./servers/files/index.js"; read_file();',
      "1:10: servers/files has no function 'read_file'; did you mean 'readFile'?",
    ],
    [
      'import 文, { x } from "./servers/files/index.js"; 文(x);',
      '1:8: servers/files has no default export; write import * as files from "./servers/files/index.js"',
    ],
    [
      'import fs from "./servers/files/index.js"; fs.readFile();',
      '1:8: servers/files has no default export; write import * as fs from "./servers/files/index.js"',
    ],
    [
      'import { ToolError } from "./servers/files/index.js"; throw ToolError;',
      "1:10: servers/files has no 'ToolError': 'ToolError' is a global; use it without an import",
    ],
    [
      'import { data, parallel as p } from "ptc"; p(data);',
      "1:37: 'ptc' cannot be imported: 'data', 'parallel' are globals; use them without an import",
    ],
  ])("tells what to write instead of the import in %s", async (code, expected) => {
    const outcome = await bundle(code);
    expect(outcome).toMatchObject({ ok: false, message: expect.stringContaining(`report.ts:${expected}`) });
  });

  it.each(['import "./servers/broken/index.js";', 'import { a } from "./servers/broken/index.js"; a();'])(
    "says that a generated module is broken, by its file: %s",
    async (code) => {
      expect(await bundle(code)).toMatchObject({
        ok: false,
        message: expect.stringMatching(
          /^servers\/broken\/index\.ts:2:14: this generated module is broken, run `ptc generate`$/,
        ),
      });
    },
  );

  it.each(["return 1;", "await 1;\nreturn 1;", "if (data.x) {\n  return;\n}"])(
    "says what to do instead of returning: %s",
    async (code) => {
      const line = code.split("\n").findIndex((each) => each.includes("return")) + 1;
      expect(await bundle(code)).toMatchObject({
        ok: false,
        message: expect.stringMatching(
          new RegExp(`^report\\.ts:${line}:\\d: .*return.*; set globalThis\\.result instead\\n`),
        ),
      });
    },
  );

  it.each([
    "import asyncio\nprint('x')",
    "from os import path\nx = 1",
    "for t in ['a']:\n    print(t)",
    "def main():\n    pass",
    "async def main(a, b) -> int:  # it\n    pass",
    "x = 1\nif x == 1:\n    y()\nelif x:\n    z()",
    'print(f"{x} files")',
  ])("says that Python is not what runs: %s", async (code) => {
    expect(await bundle(code)).toMatchObject({
      ok: false,
      reasons: expect.arrayContaining([{ code: "other_language", language: "python" }]),
    });
  });

  it.each([
    "const a = b ? c :\n d; const e = ;",
    'import { a } from "nowhere"; const text = `\\nimport os\\n`; a(text);',
    "switch (a) {\n  case 1:\n    b(;\n  default:\n}",
  ])("takes no wrong TypeScript for Python: %s", async (code) => {
    expect(await bundle(code)).toMatchObject({
      ok: false,
      reasons: expect.not.arrayContaining([{ code: "other_language", language: "python" }]),
    });
  });

  it.each([
    `def f(${")".repeat(1_000_000)}`,
    `if${":".repeat(1_000_000)}x`,
    `import a${" ".repeat(1_000_000)}; from`,
    `from a import ${" ".repeat(1_000_000)};`,
    `import "x"; ${"import a ".repeat(100_000)}`,
    `import "x"; const a = \`${"import a ".repeat(100_000)}\`; f(a)`,
  ])("takes no longer for a program that is made to be slow to judge", async (code) => {
    expect(await bundle(code)).toMatchObject({ ok: false });
  });

  it("reads JavaScript as JavaScript", async () => {
    expect((await bundle("let a: number = 1;", "javascript")).ok).toBe(false);
    expect((await bundle("let a: number = 1;", "typescript")).ok).toBe(true);
  });

  it("follows no source map that the program names", async () => {
    const outcome = await bundle("throw 1;\n//# sourceMappingURL=/etc/passwd\n");
    expect(outcome.ok && outcome.bundle).not.toContain("root:");
    expect(outcome.ok).toBe(true);
  });

  it("says when a module that the catalog names is not there", async () => {
    const outcome = await bundle('import "./servers/google_drive/index.js";');
    expect(outcome).toMatchObject({ ok: false, message: expect.stringContaining("run `ptc generate`") });
  });

  it("refuses a program that is too large", async () => {
    const outcome = await bundle(`"${"x".repeat(3_000_000)}"`);
    expect(outcome).toMatchObject({ ok: false, message: expect.stringContaining("pass data as data") });
  });
});
