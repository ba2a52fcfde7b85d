import type { ExampleCall, ProgramGuide } from "../language-printer.ts";

/** Names that the example has beside those of the call. */
const NAMES = new Set(["JSON", "console", "each", "found", "parallel"]);

function printExample({ module, tool: { identifier }, argument }: ExampleCall): string | undefined {
  if (NAMES.has(identifier)) return undefined;
  const call =
    argument === ""
      ? `${identifier}({})`
      : `parallel(["a", "b"].map((each) => () => ${identifier}({ ${argument}: each })), { limit: 5 })`;
  return `import { ${identifier} } from "./servers/${module}/index.js";
const found = await ${call};
console.log(JSON.stringify(found).slice(0, 500));`;
}

/** What a model is told of programs in TypeScript. Every word of it is in the context of every conversation. */
export const TYPESCRIPT_GUIDE: ProgramGuide = {
  signatures: "TypeScript",
  programs: "TypeScript or JavaScript",
  givesBack: "prints with console.log or sets as globalThis.result",
  abilities: "Top-level await works, Node's built-in modules can be imported",
  calls:
    '`import * as x from "./servers/<server>/index.js"; await x.someTool({...})`, or `await mcp__<server>__<tool>({...})`',
  example: printExample,
  rules:
    "Functions are the tools' names in camelCase. A failed call throws ToolError. Types are checked first. Tools without an output schema return any: print a small sample before relying on its shape.",
  extract: '`await extract(text, { name: "string", tags: ["string"] })`',
  brief:
    "functions are the tools' names in camelCase and take one object; print with console.log, or set globalThis.result.",
};
