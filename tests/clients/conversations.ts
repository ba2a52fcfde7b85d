/** What a model does in one conversation: calls of ptc's tools, one after the other, or side by side where they stand in a list. */
export interface TypicalConversation {
  name: string;
  /** What it may read of ptc in all, in tokens of o200k, beside definitions and instructions. */
  most: number;
  steps: readonly (Call | readonly Call[])[];
  /** What has to be read, so that the conversation is what its name says. */
  says: RegExp;
}

interface Call {
  tool: string;
  args: Record<string, unknown>;
}

const FILES = 'import * as files from "./servers/files/index.js";\n';
const search = (query: string): Call => ({
  tool: "search_tools",
  args: { query, detail: "signature", limit: 5 },
});
const execute = (code: string, more: Record<string, unknown> = {}): Call => ({
  tool: "execute_program",
  args: { code, ...more },
});
const RIGHT = `${FILES}const { content } = await files.readTextFile({ path: "customers.csv" });\nconsole.log(content.length);`;

/** Conversations over the servers of `examples/recipes`, with `mcp__files__write_file` blocked, sessions on, and one program at a time. */
export const TYPICAL_CONVERSATIONS: readonly TypicalConversation[] = [
  {
    name: "discovery and a run",
    most: 300,
    steps: [search("read text file"), execute(RIGHT)],
    says: /\n107$/,
  },
  {
    name: "discovery where nothing fits",
    most: 80,
    steps: [search("zebra crossing voltage")],
    says: /NOTHING FITS WELL/,
  },
  {
    name: "a type error, and its correction",
    most: 100,
    steps: [execute(RIGHT.replace("path:", "pth:")), execute(RIGHT)],
    says: /did you mean 'path'\?/,
  },
  {
    name: "a blocked tool, named in the program",
    most: 70,
    steps: [execute('await mcp__files__write_file({ path: "x", content: "y" });')],
    says: /does not allow it/,
  },
  {
    name: "a blocked tool, named at run time",
    most: 55,
    steps: [execute('await callTool("mcp__files__" + "write_file", {});')],
    says: /is blocked by the configuration/,
  },
  {
    name: "a failed call",
    most: 70,
    steps: [execute(`${FILES}await files.readTextFile({ path: "nothing.csv" });`)],
    says: /ENOENT/,
  },
  {
    name: "an approval that somebody gives later",
    most: 120,
    steps: [execute('await mcp__memory__delete_entities({ entityNames: ["a"] });')],
    says: /ptc approvals approve/,
  },
  {
    name: "a time limit",
    most: 90,
    steps: [
      execute("await mcp__memory__create_entities({ entities: [] });\nfor (;;) {}", { timeout_seconds: 2 }),
    ],
    says: /More time: `timeout_seconds`/,
  },
  {
    name: "more programs than may run and wait",
    most: 60,
    steps: [
      [1, 2, 3].map((n) =>
        execute(`await new Promise((done) => setTimeout(done, 2_000));\nconsole.log(${n});`),
      ),
    ],
    says: /Busy: /,
  },
  {
    name: "a package that is not there",
    most: 80,
    steps: [execute('import axios from "axios";\nconsole.log(axios);')],
    says: /cannot be imported/,
  },
  {
    name: "long output, of which 4,096 bytes are shown",
    most: 2_300,
    steps: [execute("for (let i = 0; i < 5_000; i++) console.log(`line ${i}`);")],
    says: /left out: read_output/,
  },
  {
    name: "a session",
    most: 40,
    steps: [
      execute("const kept = 41;", { session: "s" }),
      execute("console.log(kept + 1);", { session: "s" }),
    ],
    says: /\n42$/,
  },
  {
    name: "a saved program",
    most: 60,
    steps: [
      search("all tasks in a folder of notes"),
      execute(
        'import { openTasks } from "./programs/index.js";\nglobalThis.result = (await openTasks({ folder: "notes" })).count;',
      ),
    ],
    says: /\n3$/,
  },
];
