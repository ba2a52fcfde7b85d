/**
 * How a model reaches the result of an example of `examples/recipes`, with and without ptc. `countSavings` counts what it reads on
 * the way.
 */
export interface Conversation {
  /** The file of the program. */
  program: string;
  /** Its queries to `search_tools`, or another tool search, before it writes anything. Searches share a turn. */
  queries: readonly string[];
  /** For each call of the program, in order: the turn in which a model could make it. Independent calls share one. */
  turns: readonly number[];
  /** A program that looks at a result without a schema before the example can be written. */
  look?: string;
  /** The saved program that it calls, if that makes the calls. */
  saved?: string;
}

export const CONVERSATIONS: readonly Conversation[] = [
  { program: "fan-out.ts", queries: ["search files by pattern, read text files"], turns: [1, 2, 2, 2, 2, 2] },
  { program: "filter.py", queries: ["search files by pattern, read text files"], turns: [1, 2, 2, 2, 2, 2] },
  {
    program: "join.py",
    queries: ["read text file", "execute SQL query"],
    turns: [1, 1, 2, 3, 1],
    look: 'from servers.sqlite import executeSafeQuery\nresult = executeSafeQuery(query="SELECT 1 AS id")',
  },
  { program: "paging.ts", queries: ["git log"], turns: [1, 2, 3] },
  { program: "retry.py", queries: ["fetch JSON from a URL"], turns: [1, 2, 3] },
  {
    program: "approval.ts",
    queries: ["create, search and delete entities of the knowledge graph"],
    turns: [1, 2, 3],
  },
  { program: "large-data.py", queries: ["read text file"], turns: [1] },
  {
    program: "images.ts",
    queries: ["tiny image"],
    turns: [1],
    look: 'import * as everything from "./servers/everything/index.js";\nconst blocks = await everything.getTinyImage({});\nglobalThis.result = blocks.map((block: object) => Object.keys(block));',
  },
  {
    program: "resources.py",
    queries: ["list and read resources of everything"],
    turns: [1, 2, 2, 2, 2, 2, 2, 2],
  },
  {
    program: "web-to-database.ts",
    queries: ["fetch JSON from a URL", "execute SQL query"],
    turns: [1, 1, 2, 3],
    look: 'import * as sqlite from "./servers/sqlite/index.js";\nimport * as web from "./servers/web/index.js";\nconst answer = await web.fetchJson({ url: data.url });\nconsole.log(JSON.stringify(answer).slice(0, 200));\nconsole.log(await sqlite.executeSafeQuery({ query: "SELECT 1 AS id" }));',
  },
  {
    program: "graph.py",
    queries: ["git log", "create and open entities of the knowledge graph"],
    turns: [1, 2, 3],
  },
  {
    program: "saved.ts",
    queries: ["all tasks in a folder of notes"],
    turns: [1, 2, 2, 2, 2, 2],
    saved: "mcp__programs__open_tasks",
  },
];
