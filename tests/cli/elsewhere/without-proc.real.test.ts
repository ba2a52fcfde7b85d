import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, describe, expect, test } from "vitest";
import { type Exited, fixtureServer, type Project, usePtc } from "../ptc-process.ts";

/**
 * A system that is not this one: `/proc` is empty, there is no engine, and no command of the system's is to be found. The
 * namespace is the test's own.
 */
const HIDE = ['mount -t tmpfs none /proc && PATH=/nowhere && export PATH && exec "$@"', "sh"];
const HIDDEN = ["--mount", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"]), "sh", "-c", ...HIDE];

const newProject = usePtc();
let project: Project;

beforeAll(() => {
  project = newProject({
    "ptc.yaml": { servers: [fixtureServer("documents", "documents.mjs")] },
    "program.ts": "globalThis.result = 1;",
  });
});

function environment(): Record<string, string> {
  const DOCKER_HOST = `unix://${join(project.directory, "no.sock")}`;
  const own = { PATH: process.env.PATH ?? "", XDG_RUNTIME_DIR: join(project.directory, "run") };
  return { ...own, DOCKER_HOST, PTC_HOST: "off" };
}

async function ptc(args: readonly string[], { directory } = project): Promise<Exited> {
  const child = spawn("unshare", [...HIDDEN, ...project.command(args)], {
    cwd: directory,
    env: environment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited: Exited = { code: null, stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      exited[stream] += text;
    });
  }
  const [code] = await once(child, "close");
  return { ...exited, code };
}

describe("on a system without /proc, gVisor and an engine", () => {
  test("ptc init takes servers over", async () => {
    const other = newProject({ "client.json": { mcpServers: { mine: { command: "x" } } } });
    expect(await ptc(["init", "--import", "client.json"], other)).toMatchObject({ code: 0 });
    expect(other.read("ptc.yaml")).toContain("name: mine");
  });

  test("ptc generate works, and what reads the modules, the catalog and the archive", async () => {
    expect(await ptc(["generate"])).toMatchObject({ code: 0 });
    const lines = [
      "generate --check",
      "list",
      "search document",
      "inspect mcp__documents__get_document",
      "measure",
      "runs list",
      "runs stats",
      "runs verify",
    ];
    const codes = await Promise.all(lines.map(async (line) => [line, (await ptc(line.split(" "))).code]));
    expect(codes).toEqual(lines.map((line) => [line, 0]));
  });

  test.each([
    ["run program.ts", 3, /no Docker engine answers/],
    ["replay 000000", 2, /no run or input begins with 000000/],
    ["doctor", 3, /FAIL {2}docker +no Docker engine answers.*\nok {4}server documents/],
    ["doctor --walls", 3, /no Docker engine answers/],
    ["image build", 3, /no Docker engine answers/],
  ])("ptc %s says in a line what is missing", async (line, code, message) => {
    const exited = await ptc(line.split(" "));
    expect(exited.code).toBe(code);
    expect(exited.stdout + exited.stderr).toMatch(message);
    expect(exited.stderr).not.toMatch(/internal error|\n {4}at /);
  });

  test("ptc serve starts, and answers", async () => {
    const client = new Client({ name: "test", version: "1" });
    const args = [...HIDDEN, ...project.command(["serve"])];
    await client.connect(
      new StdioClientTransport({ command: "unshare", args, cwd: project.directory, env: environment() }),
    );
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("execute_program");
    const found = await client.callTool({ name: "list_callable_tools", arguments: {} });
    expect(JSON.stringify(found)).toContain("mcp__documents__get_document");
    await client.close();
  });
});
