import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll } from "vitest";
import { fixtureServer, type Project, usePtc } from "../cli/ptc-process.ts";

const MEMORY = join(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/server-memory/dist/index.js",
);

/** How a client starts `ptc serve`. */
export interface ServeCommand {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** A folder with servers and generated modules, whose `ptc serve` clients start. */
export interface ServedProject {
  folder: Project;
  serve: ServeCommand;
  /** A home for a client, so that none reads or writes the real one. */
  home: string;
}

/** The tools that ptc offers, sorted: its own, and those of the two servers, whose definitions are small. */
export const TOOLS = [
  "execute_program",
  "inspect_tool",
  "list_callable_tools",
  ...["add_observations", "create_entities", "create_relations"].map((name) => `mcp__memory__${name}`),
  ...["delete_entities", "delete_observations", "delete_relations"].map((name) => `mcp__memory__${name}`),
  ...["open_nodes", "read_graph", "search_nodes"].map((name) => `mcp__memory__${name}`),
  ...["delete", "get"].map((verb) => `mcp__my_documents__${verb}_document`),
  "mcp__my_documents__list_documents",
  "mcp__my_documents__lock_document",
  "read_output",
  "search_tools",
];

/** A tool that a client calls without a program, and what it answers. */
export const DIRECT = "mcp__my_documents__get_document";
export const DIRECT_ANSWER = { title: "Document a", words: 3 };

/** A program that calls a tool more than once, and the whole reply to it. */
export const PROGRAM = `import { getDocument } from "./servers/my_documents/index.js";
const documents = await Promise.all(["a", "b"].map((documentId) => getDocument({ documentId })));
console.log(documents.map(({ title }) => title).join(", "));`;
export const REPLY = "[Script executed successfully]\nDocument a, Document b";

/** A program with a misspelt argument: line 2, column 28. */
export const WRONG_PROGRAM = `import { getDocument } from "./servers/my_documents/index.js";
console.log(await getDocument({ documentID: "a" }));`;

/** Builds ptc, and prepares one project with two servers for all tests of the file. */
export function useServedProject(): () => ServedProject {
  const newProject = usePtc();
  let served: ServedProject | undefined;
  beforeAll(async () => {
    const folder = newProject();
    const memory = { name: "memory", command: process.execPath, args: [MEMORY] };
    const env = { MEMORY_FILE_PATH: join(folder.directory, "memory.jsonl") };
    folder.write("ptc.yaml", {
      servers: [fixtureServer("my-documents", "documents.mjs"), { ...memory, env }],
      // More than clients show of a tool's result that says nothing of its size.
      execution: { max_reply_bytes: 65_536 },
    });
    await folder.generate();
    const home = join(folder.directory, "home");
    mkdirSync(home);
    served = { folder, serve: serveCommandOf(folder), home };
  });
  return () => {
    if (served === undefined) throw new Error("the project is there only once the tests run");
    return served;
  };
}

function serveCommandOf(project: Project): ServeCommand {
  const { directory } = project;
  const [command = "", ...args] = project.command(["serve", "--config", join(directory, "ptc.yaml")]);
  // Clients hand on few variables.
  const { PTC_ENGINE } = process.env;
  const engine = PTC_ENGINE === undefined ? {} : { PTC_ENGINE };
  return { command, args, env: { XDG_RUNTIME_DIR: join(directory, "run"), ...engine } };
}
