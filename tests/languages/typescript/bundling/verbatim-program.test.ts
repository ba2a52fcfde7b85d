import { SourceMap } from "node:module";
import { describe, expect, it } from "vitest";
import type { Program } from "../../../../languages/program.ts";
import { bundleVerbatim } from "../../../../languages/typescript/bundling/verbatim-program.ts";

const bundle = (code: string, rest: Partial<Program> = {}) =>
  bundleVerbatim({ code, data: {}, language: "typescript", fileName: "program.ts", ...rest });

describe("the bundle of a program that is plain JavaScript", () => {
  it("is its own text", async () => {
    const code = "const a = 1;\nglobalThis.result = await Promise.resolve(a + 1);";
    const [text] = (await bundle(code))?.split("\n//# sourceMappingURL=data:") ?? [];
    expect(text).toBe(code);
  });

  it("has a source map that leads every token to its place", async () => {
    const code = ["// first", "const ünï = { a: `x${1}y` };", "", "  throw new Error(ünï.a + 'long');"].join(
      "\n",
    );
    const [, encoded] = /base64,(.*)\n$/.exec((await bundle(code)) ?? "") ?? [];
    const map = new SourceMap(JSON.parse(Buffer.from(encoded ?? "", "base64").toString()));
    const lines = code.split("\n");
    for (const [line, word] of [
      [1, "const"],
      [1, "ünï"],
      [1, "{ a"],
      [3, "throw"],
      [3, "new"],
      [3, "Error"],
      [3, "'long'"],
    ] as const) {
      const column = (lines[line] ?? "").indexOf(word);
      expect(map.findEntry(line, column)).toMatchObject({
        originalSource: "program:program.ts",
        originalLine: line,
        originalColumn: column,
      });
    }
  });

  it("is left to the bundler where it is TypeScript, or may mean another thing there", async () => {
    expect(await bundle("const a: number = 1;")).toBeUndefined();
    expect(await bundle("globalThis.result = parse<string>(data);")).toBeUndefined();
    expect(await bundle("globalThis.result = f(a < b, c > (d));")).toBeUndefined();
    expect(
      await bundle("globalThis.result = parse<string>(data);", { language: "javascript" }),
    ).toBeDefined();
    expect(await bundle("for (let i = 0; i < 3; i++) [1].map((n) => n >= i);")).toBeDefined();
  });

  it.each([
    ["an error", "const a = ;"],
    ["a return at its top", "return 1;"],
    ["a name that is declared twice", "let a; let a;"],
    ["an import", "import fs from 'node:fs';"],
    ["a computed import", "await import(data.name);"],
    ["a tool", "await mcp__echo__echo({});"],
    ["require", "const fs = require('fs');"],
    ["this", "globalThis.result = this;"],
    ["a comment that names another source", "1;\n//# sourceURL=file:///etc/passwd"],
    ["nesting that no parser takes", `${"[".repeat(30_000)}${"]".repeat(30_000)}`],
  ])("is left to the bundler where it has %s", async (_, code) => {
    expect(await bundle(code)).toBeUndefined();
  });
});
