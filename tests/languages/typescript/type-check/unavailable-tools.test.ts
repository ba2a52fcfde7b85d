import { afterAll, describe, expect, it } from "vitest";
import { visibleLine } from "../../../../base/visible-text.ts";
import type { GeneratedModule } from "../../../../codegen/language-printer.ts";
import { readModule } from "../../../../codegen/typescript/read-module.ts";
import { createTypeChecker } from "../../../../languages/typescript/typescript.ts";
import { generateModule } from "../../../codegen/list-tools.ts";
import { verdict } from "./sample-modules.ts";

const checker = createTypeChecker();
afterAll(() => checker.close());

const checked = (module: GeneratedModule, code: string) =>
  verdict(checker, { modules: () => ["odd"], load: async () => module }, code);

describe("a tool that programs may not call is refused, also when the run is replayed", () => {
  it.each([
    "drop",
    'drop"all',
    "drop\\all",
    "drop</script>",
    "drop//all",
    "drop`all`",
    "drop\u2028all",
    "dr\nop",
  ])("%j", async (name) => {
    const { text, server } = await generateModule([{ name }, { name: "keep" }], "odd", "odd");
    const identifier = server.tools.find((tool) => tool.definition.name === name)?.identifier ?? "";
    const code = `import { keep, ${identifier} } from "./servers/odd/index.js";\nawait keep({});\nawait ${identifier}({});`;
    const live = readModule("odd", text, new Set(["mcp__odd__keep"]));
    const message = await checked(live, code);
    expect(message).toContain(
      `program.ts:1:16: '${visibleLine(`mcp__odd__${name}`)}' is not available in execute_program: the configuration does not allow it`,
    );
    expect(await checked(readModule("odd", live.archived), code)).toBe(message);
    expect(await checked(readModule("odd", text), code)).toBe("clean");
  });
});
