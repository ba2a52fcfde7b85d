import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { namespacedName, parseNamespacedName, serverModule } from "../../../protocol/tools/tool-name.ts";

describe("tool names", () => {
  it.each([
    ["google-drive", "google_drive"],
    ["financial.data", "financial_data"],
    ["GitHub", "github"],
    ["__a--b..c__", "a_b_c"],
    ["7zip", "7zip"],
    ["...", "server"],
  ])("make the server %s the module %s", (name, module) => {
    expect(serverModule(name)).toBe(module);
  });

  it("split into the module and the tool that they were made of, whatever the tool is called", () => {
    const server = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/);
    fc.assert(
      fc.property(server, fc.string({ minLength: 1 }), (name, tool) => {
        const module = serverModule(name);
        expect(parseNamespacedName(namespacedName(module, tool))).toEqual({ module, tool });
      }),
    );
  });

  it.each(["", "mcp__", "mcp__a", "mcp__a__", "mcp____b", "a__b"])("refuse %j", (name) => {
    expect(parseNamespacedName(name)).toBeUndefined();
  });
});
