import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openArchive } from "../../archive/open-archive.ts";
import { isObject } from "../../base/json.ts";
import { makeProject, PTC } from "../peers.ts";

/** The results of one tool in archived runs, and its definition. */
export interface ArchivedTool {
  name: string;
  server: string;
  definition: Readonly<Record<string, unknown>>;
  /** In the order of the calls, one or two from each round. */
  results: readonly unknown[];
}

const PROGRAM = `for (const [tool, args] of data.calls) await callTool(tool, args).catch(() => {});\nresult = true;`;
const SETTINGS = {
  execution: { typecheck: "off" },
  approvals: { allow: ["mcp__*"] },
  sandbox: { warm: 0 },
  learn: "off",
};

/** Calls real servers, one run per round, and returns the archived results. */
export async function archiveResults(folder: string, rounds: number): Promise<ArchivedTool[]> {
  mkdirSync(folder, { recursive: true });
  const { servers, calls } = realServers(folder);
  const project = makeProject(join(folder, "project"), SETTINGS, servers as never);
  for (let round = 0; round < rounds; round++) {
    const run = spawnSync(
      process.execPath,
      [PTC, "run", "-", "--data", JSON.stringify({ calls: calls(round) })],
      {
        cwd: project,
        input: PROGRAM,
        encoding: "utf8",
        env: { ...process.env, PTC_HOST: "off" },
        maxBuffer: 2 ** 28,
      },
    );
    if (run.status !== 0) throw new Error(`a run failed: ${run.stdout}${run.stderr}`);
  }
  const tools = listedTools(project);
  const archive = openArchive({ path: join(project, ".ptc/archive.db"), keepDays: 30 });
  try {
    const { runs } = await archive.following(0, rounds);
    for (const { runId } of runs) {
      const run = await archive.read(runId);
      for (const call of run.record.calls) {
        const outcome = call.ok ? await run.outcomeOf(call) : undefined;
        if (outcome?.ok) tools.get(call.tool)?.results.push(outcome.data);
      }
    }
  } finally {
    await archive.close();
  }
  return [...tools.values()].filter(({ results }) => results.length > 0);
}

function listedTools(project: string) {
  const { servers } = JSON.parse(readFileSync(join(project, "generated/catalog.json"), "utf8")) as {
    servers: { name: string; module: string; tools: unknown[] }[];
  };
  return new Map(
    servers.flatMap(({ name: server, module, tools }) =>
      tools.filter(isObject).map((definition) => {
        const name = `mcp__${module}__${String(definition.name)}`;
        return [name, { name, server, definition, results: [] as unknown[] }] as const;
      }),
    ),
  );
}

const MODULES = join(import.meta.dirname, "../../node_modules");
const node = (path: string, ...args: string[]) => ({
  command: process.execPath,
  args: [join(MODULES, path), ...args],
});

/** A call of a tool of one of the servers, with its arguments. */
type RealCall = readonly [tool: string, args: object];

/** Real servers that work in a separate folder, and realistic calls of their tools that differ in each round. */
interface RealServers {
  servers: readonly object[];
  /** The calls of one round. @param round from 0. */
  calls(round: number): RealCall[];
}

/** @param folder empty. */
function realServers(folder: string): RealServers {
  const files = join(folder, "files");
  const repository = join(files, "repository");
  mkdirSync(repository, { recursive: true });
  writeFileSync(join(files, "notes.txt"), "one\ntwo\n");
  const git = spawnSync("git", ["init", "--quiet", "--initial-branch", "main", repository]);
  if (git.status !== 0) throw new Error("git cannot be run");
  for (const [key, value] of Object.entries({ "user.name": "Ada", "user.email": "ada@example.com" }))
    spawnSync("git", ["-C", repository, "config", key, value]);
  return {
    servers: [
      { name: "everything", ...node("@modelcontextprotocol/server-everything/dist/index.js") },
      { name: "filesystem", ...node("@modelcontextprotocol/server-filesystem/dist/index.js", files) },
      {
        name: "memory",
        ...node("@modelcontextprotocol/server-memory/dist/index.js"),
        env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
      },
      { name: "git", ...node("@cyanheads/git-mcp-server/dist/index.js") },
      { name: "sqlite", ...node("sqlite-mcp/cli.js"), env: { DATABASE_URL: join(folder, "shop.db") } },
    ],
    calls: (round) => [
      ...ofEverything(round),
      ...ofFiles(files, round),
      ...ofMemory(round),
      ...ofGit(repository, round),
      ...ofSqlite(round),
    ],
  };
}

function ofEverything(round: number): RealCall[] {
  const city = ["New York", "Chicago", "Los Angeles"][round % 3];
  const messageType = ["error", "success", "debug"][round % 3];
  return [
    ["mcp__everything__echo", { message: `message ${round}` }],
    ["mcp__everything__get-sum", { a: round, b: 0.5 }],
    ["mcp__everything__get-env", {}],
    ["mcp__everything__get-tiny-image", {}],
    ["mcp__everything__get-resource-links", { count: 1 + (round % 4) }],
    ["mcp__everything__get-annotated-message", { messageType, includeImage: round % 2 === 0 }],
    ["mcp__everything__get-structured-content", { location: city }],
  ];
}

function ofFiles(folder: string, round: number): RealCall[] {
  const path = join(folder, `file-${round}.txt`);
  const at = (tool: string, args: object): RealCall => [`mcp__filesystem__${tool}`, args];
  return [
    at("write_file", { path, content: `line ${round}\n`.repeat(round + 1) }),
    at("create_directory", { path: join(folder, `folder-${round}`) }),
    at("read_text_file", { path }),
    at("read_multiple_files", { paths: [path, join(folder, "notes.txt")] }),
    at("edit_file", { path, edits: [{ oldText: `line ${round}`, newText: "changed" }], dryRun: true }),
    at("list_directory", { path: folder }),
    at("list_directory_with_sizes", { path: folder }),
    at("directory_tree", { path: folder, excludePatterns: [".git"] }),
    at("get_file_info", { path }),
    at("search_files", { path: folder, pattern: "*.txt" }),
    at("list_allowed_directories", {}),
  ];
}

function ofMemory(round: number): RealCall[] {
  const name = `Person ${round}`;
  const at = (tool: string, args: object): RealCall => [`mcp__memory__${tool}`, args];
  return [
    at("create_entities", {
      entities: [
        { name, entityType: "person", observations: round % 2 ? [] : ["likes tea"] },
        { name: `City ${round}`, entityType: "city", observations: ["is old"] },
      ],
    }),
    at("create_relations", { relations: [{ from: name, to: `City ${round}`, relationType: "lives in" }] }),
    at("add_observations", { observations: [{ entityName: name, contents: [`fact ${round}`] }] }),
    at("search_nodes", { query: round % 3 === 0 ? "nobody" : "Person" }),
    at("open_nodes", { names: [name] }),
    at("read_graph", {}),
    at("delete_observations", { deletions: [{ entityName: name, observations: [`fact ${round}`] }] }),
  ];
}

function ofGit(path: string, round: number): RealCall[] {
  const at = (tool: string, args: object): RealCall => [`mcp__git__git_${tool}`, { path, ...args }];
  const file = `part-${round}.txt`;
  return [
    ["mcp__filesystem__write_file", { path: join(path, file), content: `part ${round}\n` }],
    at("status", {}),
    at("add", { paths: [file] }),
    at("diff", { staged: true }),
    at("commit", { message: `Add part ${round}` }),
    ["mcp__filesystem__write_file", { path: join(path, file), content: `part ${round}, changed\n` }],
    at("diff", {}),
    at("status", {}),
    at("stash", { mode: round % 2 ? "push" : "list" }),
    at("log", { maxCount: 1 + round, stat: round % 2 === 0 }),
    at("show", { object: "HEAD" }),
    at("branch", round % 2 ? { mode: "create", branchName: `topic-${round}` } : { mode: "list" }),
    at("tag", round % 2 ? { mode: "create", tagName: `v${round}` } : { mode: "list" }),
    at("blame", { filePath: file }),
    at("reflog", {}),
    at("remote", { mode: "list" }),
    at("worktree", { mode: "list" }),
  ];
}

function ofSqlite(round: number): RealCall[] {
  const at = (query: string): RealCall => ["mcp__sqlite__executeQuery", { query }];
  return [
    at("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT, total REAL, paid_at TEXT)"),
    at(
      `INSERT INTO orders (customer, total, paid_at) VALUES ('c${round}', ${round}.5, ${round % 2 ? "NULL" : "'2026-05-01'"})`,
    ),
    at("SELECT id, customer, total, paid_at FROM orders"),
    at("SELECT customer, SUM(total) AS total FROM orders GROUP BY customer"),
  ];
}
