/** What a program does, its code, and what is said of it: line, column, text. */
export type Mistake = readonly [string, string, readonly string[]];

const GITHUB = 'import * as github from "./servers/github/index.js";\n';
const NOTES = 'import * as notes from "./servers/my_notes/index.js";\n';
const REPO = 'owner: "a", repo: "b"';

/** Programs that call tools with wrong arguments. */
export const ARGUMENT_MISTAKES: readonly Mistake[] = [
  [
    "a misspelt argument",
    `${GITHUB}await github.listIssues({ ${REPO}, querry: "x" });`,
    ["2:50: 'querry' is not a property of listIssues's argument; did you mean 'query'?"],
  ],
  [
    "an argument of another name",
    `${GITHUB}await github.listIssues({ ${REPO}, limit: 5 });`,
    ["2:50: 'limit' is not a property of listIssues's argument"],
  ],
  [
    "a misspelt argument of a global tool",
    `const r = await mcp__github__list_issues({ ${REPO}, stat: "open" });`,
    ["1:67: 'stat' is not a property of listIssues's argument; did you mean 'state'?"],
  ],
  [
    "a misspelt argument in a result call",
    `${GITHUB}const r = await github.searchCode.result({ query: "x", pag: 1 });`,
    ["2:44: 'query' is not a property of searchCode's argument"],
  ],
  [
    "a misspelt property in a list",
    `${NOTES}await notes.addNote({ notes: [{ title: "a", kind: "memo" }, { titel: "b", kind: "task" }] });`,
    ["2:63: 'notes[].titel' is not a property of addNote's argument; did you mean 'title'?"],
  ],
  [
    "a property of a wrong type",
    `${GITHUB}await github.listIssues({ ${REPO}, per_page: "5" });`,
    ["2:50: 'per_page' of listIssues's argument must be number, not string"],
  ],
  [
    "an element of a wrong type",
    `${GITHUB}await github.listIssues({ ${REPO}, labels: ["a", 5] });`,
    ["2:64: 'labels[]' of listIssues's argument must be string, not number"],
  ],
  [
    "a list where one is not",
    `${GITHUB}await github.createIssue({ title: ["a"] });`,
    ["2:28: 'title' of createIssue's argument must be string, not string[]"],
  ],
  [
    "a text for a list",
    `${GITHUB}await github.listIssues({ ${REPO}, labels: "bug" });`,
    ["2:50: 'labels' of listIssues's argument must be string[], not string"],
  ],
  [
    "a choice that there is not",
    `${GITHUB}await github.listIssues({ ${REPO}, state: "opened" });`,
    [
      '2:50: \'state\' of listIssues\'s argument must be "all" | "closed" | "open", not "opened"; did you mean "open"?',
    ],
  ],
  [
    "a missing argument",
    `${GITHUB}await github.listIssues({ owner: "a" });`,
    ["2:25: 'repo' is missing from listIssues's argument"],
  ],
  [
    "several missing arguments",
    `${GITHUB}await github.getIssue({});`,
    ["2:23: 'owner', 'repo', 'issue_number' are missing from getIssue's argument"],
  ],
  [
    "a missing property in a list",
    `${NOTES}await notes.addNote({ notes: [{ title: "a" }] });`,
    ["2:31: 'notes[].kind' is missing from addNote's argument"],
  ],
  [
    "a missing property in a mapped list",
    `${NOTES}await notes.addNote({ notes: ["a"].map((title) => ({ title })) });`,
    ["2:23: 'notes.kind' is missing from addNote's argument"],
  ],
  ["no argument at all", `${GITHUB}await github.listIssues();`, ["2:14: listIssues needs its argument"]],
  [
    "positional arguments",
    `${GITHUB}await github.getIssue("a", "b", 1);`,
    ["2:28: getIssue takes one object of named arguments"],
  ],
  [
    "a text instead of an object",
    `${GITHUB}await github.searchCode("x");`,
    ['2:25: searchCode takes one object of named arguments, not "x"'],
  ],
  [
    "arguments kept in a constant",
    `${GITHUB}const args = { ${REPO}, labels: 5 };\nawait github.listIssues(args);`,
    ["3:25: 'labels' of listIssues's argument must be string[], not number"],
  ],
  [
    "annotated arguments",
    `import { listIssues, type ListIssuesInput } from "servers/github";\nconst args: ListIssuesInput = { ${REPO}, quer: "x" };\nawait listIssues(args);`,
    ["2:56: 'quer' is not a property of listIssues's argument; did you mean 'query'?"],
  ],
  [
    "an argument of a tool that takes none",
    `${GITHUB}await github.listLabels({ limit: 3 });`,
    ["2:27: 'limit' is not a property of listLabels's argument: it takes none"],
  ],
  [
    "an argument that differs by underscores",
    `${GITHUB}await github.deleteEntities({ entity_names: ["a"] });`,
    ["2:31: 'entity_names' is not a property of deleteEntities's argument; did you mean 'entityNames'?"],
  ],
  [
    "an argument that differs by case",
    `${GITHUB}await github.listIssues({ ${REPO}, perPage: 3 });`,
    ["2:50: 'perPage' is not a property of listIssues's argument; did you mean 'per_page'?"],
  ],
  [
    "a wrong argument inside parallel",
    `${GITHUB}await parallel([() => github.whoami(), () => github.createIssue({ name: "x" })]);`,
    ["2:67: 'name' is not a property of createIssue's argument"],
  ],
  [
    "promises instead of functions in parallel",
    `${GITHUB}await parallel([github.whoami(), github.whoami()]);`,
    [
      "2:17: parallel takes functions: () => github.whoami()",
      "2:34: parallel takes functions: () => github.whoami()",
    ],
  ],
];
