import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPtc, type Ptc } from "../../library/ptc.ts";
import { useNoWalls, variablesIn } from "../library/open.ts";
import { rowsBeside } from "../rows.ts";
import { canDoWithoutNetwork, ProcessEngine } from "../runner-image/process-engine.ts";
import { missingFor } from "../runner-image/runner-process.ts";

/** A program that makes a mistake, what the first reply to it has to say, and arguments beside the program. */
type Row = [mistake: string, code: string, says: string[], more?: Record<string, unknown>];

const rows = rowsBeside(import.meta.filename);
const MODULES = join(import.meta.dirname, "../../node_modules");
const FIXTURES = join(import.meta.dirname, "../fixtures/servers");
/** Programs that models wrote, with `/data/project` for a folder of the file server. */
const SHARED =
  process.env.PTC_MODEL_MISTAKES ??
  join(import.meta.dirname, "../../../shared/data/model-mistakes/programs.json");
const LISTED = "/data/project";
const shared = existsSync(SHARED)
  ? (JSON.parse(readFileSync(SHARED, "utf8")) as { name: string; code: string; timeout_seconds?: number }[])
  : [];

const hasNoNetwork = canDoWithoutNetwork();
useNoWalls(new ProcessEngine({ hasNetwork: !hasNoNetwork }));

let folder: string;
let ptc: Ptc;

/** Real servers, but for one that answers as a Python server does, and one that does not start. */
beforeAll(async () => {
  // A value of `env` with random letters in it would be taken for a secret.
  folder = join(tmpdir(), `ptc-mistakes-${process.pid}`);
  const project = join(folder, "project");
  for (const name of ["notes", "many", "repo"]) mkdirSync(join(project, name), { recursive: true });
  writeFileSync(join(project, "README.md"), "# Read me\n");
  for (const name of ["a", "b"]) writeFileSync(join(project, `notes/${name}.md`), `# Note ${name}\n`);
  for (let i = 0; i < 300; i++) writeFileSync(join(project, `many/file-${i}.txt`), "x");
  const who = ["-c", "user.name=Ada", "-c", "user.email=nobody@example.com"];
  const git = (...args: string[]) =>
    execFileSync("git", [...who, ...args], { cwd: join(project, "repo"), stdio: "ignore" });
  git("init");
  for (const message of ["One", "Two"]) git("commit", "--allow-empty", "--message", message);
  const node = (name: string, args: string[], env = {}) => ({ name, command: process.execPath, args, env });
  const server = (name: string) => join(MODULES, "@modelcontextprotocol", `server-${name}/dist/index.js`);
  const servers = [
    node("filesystem", [server("filesystem"), project]),
    node("git-mcp-server", [join(MODULES, "@cyanheads/git-mcp-server/dist/index.js")], {
      GIT_BASE_DIR: project,
      MCP_LOG_LEVEL: "error",
    }),
    node("memory", [server("memory")], { MEMORY_FILE_PATH: join(folder, "memory.jsonl") }),
    node("everything", [server("everything"), "stdio"]),
    node("sqlite", [join(FIXTURES, "python-rows.mjs")]),
    node("broken", [join(FIXTURES, "exits-at-once.mjs")]),
  ];
  const config = { languages: ["typescript", "python"], learn: "off", sandbox: { warm: 0 }, servers };
  const file = join(folder, "ptc.yaml");
  writeFileSync(file, JSON.stringify(config));
  ptc = await createPtc({ cwd: folder, config: file, env: variablesIn(folder), onWarning: () => {} });
  // The first check of types loads what checks them.
  for (const language of ["typescript", "python"])
    await execute({ code: "x = mcp__memory__read_graph()", language });
});

afterAll(async () => {
  await ptc?.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function execute(args: Record<string, unknown>): Promise<string> {
  const tool = ptc.tools().find(({ name }) => name === "execute_program");
  const reply = await tool?.execute(args);
  const texts = (reply?.content ?? []).map((block) => (block.type === "text" ? block.text : ""));
  return texts.join("\n").replaceAll(join(folder, "project"), LISTED);
}

/** Whether a program would reach for the network of this machine. */
function needsNetwork(code: string): boolean {
  return !hasNoNetwork && /\bfetch\(|\brequests\b|\burllib\b|\bsocket\b|node:(?:https?|net|dns)/.test(code);
}

const reachable = (table: string) => rows<Row>(table).filter(([, code]) => !needsNetwork(code));

/** The reply to a program whose calls name the folder that is there. What it does without a call sees no such folder. */
function replyTo(code: string, more: Record<string, unknown> = {}): Promise<string> {
  const touches = /\bfs\b|\bopen\(|\bos\.|\bpathlib\b|\bglob\b|\bsubprocess\b/.test(code);
  return execute({ code: touches ? code : code.replaceAll(LISTED, join(folder, "project")), ...more });
}

const skipped = hasNoNetwork
  ? ""
  : " (those of a network are skipped: no process can be started without one here)";

describe.skipIf(missingFor("python") !== "")(`the first reply to a model's mistake${skipped}`, () => {
  describe(`in programs that models wrote${shared.length === 0 ? " (skipped: the shared programs are not here)" : ""}`, () => {
    const says = new Map(rows<[string, string[]]>("shared"));
    it.skipIf(shared.length === 0)("is known for each of them", () => {
      expect(shared.map(({ name }) => name)).toEqual([...says.keys()]);
    });

    it.each(shared.filter(({ code }) => !needsNetwork(code)))(
      "is enough to repair $name",
      async ({ name, code, ...more }) => {
        const reply = await replyTo(code, more);
        for (const each of says.get(name) ?? []) expect(reply).toContain(each);
      },
    );
  });

  it.each(reachable("typescript"))(
    "in TypeScript is enough to repair %s",
    async (_, code, says, more = {}) => {
      const reply = await replyTo(code, { language: "typescript", ...more });
      for (const each of says) expect(reply).toContain(each);
    },
  );

  it.each(reachable("python"))("in Python is enough to repair %s", async (_, code, says, more = {}) => {
    const reply = await replyTo(code, { language: "python", typecheck: "off", ...more });
    for (const each of says) expect(reply).toContain(each);
  });

  it("says once why a server is down", async () => {
    for (const code of [
      "await callTool('mcp__broken__list_things', {});",
      "import * as broken from './servers/broken/index.js';\nawait broken.listThings({});",
      "await mcp__broken__list_things({});",
    ]) {
      const reply = await execute({ code });
      expect(reply.match(/server 'broken'/gi)).toHaveLength(1);
      expect(reply).toContain("exited with code 3");
    }
  });
});
