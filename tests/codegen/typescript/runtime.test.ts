import { expect, test } from "vitest";
import { RUNTIME_DECLARATIONS } from "../../../codegen/typescript/declarations.ts";
import { printGlobals } from "../../../codegen/typescript/typescript-printer.ts";
import { compileGenerated } from "../compile-generated.ts";
import { generateModule } from "../list-tools.ts";

const schema = { type: "object", properties: { q: { type: "string" } }, additionalProperties: false };
const tools = [
  {
    name: "search",
    inputSchema: { ...schema, required: ["q"] },
    outputSchema: { ...schema, required: ["q"] },
  },
  { name: "list", inputSchema: schema },
];

const FINE = `
    const found: string = (await demo.search({ q: data.q })).q;
    const same = await mcp__demo__search({ q: found });
    const outcome = await demo.search.result({ q: same.q });
    if (outcome.ok) outcome.data.q.toUpperCase();
    else if (outcome.error.retryable) throw outcome.error;
    const anything: number = (await demo.list()).a.b;
    await demo.list.result();
    const [one, two] = await parallel([async () => 1, () => demo.search({ q: "x" })], { limit: 2 });
    const n: number = one;
    const many: string[] = await parallel(["a"].map((q) => async () => (await demo.search({ q })).q));
    try {
      await callTool("mcp__demo__" + two.q, { q: many[0] });
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      globalThis.result = [error.name, error.server, error.tool, error.message, n + anything];
    }
    result = 1;`;

/** What is wrong, and a program with that mistake. */
const WRONG: readonly (readonly [what: string, program: string])[] = [
  ["a required argument is missing", "await demo.search();"],
  ["an argument has the wrong type", "await demo.search({ q: 1 });"],
  ["an argument does not exist", 'await demo.search({ q: "", x: 1 });'],
  ["a result has no such member", 'await demo.search({ q: "" }).then((found) => found.x);'],
  ["a result is used before it is known to be there", 'void (await demo.search.result({ q: "" })).data.q;'],
  ["a tool does not exist", "await demo.remove();"],
  ["a tool does not exist under its namespaced name", "await mcp__demo__remove();"],
];

/** What the compiler says of programs that use two tools, each: all are compiled at once. */
async function check(programs: readonly string[]): Promise<string[][]> {
  const { text, server } = await generateModule(tools);
  const globals = server.tools.map((tool) => ({ ...tool, module: "demo" }));
  const files = new Map([
    ["runtime.d.ts", RUNTIME_DECLARATIONS],
    ["globals.d.ts", printGlobals(globals)],
    ["servers/demo/index.ts", text],
  ]);
  for (const [i, program] of programs.entries())
    files.set(
      `program${i}.ts`,
      `import * as demo from "./servers/demo/index.js";\n${program}\nexport {};\nvoid demo;\n`,
    );
  const lines = compileGenerated(files).filter((line) => !line.startsWith(" "));
  const found = programs.map((_, i) => lines.filter((line) => line.includes(`program${i}.ts(`)));
  expect(found.flat()).toHaveLength(lines.length);
  return found;
}

const [fine, ...wrong] = await check([FINE, ...WRONG.map(([, program]) => program)]);

test("a program finds the tools, their results and what the sandbox offers", () => {
  expect(fine).toEqual([]);
});

test.each(WRONG.map(([what], i) => ({ what, errors: wrong[i] })))(
  "it is an error when $what",
  ({ errors }) => {
    expect(errors).toEqual([expect.stringMatching(/^\S*program\d+\.ts\(2,/)]);
  },
);
