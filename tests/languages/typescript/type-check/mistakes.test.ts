import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModuleSource } from "../../../../languages/module-source.ts";
import { createTypeChecker } from "../../../../languages/typescript/typescript.ts";
import { ARGUMENT_MISTAKES, type Mistake } from "./argument-mistakes.ts";
import { checkedModules, verdict } from "./sample-modules.ts";

const checker = createTypeChecker();
let modules: ModuleSource;
beforeAll(async () => {
  modules = await checkedModules();
});
afterAll(() => checker.close());

const GITHUB = 'import * as github from "./servers/github/index.js";\n';
const NOTES = 'import * as notes from "./servers/my_notes/index.js";\n';
const REPO = 'owner: "a", repo: "b"';

/** Programs with a mistake. */
const WRONG: readonly Mistake[] = [
  ...ARGUMENT_MISTAKES,
  [
    "an unknown function of a module",
    `${GITHUB}await github.listIsues({});`,
    ["2:14: servers/github has no function 'listIsues'; did you mean 'listIssues'?"],
  ],
  [
    "the wrapper of a value that is given without it",
    `${GITHUB}const labels = await github.listLabels();\nlabels.result.length;`,
    [
      "3:8: listLabels returns the value itself, which its server wraps as {result: ...}: leave out the 'result'",
    ],
  ],
  [
    "the wrapper of a value at its call",
    `${GITHUB}(await github.listLabels()).result;`,
    [
      "2:29: listLabels returns the value itself, which its server wraps as {result: ...}: leave out the 'result'",
    ],
  ],
  [
    "an unknown function with the words of another",
    `${GITHUB}await github.issuesList({});`,
    ["2:14: servers/github has no function 'issuesList'; did you mean 'listIssues'?"],
  ],
  [
    "an unknown tool by its namespaced name",
    "await mcp__github__lst_issues({});",
    [
      "1:7: there is no tool 'mcp__github__lst_issues'; did you mean 'mcp__github__list_issues' or 'mcp__github__get_issue'?",
    ],
  ],
  [
    "an unknown server in a namespaced name",
    "await mcp__githb__whoami({});",
    ["1:7: there is no tool 'mcp__githb__whoami'; did you mean 'mcp__github__whoami'?"],
  ],
  [
    "a misspelt argument of a tool whose name is no identifier",
    "await mcp__odd__run_job_now({ idd: 'x' }); await mcp__odd__runJobNow({});",
    [
      "1:31: 'idd' is not a property of runJobNow's argument; did you mean 'id'?",
      "1:70: 'id' is missing from runJobNow's argument",
    ],
  ],
  [
    "a name that is no identifier, written in code",
    "await mcp__odd__run.job-now({ id: 'x' });",
    ["1:7: 'mcp__odd__run.job-now' is no name that code can have; write mcp__odd__run_job_now(...)"],
  ],
  [
    "a name with a hyphen, written in code",
    "const r = await mcp__my_notes__add-note({ notes: [] });",
    ["1:17: 'mcp__my_notes__add-note' is no name that code can have; write mcp__my_notes__add_note(...)"],
  ],
  [
    "an unknown tool near one whose name is no identifier",
    "await mcp__my_notes__addd_note({});",
    ["1:7: there is no tool 'mcp__my_notes__addd_note'; did you mean 'mcp__my_notes__add_note'?"],
  ],
  [
    "a name that may mean several tools",
    "await mcp__odd__a_b({ id: 'x' });",
    [
      "1:7: 'mcp__odd__a_b' may mean 'mcp__odd__a-b' (write mcp__odd__aB_HASH) or 'mcp__odd__a.b' (write mcp__odd__aB_HASH)",
    ],
  ],
  [
    "tools that are not available, in every way to call them",
    `${GITHUB}import { dropRepo as drop } from "./servers/github/index.js";\nawait github.dropRepo({});\nawait drop.result({});\nconst { dropRepo } = await import("./servers/github/index.js");\nawait mcp__github__drop_repo({});\nawait mcp__odd__drop_all({});`,
    [
      ["2:10", "mcp__github__drop_repo"],
      ["3:14", "mcp__github__drop_repo"],
      ["5:9", "mcp__github__drop_repo"],
      ["6:7", "mcp__github__drop_repo"],
      ["7:7", "mcp__odd__drop-all"],
    ].map(
      ([place, tool]) =>
        `${place}: '${tool}' is not available in execute_program: the configuration does not allow it`,
    ),
  ],
  [
    "an unknown tool near one that is not available",
    "await mcp__github__dropp_repo({});",
    [
      "1:7: there is no tool 'mcp__github__dropp_repo'; did you mean 'mcp__github__whoami' or 'mcp__github__create_issue'?",
    ],
  ],
  [
    "an import of a tool by its own name",
    'import { list_issues } from "./servers/github/index.js";\nawait list_issues({});',
    ["1:10: servers/github has no function 'list_issues'; did you mean 'listIssues'?"],
  ],
  [
    "an import of a global",
    'import { whoami, ToolError } from "./servers/github/index.js";\ntry { await whoami(); } catch (e) { if (e instanceof ToolError) throw e; }',
    ["1:18: servers/github has no 'ToolError': 'ToolError' is a global; use it without an import"],
  ],
  [
    "an unknown import",
    'import { listIssue } from "./servers/github/index.js";\nawait listIssue({});',
    ["1:10: servers/github has no function 'listIssue'; did you mean 'listIssues'?"],
  ],
  [
    "a default import",
    'import github from "./servers/github/index.js";\nawait github.whoami();',
    ['1:8: servers/github has no default export; write import * as github from "./servers/github/index.js"'],
  ],
  [
    "a property that an output does not have",
    `${GITHUB}const i = await github.getIssue({ ${REPO}, issue_number: 1 });\nconsole.log(i.titel);`,
    ["3:15: 'titel' is not a property of i; did you mean 'title'?"],
  ],
  [
    "a property deep in an output",
    `${GITHUB}const i = await github.getIssue({ ${REPO}, issue_number: 1 });\nconsole.log(i.labels.map((l) => l.nam), i.user.name);`,
    [
      "3:35: 'nam' is not a property of l; did you mean 'name'?",
      "3:48: 'name' is not a property of i.user; it has login",
    ],
  ],
  [
    "a destructured property that an output does not have",
    `${NOTES}const { items } = await notes.listNotes({});`,
    ["2:9: 'items' is not a property of await notes.listNotes({}); it has notes"],
  ],
  [
    "a tool that is not awaited",
    `${NOTES}const r = notes.listNotes({});\nconsole.log(r.notes.length);`,
    ["3:15: 'notes' is not a property of a promise; await it first"],
  ],
  [
    "a loop over a tool that is not awaited",
    `${NOTES}for (const n of notes.listNotes({})) console.log(n);`,
    ["2:17: notes.listNotes({}) cannot be iterated: it is a promise; await it first"],
  ],
  [
    "a loop over an object",
    `${NOTES}const r = await notes.listNotes({});\nfor (const n of r) console.log(n);`,
    ["3:17: r cannot be iterated: it is an object with notes"],
  ],
  [
    "a list method on an object",
    `${NOTES}const r = await notes.listNotes({});\nresult = r.map((n) => n.title);`,
    ["3:12: 'map' is not a property of r; it has notes"],
  ],
  [
    "a tool that is not called",
    `${GITHUB}const r = await github.getIssue;\nconsole.log(r.title);`,
    ["3:15: 'title' is not a property of a tool's function; call it first"],
  ],
  [
    "a promise as an argument",
    `${GITHUB}await github.createIssue({ title: github.whoami() });`,
    ["2:28: 'title' of createIssue's argument must be string, not Promise<any>; await it first"],
  ],
  [
    "a module that is called",
    `${GITHUB}await github({});`,
    ["2:7: github cannot be called: it is the module servers/github"],
  ],
  [
    "an undefined name",
    "const totl = 1;\nresult = total + 1;",
    ["2:10: 'total' is not defined; did you mean 'totl'?"],
  ],
  ["an undefined function", "result = sum([1, 2]);", ["1:10: 'sum' is not defined"]],
  [
    "an undefined shorthand",
    `${GITHUB}const owner = "a";\nawait github.listIssues({ owner, repo });`,
    ["3:34: 'repo' is not defined"],
  ],
  ["a global of web pages", 'document.title = "x";', ["1:1: 'document' is not defined"]],
  [
    "a name used too early",
    "console.log(later);\nconst later = 1;",
    ["1:13: 'later' is used before its declaration"],
  ],
  [
    "after windows line ends and tabs",
    'import * as github from "./servers/github/index.js";\r\n\r\n\r\n\tconst a = "😀"; await github.createIssue({ titel: a });\r\n',
    ["4:45: 'titel' is not a property of createIssue's argument; did you mean 'title'?"],
  ],
  [
    "a function without its import",
    "await mcp__github__whoami({}); await listDirectory({ path: '.' });",
    [
      `1:38: 'listDirectory' is not defined; write import { listDirectory } from "./servers/filesystem/index.js"`,
    ],
  ],
  [
    "a function by the beginning of its name",
    `import * as files from "./servers/filesystem/index.js";\nfiles.listDir({ path: "." });`,
    ["2:7: servers/filesystem has no function 'listDir'; did you mean 'listDirectory'?"],
  ],
  [
    "a tool of ptc itself",
    'await mcp__ptc__execute_program({ code: "" });',
    [
      "1:7: there is no tool 'mcp__ptc__execute_program': the tools of ptc itself cannot be called by a program",
    ],
  ],
  [
    "CommonJS",
    "await mcp__github__whoami({}); module.exports = 1;",
    [
      "1:32: 'module' is not defined; a program is an ES module and exports nothing: write `globalThis.result = ...`",
    ],
  ],
  [
    "a mistake beside an unused promise",
    `${GITHUB}github.whoami().items;`,
    ["2:17: 'items' is not a property of a promise; await it first"],
  ],
];

describe("a mistake that a program would run into is found before it runs", () => {
  it.each(WRONG)("%s", async (_, code, expected) => {
    const message = await verdict(checker, modules, code);
    const told = message
      .replace(/(?<=aB_)[0-9a-f]{8}/g, "HASH")
      .split("\n")
      .filter((line) => line.startsWith("program.ts:"));
    expect(told).toEqual(expected.map((line) => `program.ts:${line}`));
  });

  it("in JavaScript as well", async () => {
    for (const [name, code, expected] of WRONG.filter(([name]) => name !== "annotated arguments"))
      expect([name, await verdict(checker, modules, code, "javascript")]).toEqual([
        name,
        expect.stringContaining(expected[0]?.split("aB_HASH")[0] ?? "-"),
      ]);
  });
});

describe("a message", () => {
  it("shows the user's line and, once for each tool, the signature that is expected", async () => {
    const code = `${GITHUB}await github.createIssue({ titel: "x" });\n\tawait github.createIssue({});\nawait mcp__github__get_issue({ ${REPO}, issue_number: "5" });`;
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
