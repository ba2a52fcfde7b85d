import { describe, expect, it } from "vitest";
import { bundleProgram, type ModuleSource } from "../../execution/bundle.ts";
import type { Language } from "../../execution/program.ts";

const MODULE = `
import { tool } from "../../runtime.js";
export const readFile = tool<{ path: string }, any>("mcp__files__read_file");
`;

const source: ModuleSource = {
  modules: () => ["files", "google_drive"],
  load: async (module) => (module === "files" ? MODULE : undefined),
};

const bundle = (code: string, language: Language = "typescript") =>
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
    ["./report.ts", "cannot be imported"],
  ])("refuses to import %s and says what can be imported", async (path, message) => {
    for (const code of [
      `import "${path}";`,
      `await import("${path}");`,
      `export * from "${path}" with { type: "text" };`,
    ]) {
      const outcome = await bundle(code);
      expect(outcome).toEqual({ ok: false, message: expect.stringContaining(message) });
      expect(outcome).toEqual({ ok: false, message: expect.stringContaining("./servers/files/index.js") });
      expect(JSON.stringify(outcome)).not.toMatch(/root:|devDependencies/);
    }
  });

  describe("walks no folder of the host for a computed import:", () => {
    // The folder that the tests run in has files that these patterns match.
    it.each([
      'await import("./package." + data.extension);',
      'await import("./package" + ".js" + "on" + data.x);',
      "await import(`./package.${data.extension}`);",
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
      expect(outcome).toEqual({
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
    expect(outcome).toEqual({ ok: false, message: expect.any(String) });
  });

  it("tells an error in the program's own line and column", async () => {
    const outcome = await bundle("const a = 1;\nconst b = ;\n");
    expect(outcome).toEqual({ ok: false, message: 'report.ts:2:11: Unexpected ";"\n    const b = ;' });
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
    expect(outcome).toEqual({ ok: false, message: expect.stringContaining("run `ptc generate`") });
  });

  it("refuses a program that is too large", async () => {
    const outcome = await bundle(`"${"x".repeat(3_000_000)}"`);
    expect(outcome).toEqual({ ok: false, message: expect.stringContaining("pass data as data") });
  });
});
