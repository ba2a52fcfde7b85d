import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SandboxOutput } from "../../sandbox/sandbox.ts";
import type { SandboxRequest, StartedSandbox } from "../../sandbox/sandbox-engine.ts";
import { eventually } from "../eventually.ts";
import { ProcessEngine } from "../runner-image/process-engine.ts";
import { usePtcWithoutWalls } from "./in-process.ts";
import type { Project } from "./ptc-process.ts";

/** Starts no sandbox before something has happened. */
class HeldEngine extends ProcessEngine {
  until: () => void = () => {};

  override async start(request: SandboxRequest, output: SandboxOutput): Promise<StartedSandbox> {
    request.onRequested?.();
    await eventually(this.until);
    return super.start(request, output);
  }
}

const engine = new HeldEngine();
const newProject = usePtcWithoutWalls(engine);
const NOTES_ITS_LIFE = join(import.meta.dirname, "../fixtures/servers/notes-its-life.mjs");

const server = (name: string, ...more: string[]) => ({
  name,
  command: process.execPath,
  args: [NOTES_ITS_LIFE, "log", name, ...more],
});
const SETTINGS = { languages: ["typescript", "python"], servers: [server("one"), server("two")] };

/** A project whose servers were listed before, and note what happens from now on. */
async function listedProject(settings: object = {}): Promise<Project & { log: () => string[] }> {
  const made = newProject({ "ptc.yaml": SETTINGS, log: "" });
  expect(await made.ptc(["generate"])).toMatchObject({ code: 0 });
  made.write("ptc.yaml", { ...SETTINGS, ...settings });
  made.write("log", "");
  const log = () => made.read("log").split("\n").filter(Boolean);
  return Object.assign(made, { log });
}

/** Has no sandbox start before something is in a project's log. */
function holdUntil({ log }: { log: () => string[] }, line: string): void {
  engine.until = () => expect(log()).toContain(line);
  onTestFinished(() => {
    engine.until = () => {};
  });
}

async function run(project: Project, file: string, code: string, ...flags: string[]) {
  project.write(file, code);
  const ran = await project.ptc(["run", file, "--typecheck", "off", ...flags]);
  return { ...ran, result: JSON.parse(ran.stdout).result };
}

describe("a server that a program names", () => {
  it.each([
    ["p.ts", 'import { go } from "./servers/one/index.js";\nresult = await go({});'],
    ["p.ts", "result = await mcp__one__go({});"],
    ["p.js", 'globalThis.result = await callTool("mcp__one__go", {});'],
    ["p.py", "from servers.one import go\nresult = go()"],
    ["p.py", "import servers\nresult = servers.one.go()"],
    ["p.py", 'result = call_tool("mcp__one__go", {})'],
  ])("has started and listed its tools before the sandbox is there: %s: %s", async (file, code) => {
    const project = await listedProject();
    holdUntil(project, "one listed");
    const { result } = await run(project, file, code);
    expect(result).toMatchObject({ ok: true, data: "gone" });
    expect(project.log()).toEqual(["one started", "one listed", "one called", "one ended"]);
  });

  it("ends with the run that does not call it", async () => {
    const project = await listedProject();
    holdUntil(project, "one listed");
    const code = 'import { go } from "./servers/one/index.js";\nresult = data.never ? await go({}) : 1;';
    expect((await run(project, "p.ts", code)).result).toMatchObject({ ok: true, data: 1 });
    expect(project.log()).toEqual(["one started", "one listed", "one ended"]);
  });

  it("is not started where the policy leaves nothing of it", async () => {
    const project = await listedProject({ tools: { block: ["mcp__one__*"] } });
    holdUntil(project, "two listed");
    const code =
      'const name = "mcp__one__go"; const other = "mcp__two__go";\n' +
      'globalThis.result = data.never ? [callTool("mcp__one__go", {}), callTool("mcp__two__go", {})] : 1;';
    expect((await run(project, "p.js", code)).result).toMatchObject({ ok: true, data: 1 });
    expect(project.log()).toEqual(["two started", "two listed", "two ended"]);
  });

  it.each([
    ["p.js", 'mcp__two__go; globalThis.result = data.never ? callTool("mcp__one__" + data.tool, {}) : 1;'],
    [
      "p.py",
      'from servers.two import go\nresult = call_tool("mcp__one__" + tool, {}) if data.get("never") else 1',
    ],
    [
      "p.py",
      'import servers, servers.two\nresult = getattr(servers, data["never"]).go() if data.get("never") else 1',
    ],
  ])("is not started where its name is made when the program runs: %s: %s", async (file, code) => {
    const project = await listedProject();
    holdUntil(project, "two listed");
    expect((await run(project, file, code)).result).toMatchObject({ ok: true, data: 1 });
    expect(project.log()).toEqual(["two started", "two listed", "two ended"]);
  });

  it("costs nothing but its call where it cannot be started", async () => {
    const servers = [server("one", "fails"), server("two")];
    const project = await listedProject({ servers });
    holdUntil(project, "one ended");
    const code = (isCalled: boolean) =>
      `let message = "";\nif (${isCalled}) await mcp__one__go({}).catch((error) => { message = error.message; });\n` +
      "result = [message, await mcp__two__go({})];";
    const message =
      "'mcp__one__go' failed: server 'one' did not start: it exited with code 4: out of order; run its command by hand to see why";
    expect(await run(project, "p.ts", code(true))).toMatchObject({
      stderr: "",
      result: { ok: true, data: [message, "gone"] },
    });
    expect(await run(project, "p.ts", code(false))).toMatchObject({
      stderr: "",
      result: { ok: true, data: ["", "gone"] },
    });
  });

  it("is not started by a replay", async () => {
    const project = await listedProject();
    const { stdout } = await run(project, "p.ts", "result = await mcp__one__go({});");
    project.write("log", "");
    expect(await project.ptc(["replay", JSON.parse(stdout).run_id])).toMatchObject({ code: 0 });
    expect(project.log()).toEqual([]);
  });
});
