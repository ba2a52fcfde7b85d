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

/** The tools that ptc offers, sorted. */
export const TOOLS = [
  "execute_program",
  "inspect_tool",
  "list_callable_tools",
  "read_output",
  "search_tools",
];

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
  return { command, args, env: { XDG_RUNTIME_DIR: join(directory, "run") } };
}
