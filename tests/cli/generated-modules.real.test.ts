import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { TYPESCRIPT_PRINTER as PRINTER, readModule } from "../../codegen/typescript/typescript-printer.ts";
import { GeneratedModules } from "../../generation/generated-modules.ts";
import { textDigest } from "../../protocol/canonical-json.ts";
import { generateModule } from "../codegen/list-tools.ts";

const folder = mkdtempSync(join(tmpdir(), "ptc-modules-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("the texts of modules say which tools the policy keeps from programs, and nothing else changes", async () => {
  const tools = ["read", "write-all"].map((name) => ({ name, inputSchema: { type: "object" } }));
  const { text } = await generateModule(tools);
  mkdirSync(join(folder, "servers", "demo"), { recursive: true });
  writeFileSync(join(folder, "servers", "demo", "index.ts"), text);
  const load = (...callable: string[]) =>
    new GeneratedModules(folder, new Map([["demo", textDigest(text)]]), new Set(callable), PRINTER).load(
      "demo",
    );

  expect(await load("mcp__demo__read", "mcp__demo__write-all")).toMatchObject({ text, archived: text });
  const { tools: declared = [], archived = "" } = (await load("mcp__demo__read")) ?? {};
  const expected = [
    ["mcp__demo__read", true],
    ["mcp__demo__write-all", false],
  ];
  expect(declared.map((tool) => [tool.namespacedName, tool.isAvailable])).toEqual(expected);
  expect(readModule("demo", archived).tools.map((tool) => [tool.namespacedName, tool.isAvailable])).toEqual(
    expected,
  );
  expect(archived.replace(" // not available", "")).toBe(text);
});
