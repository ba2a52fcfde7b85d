import type { ProgramGuide } from "../language-printer.ts";

const EXAMPLE = `import * as github from "./servers/github/index.js";
const issues = await github.listIssues({ owner: "o", repo: "r" });
const details = await parallel(issues.map((i) => () => github.getIssue({ owner: "o", repo: "r", number: i.number })), { limit: 5 });
console.log(details.filter((d) => d.comments > 10).map((d) => d.title));`;

/** What a model is told of programs in TypeScript. Every word of it is in the context of every conversation. */
export const TYPESCRIPT_GUIDE: ProgramGuide = {
  signatures: "TypeScript",
  programs: "TypeScript or JavaScript",
  givesBack: "prints with console.log or sets as globalThis.result",
  abilities: "Top-level await works, Node's built-in modules can be imported",
  calls:
    '`import * as x from "./servers/<server>/index.js"; await x.someTool({...})`, or `await mcp__<server>__<tool>({...})`',
  example: EXAMPLE,
  rules:
    "Functions are the tools' names in camelCase. A failed call throws ToolError. Types are checked first: a message names the wrong argument. Tools without an output schema return any: print a small sample before relying on its shape.",
  extract: '`await extract(text, { name: "string", tags: ["string"] })`',
  brief:
    "functions are the tools' names in camelCase and take one object; print with console.log, or set globalThis.result.",
};
