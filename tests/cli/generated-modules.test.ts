import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { GeneratedModules } from "../../cli/generated-modules.ts";
import { declaredTools } from "../../execution/declared-tools.ts";
import { generateModule } from "../codegen/list-tools.ts";

const folder = mkdtempSync(join(tmpdir(), "ptc-modules-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("the texts of modules say which tools the policy keeps from programs, and nothing else changes", async () => {
  const tools = ["read", "write-all"].map((name) => ({ name, inputSchema: { type: "object" } }));
  const { text } = await generateModule(tools);
  mkdirSync(join(folder, "servers", "demo"), { recursive: true });
  writeFileSync(join(folder, "servers", "demo", "index.ts"), text);
  const load = (isAvailable: (name: string) => boolean) =>
    new GeneratedModules(folder, ["demo"], isAvailable).load("demo");

  expect(await load(() => true)).toBe(text);
  const marked = await load((name) => name !== "mcp__demo__write-all");
  expect(declaredTools("demo", marked ?? "").map((tool) => [tool.namespacedName, tool.isAvailable])).toEqual([
    ["mcp__demo__read", true],
    ["mcp__demo__write-all", false],
  ]);
  expect(marked?.replace(" // not available", "")).toBe(text);
});
