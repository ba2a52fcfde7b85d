import { describe, expect, it } from "vitest";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import { bundleProgram } from "../../../../languages/typescript/bundling/bundle.ts";
import { modulesOf } from "../../module-texts.ts";

const MODULE = `
import { tool } from "../../runtime.js";
export const readFile = tool<{ path: string }, any>("mcp__files__read_file");
`;

const source: ModuleSource = {
  ...modulesOf({ files: MODULE, broken: "export const = 1;" }),
  modules: () => ["broken", "edited", "files"],
};

const bundled = (code: string) =>
  bundleProgram({ code, data: {}, language: "typescript", fileName: "report.ts" }, source);

async function reasonsOf(code: string): Promise<unknown> {
  const outcome = await bundled(code);
  return outcome.ok ? "bundled" : outcome.reasons;
}

describe("why a program cannot be bundled", () => {
  it.each([
    ["an unknown server", 'import "./servers/mail/index.js";', { code: "unknown_server", module: "mail" }],
    ["a package", 'import "lodash";', { code: "unknown_import", path: "lodash" }],
    [
      "a missing function",
      'import { rm } from "./servers/files/index.js"; rm();',
      { code: "unknown_export", module: "files", name: "rm" },
    ],
    ["an edited module", 'import "./servers/edited/index.js";', { code: "missing_module", module: "edited" }],
    ["a broken module", 'import "./servers/broken/index.js";', { code: "broken_module", module: "broken" }],
    ["a return", "return 1;", { code: "top_level_return" }],
    ["its syntax", "const = 1;", { code: "invalid_text" }],
    ["a computed import", 'const a = "x"; import("./" + a);', { code: "invalid_text" }],
    ["its depth", `${"[".repeat(2_001)}${"]".repeat(2_001)}`, { code: "invalid_text" }],
  ])("is told as data: %s", async (_what, code, reason) => {
    expect(await reasonsOf(code)).toEqual([reason]);
  });

  it.each([
    ['import "lodash"; import "./servers/mail/index.js";', "imports"],
    ['import "./servers/edited/index.js";', "imports"],
    ['import { rm } from "./servers/files/index.js"; rm();', "exports"],
    ['import "./servers/broken/index.js";', "text"],
    ['import "lodash"; import "./servers/broken/index.js";', "text"],
    ["const = 1;", "text"],
    ["return 1;", "text"],
  ])("lies in its text, in what it imports, or in names of that: %s, %s", async (code, subject) => {
    expect(await bundled(code)).toMatchObject({ ok: false, subject });
  });

  it("has each error that the message shows, in its order", async () => {
    const imports = ["a", "b", "c", "d", "e", "f"].map((name) => `import "./servers/${name}/index.js";`);
    expect(await reasonsOf(`import "lodash";\n${imports.join("\n")}`)).toEqual([
      { code: "unknown_import", path: "lodash" },
      ...["a", "b", "c", "d"].map((module) => ({ code: "unknown_server", module })),
    ]);
  });

  it("is not taken from what a program imports by such a name", async () => {
    const path = 'No matching export in \\"generated:files\\" for import \\"rm\\"';
    expect(await reasonsOf(`import "${path}";`)).toEqual([
      { code: "unknown_import", path: path.replaceAll("\\", "") },
    ]);
  });
});
