import { builtinModules } from "node:module";
import { expect, it } from "vitest";
import { NODE_DECLARATIONS } from "../../../codegen/typescript/declarations.ts";
import { EDITOR_CONFIG } from "../../../codegen/typescript/typescript-printer.ts";
import { CONFIG } from "../../../languages/typescript/type-check/project.ts";

it("declares every module of Node.js that needs no prefix", () => {
  const bare = builtinModules.filter((name) => !name.startsWith("_") && !name.startsWith("node:"));
  expect(bare.filter((name) => !NODE_DECLARATIONS.includes(`declare module "${name}";`))).toEqual([]);
});

it("lets editors check as ptc does", () => {
  const { compilerOptions } = JSON.parse(EDITOR_CONFIG.slice(EDITOR_CONFIG.indexOf("{"))) as typeof CONFIG;
  expect(compilerOptions).toMatchObject(CONFIG.compilerOptions);
});
