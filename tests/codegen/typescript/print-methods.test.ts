import { expect, test } from "vitest";
import { RUNTIME_DECLARATIONS } from "../../../codegen/typescript/declarations.ts";
import { withMethods } from "../../../upstream/mcp/server-methods.ts";
import { compileGenerated } from "../compile-generated.ts";
import { generateModule } from "../list-tools.ts";

const TOOLS = [{ name: "resources", inputSchema: { type: "object" } }];
const PROGRAM = `import * as demo from "./servers/demo/index.js";
const { messages } = await demo.prompts.get("greet", { name: "Ann" });
const [first] = (await demo.prompts.list()).prompts;
export const role: "user" | "assistant" | undefined = messages[0]?.role;
export const needed: boolean | undefined = first?.arguments?.[0]?.required;
`;

test("a module has resources and prompts as objects, typed, beside a tool of the same name", async () => {
  const { text, server, warnings } = await generateModule(
    withMethods(TOOLS, new Set(["resources", "prompts"])),
  );
  expect(warnings).toEqual([]);
  expect(server.tools.map(({ identifier }) => identifier)).toEqual([
    "promptsGet",
    "promptsList",
    "resources",
    "resourcesList",
    "resourcesRead",
  ]);
  expect(text).toContain('export const resources = tool<ResourcesInput, any>("mcp__demo__resources");');
  const [, name = ""] = /^export const (resources_[0-9a-f]{8}) = \{$/m.exec(text) ?? [];
  const reads = `${PROGRAM}export const blob: string | undefined = bytesOf.name && (await demo.${name}.read("a:b")).contents[0]?.blob;\n`;
  const files = [
    ["runtime.d.ts", RUNTIME_DECLARATIONS],
    ["servers/demo/index.ts", text],
    ["program.ts", reads],
  ] as const;
  expect(compileGenerated(new Map(files))).toEqual([]);
  const wrong = reads.replace('"greet", { name: "Ann" }', "7");
  expect(compileGenerated(new Map([...files, ["program.ts", wrong]])).join("\n")).toContain("program.ts(2,");
});

test("a module of a server without either is as it was", async () => {
  const { text } = await generateModule(withMethods(TOOLS, new Set()));
  expect(text).toBe((await generateModule(TOOLS)).text);
});
