import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import { bundleProgram } from "../../../../languages/typescript/bundling/bundle.ts";
import { createTypeChecker } from "../../../../languages/typescript/typescript.ts";
import { generateModule } from "../../../codegen/list-tools.ts";
import { modulesOf } from "../../module-texts.ts";
import { readPrograms, type SampleProgram } from "../../read-programs.ts";
import { checkedModules, verdict } from "./sample-modules.ts";

// As long as a busy machine may need.
const checker = createTypeChecker({ checkLimitMs: 60_000 });
let modules: ModuleSource;
beforeAll(async () => {
  modules = await checkedModules();
});
afterAll(() => checker.close());

const GITHUB = 'import * as github from "./servers/github/index.js";\n';
const corpus = (name: string) => readPrograms(join(import.meta.dirname, "programs", name));

/** Programs as models write them, which run. */
const CORRECT: readonly SampleProgram[] = [
  ...corpus("correct.txt"),
  {
    title: "windows line ends, tabs and other scripts",
    code: `${GITHUB}\r\n\tconst größe = "😀"; // 数据\r\n\tresult = await github.createIssue({ title: größe });\r\n`,
    expected: [],
  },
];

const MISTAKEN: readonly SampleProgram[] = [
  ...corpus("mistaken.txt"),
  {
    title: "after windows line ends and tabs",
    code: `${GITHUB.trim()}\r\n\r\n\r\n\tconst a = "😀"; await github.createIssue({ titel: a });\r\n`,
    expected: ["4:45: 'titel' is not a property of createIssue's argument; did you mean 'title'?"],
  },
];

describe("programs that run", () => {
  it.each(CORRECT)("are not stopped: $title", async ({ code }) => {
    expect(await verdict(checker, modules, code)).toBe("clean");
    expect(
      await bundleProgram({ code, data: {}, language: "typescript", fileName: "program.ts" }, modules),
    ).toMatchObject({ ok: true });
  });

  it("are not stopped when they are JavaScript", async () => {
    const typed = /import type|: [A-Z]\w+ =|\bas (?:any|const)\b|<T|interface |type L|x: Foo|\): number/;
    const plain = CORRECT.filter(({ code }) => !typed.test(code));
    expect(plain.length).toBeGreaterThan(40);
    for (const { title, code } of plain)
      expect([title, await verdict(checker, modules, code, "javascript")]).toEqual([title, "clean"]);
  });
});

describe("a mistake that a program would run into is found before it runs", () => {
  it.each(MISTAKEN)("$title", async ({ code, expected }) => {
    const message = await verdict(checker, modules, code);
    const told = message
      .replace(/(?<=aB_)[0-9a-f]{8}/g, "HASH")
      .split("\n")
      .filter((line) => line.startsWith("program.ts:"));
    expect(told).toEqual(expected.map((line) => `program.ts:${line}`));
  });

  it("in JavaScript as well", async () => {
    for (const { title, code, expected } of MISTAKEN.filter(({ title }) => title !== "annotated arguments"))
      expect([title, await verdict(checker, modules, code, "javascript")]).toEqual([
        title,
        expect.stringContaining(expected[0]?.split("aB_HASH")[0] ?? "-"),
      ]);
  });
});

describe("a message", () => {
  it("shows the user's line and, once for each tool, the signature that is expected", async () => {
    const code = `${GITHUB}await github.createIssue({ titel: "x" });\n\tawait github.createIssue({});\nawait mcp__github__get_issue({ owner: "a", repo: "b", issue_number: "5" });`;
    expect(await verdict(checker, modules, code)).toBe(
      [
        "program.ts:2:28: 'titel' is not a property of createIssue's argument; did you mean 'title'?",
        '    await github.createIssue({ titel: "x" });',
        "program.ts:3:27: 'title' is missing from createIssue's argument",
        "    await github.createIssue({});",
        "program.ts:4:55: 'issue_number' of getIssue's argument must be number, not string",
        '    await mcp__github__get_issue({ owner: "a", repo: "b", issue_number: "5" });',
        "expected: createIssue({ title: string }): Promise<any>",
        "expected: getIssue({ owner: string; repo: string; issue_number: number }): Promise<{ number: number; title: string; labels: { name: string }[]; user?: { login: string }; id?: string | number }>",
      ].join("\n"),
    );
  });

  it("shows five mistakes and says how many more there are", async () => {
    const code =
      GITHUB + Array.from({ length: 8 }, (_, i) => `await github.createIssue({ t${i}: 1 });`).join("\n");
    const lines = (await verdict(checker, modules, code)).split("\n");
    expect(lines.filter((line) => line.startsWith("program.ts:"))).toHaveLength(5);
    expect(lines.at(-2)).toBe("and 3 more");
  });
});

describe("a property that a result has not by its type", () => {
  const ISSUE = `${GITHUB}let i = await github.getIssue({ owner: "a", repo: "b", issue_number: 1 });\n`;

  it.each([
    ...["i.body ?? 1", "i.body || 1", "i.body && 1", "1 && (i.body ?? 2)", "(i.body as any)! ?? 1"],
    ...["i.body == null", "i.body != null", "i.body === undefined", "i.body !== undefined"],
    ...["null === i.body", "undefined != i.body", "i.body = 1", "i.body += 1", "i.body ??= 1"],
    ...["i.body ? 1 : 2", "!i.body", "!!i.body", "i.body?.x", "i.body?.[0]", "i.body?.()"],
    ...["Array.isArray(i.body)", "Boolean(i.body)", "typeof i.body", "delete i.body"],
    ...["{ if (i.body) 1; }", "{ if ((i.body)) 1; }", "{ const { body = 1 } = i; }"],
  ])("may be tried or made: %s", async (code) => {
    expect(
      await verdict(checker, modules, `${ISSUE}${code.startsWith("{") ? code : `result = ${code};`}`),
    ).toBe("clean");
  });

  it.each([
    ...["i.body", "i.body == 1", "i.body === 'x'", "'undefined' !== i.body", "i.body != 0"],
    ...[
      "i.body <= 1",
      "i.body >= 1",
      "i.body < null",
      "1 + i.body",
      "i.body + null",
      "-i.body",
      "i.number = i.body",
    ],
    ...[
      "1 ? i.body : 2",
      "i.body.x",
      "i.body[0]",
      "i.body()",
      "String(i.body)",
      "isArray(i.body)",
      "{ const { body } = i; }",
    ],
    ...["{ if (1) i.body; }", "{ if (i.body > 1) 1; }"],
  ])("is a mistake where it is used: %s", async (code) => {
    const text = `const isArray = String;\n${code.startsWith("{") ? code : `result = ${code};`}`;
    expect(await verdict(checker, modules, `${ISSUE}${text}`)).toContain("'body'");
  });
});

describe("a result that has one form or another", () => {
  const forms = {
    anyOf: [
      { type: "array", items: { type: "string" } },
      { type: "object", properties: { items: { type: "array" } }, required: ["items"] },
    ],
  };
  const said = async (use: string) => {
    const tools = [{ name: "pick", inputSchema: { type: "object" }, outputSchema: forms }];
    const { text } = await generateModule(tools, "forms", "forms");
    const code = `import { pick } from "./servers/forms/index.js";\nconst picked = await pick();\n${use}`;
    return await verdict(checker, modulesOf({ forms: text }), code);
  };

  it.each([
    "for (const each of picked) console.log(each);",
    "result = [...picked];",
    "result = picked.items;",
  ])("may have the one that the program takes it for: %s", async (use) => {
    expect(await said(use)).toBe("clean");
  });

  it("has no property that none of them has", async () => {
    expect(await said("result = picked.nothing;")).toContain("'nothing' is not a property of picked");
  });
});

describe("the data of a saved program", () => {
  const inputSchema = {
    type: "object",
    properties: { month: { type: "string" }, limit: { type: "integer" } },
    required: ["month"],
  };
  const said = async (use: string, data: "closed" | "open" | "any" = "closed") => {
    const { text } = await generateModule([{ name: "report", inputSchema }], "programs", "programs");
    const programs = await modulesOf({ programs: text }).load("programs");
    const source: ModuleSource = {
      modules: () => [...modules.modules(), "programs"],
      load: async (name) => (name === "programs" ? programs : modules.load(name)),
    };
    const call = (number: string) =>
      `await github.getIssue({ owner: "a", repo: "b", issue_number: ${number} });`;
    const code = `${GITHUB}${use.replace(/CALL\((.*)\)/, (_, number) => call(number))}`;
    const savedAs = { tool: "mcp__programs__report", data };
    const program = { code, data: {}, language: "typescript", fileName: "program.ts", savedAs };
    const outcome = await checker.check(program, source);
    return outcome.kind === "errors" ? outcome.message : outcome.kind;
  };

  it.each([
    ["CALL(data.month)", true],
    ["const { month } = data;\nCALL(month)", true],
    ["const { month: m } = data;\nCALL(m)", true],
    ["let { month } = data;\nmonth = 5 as any;\nCALL(month)", false],
    ["CALL(data.limit)", false],
    ["const { limit } = data;\nCALL(limit)", false],
    ["const other = { month: data.month as any };\nCALL(other.month)", false],
    ["const [month] = [data.month];\nCALL(month)", false],
  ])("has the types of its manifest where they are taken as they are: %s, %s", async (use, isRefused) => {
    if (isRefused) expect(await said(use)).toContain("issue_number");
    else expect(await said(use)).toBe("clean");
  });

  it("has no types where nobody knows them", async () => {
    expect(await said("CALL(data.month)", "any")).toBe("clean");
    expect(await said("CALL(data.mnth)", "open")).toBe("clean");
    expect(await said("data.mnth.length;", "closed")).toContain("mnth");
  });
});
