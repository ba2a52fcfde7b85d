import { afterAll, describe, expect, it } from "vitest";
import { PYTHON } from "../../languages/python/language.ts";
import { openPython } from "../../languages/python/python.ts";
import { resolveProgram } from "../../languages/resolve-program.ts";
import { TYPESCRIPT } from "../../languages/typescript/language.ts";
import { openTypeScript } from "../../languages/typescript/typescript.ts";

const typescript = { ...TYPESCRIPT, ...openTypeScript() };
const python = {
  ...PYTHON,
  ...openPython({}, { check: async () => ({ kind: "clean" }), warm: async () => {}, close: async () => {} }),
};
afterAll(() => typescript.close());

const EITHER = {
  "TypeScript first": [typescript, python],
  "Python first": [python, typescript],
} as const;

const PYTHON_TEXTS = [
  'tickers = ["A"]\nfor t in tickers:\n    data = await mcp__x__y(ticker=t, limit=4)\n    print(f"{t}: {data}")',
  "import asyncio\nprint(1)",
  "from servers.github import list_issues\nprint(list_issues(owner='o'))",
  "def main():\n    return 1\n\nmain()",
  "x = await mcp__github__list_issues(owner='o')\nprint(len(x))",
  "```python\nx = 1\n```",
  "```py\nconst_ = 1\n```",
];
const TYPESCRIPT_TEXTS = [
  "const x: number = 1;\nconsole.log(x);",
  'import * as github from "./servers/github/index.js";\nconsole.log(await github.listIssues({}));',
  "const text = `\nimport os\ndef f():\n    pass\n`;\nconsole.log(text);",
  "for (const a of [1]) {\n  console.log(a);\n}",
  "globalThis.result = [1].map((x) => x + 1);",
  "```ts\nx = 1\n```",
];

describe.each(Object.keys(EITHER) as (keyof typeof EITHER)[])("a program without a language, %s", (order) => {
  it.each(PYTHON_TEXTS)("is taken for Python: %s", async (code) => {
    const settled = await resolveProgram({ code, data: {} }, EITHER[order]);
    expect(settled).toEqual({ code, data: {}, language: "python", fileName: "program.py" });
  });

  it.each(TYPESCRIPT_TEXTS)("is taken for TypeScript: %s", async (code) => {
    const settled = await resolveProgram({ code, data: {} }, EITHER[order]);
    expect(settled).toMatchObject({ language: "typescript", fileName: "program.ts" });
  });

  it.each(["x = 1", "1 + 1", "x = await f(a=1)", "", "const a = ;", "def f(:", "/* ".repeat(10)])(
    "is in the first where nothing tells: %s",
    async (code) => {
      const { language } = await resolveProgram({ code, data: {} }, EITHER[order]);
      expect(language).toBe(EITHER[order][0].unnamed.language);
    },
  );

  it("is in what it says, whatever it looks like", async () => {
    const said = { code: "import os\nprint(1)", data: {}, language: "javascript", fileName: "a.js" };
    expect(await resolveProgram(said, EITHER[order])).toEqual(said);
  });
});

it("is never taken for a language that is off", async () => {
  for (const code of PYTHON_TEXTS)
    expect((await resolveProgram({ code, data: {} }, [typescript])).language).toBe("typescript");
});

it("a program keeps the files that it is given and what it was saved as", async () => {
  const given = { code: "x", data: {}, language: "python", fileName: "a.py" };
  const kept = { files: [], savedAs: { tool: "mcp__programs__a", data: "open" as const } };
  expect(await resolveProgram({ ...given, ...kept }, [python])).toStrictEqual({ ...given, ...kept });
  expect(await resolveProgram(given, [python])).toStrictEqual(given);
});

it("a program has no byte order mark, which Python refuses", async () => {
  expect((await resolveProgram({ code: "\ufeffprint(1)", data: {} }, [python])).code).toBe("print(1)");
});
