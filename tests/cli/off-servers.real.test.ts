// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { describe, expect, it } from "vitest";
import { fixtureServer, type Project, usePtc } from "./ptc-process.ts";

const newProject = usePtc();

const WHY =
  "HUB_TOKEN is not set in the environment (ptc.yaml:1: servers[1].env.TOKEN); set it where ptc is started, or write ${HUB_TOKEN:-default}";

/** A folder with a server whose variable was set when its modules were generated, and is no longer. */
async function unset(): Promise<Project> {
  const project = newProject({
    "ptc.yaml": {
      servers: [
        fixtureServer("docs", "documents.mjs"),
        { ...fixtureServer("git-hub", "documents.mjs"), env: { TOKEN: "${HUB_TOKEN}" } },
      ],
    },
  });
  const { code } = await project.ptc(["generate"], { env: { HUB_TOKEN: "a-token-of-somebody" } });
  expect(code).toBe(0);
  return project;
}

describe("a server whose variable is not set", () => {
  it("is off in generate, which keeps its modules, goes on with the others and exits 1", async () => {
    const project = await unset();
    const { code, stdout, stderr } = await project.ptc(["generate"]);
    expect(stderr).toContain(`server 'git-hub' is off: ${WHY}; its last modules are kept`);
    expect(stdout).toMatch(/^docs +4 tools/m);
    expect(project.read("generated/servers/git_hub/index.ts")).toContain("getDocument");
    expect(code).toBe(1);
    expect((await project.ptc(["generate", "--check"])).code).toBe(1);
    expect((await project.ptc(["generate", "docs"])).code).toBe(0);
  });

  it("is named with the reason by list, search and inspect", async () => {
    const project = await unset();
    const listed = await project.ptc(["list"]);
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    expect(listed.stdout).toMatch(/^docs {2}servers\/docs, 4 tools, all direct \(about \d+ tokens\)$/m);
    expect(listed.stdout).toContain(`git-hub  off: ${WHY}\n`);
    expect(JSON.parse((await project.ptc(["list", "--json"])).stdout)[1]).toEqual({
      server: "git-hub",
      module: "git_hub",
      description: null,
      off: WHY,
      tools: [],
    });
    const searched = await project.ptc(["search", "document"]);
    expect(searched.stdout).not.toContain("git-hub");
    expect(searched.stderr).toContain(`ptc: not searched: server 'git-hub' is off: ${WHY}`);
    for (const args of [
      ["list", "git-hub"],
      ["inspect", "git_hub.get_document"],
    ]) {
      const { code, stderr } = await project.ptc(args);
      expect(code).toBe(2);
      expect(stderr).toContain(WHY);
    }
  });

  it("does not stop what needs no server", async () => {
    const project = await unset();
    expect((await project.run("globalThis.result = 1")).code).toBe(0);
    for (const args of [["runs", "list"], ["measure"], ["runs", "stats"], ["replay", "--all"]]) {
      const { code, stderr } = await project.ptc(args);
      expect({ args, code, stderr }).toMatchObject({
        code: 0,
        stderr: expect.not.stringContaining("HUB_TOKEN"),
      });
    }
  });

  it("fails a program's call with the reason, and no other call", async () => {
    const project = await unset();
    const { code, envelope, stderr } = await project.run(`
      import * as docs from "./servers/docs/index.js";
      import * as hub from "./servers/git_hub/index.js";
      const { title } = await docs.getDocument({ documentId: "a" });
      const failed = await hub.getDocument({ documentId: "a" }).catch((error) => error);
      globalThis.result = [title, failed.name, failed.server, failed.retryable, failed.message];
    `);
    expect(envelope.result).toMatchObject({
      ok: true,
      data: [
        "Document a",
        "ToolError",
        "git_hub",
        false,
        `'mcp__git_hub__get_document' failed: server 'git-hub' is off: ${WHY}`,
      ],
    });
    expect(stderr.match(/ptc: warning: server 'git-hub' is off/g)).toHaveLength(1);
    expect(code).toBe(0);
  });

  it("is named by serve, which starts, finds and runs the tools of the others", async () => {
    const project = await unset();
    const { client, stderr } = await project.serve();
    const text = async (name: string, args: Record<string, unknown>) =>
      ((await client.callTool({ name, arguments: args })).content as { text: string }[])[0]?.text;
    const found = await text("search_tools", { query: "get document" });
    expect(found).toContain("mcp__docs__get_document");
    expect(found).not.toContain("mcp__git_hub");
    expect(found).toContain(`server 'git_hub' is not searched: ${WHY}`);
    expect(await text("list_callable_tools", {})).not.toContain("git_hub");
    expect(await text("inspect_tool", { tool_name: "mcp__git_hub__get_document" })).toContain(WHY);
    const code = 'await mcp__git_hub__get_document({ documentId: "a" })';
    expect(await text("execute_program", { code })).toContain(`server 'git-hub' is off: ${WHY}`);
    await client.close();
    expect(stderr().match(/ptc: warning: server 'git-hub' is off/g)).toHaveLength(1);
  });

  it("is what doctor exits 1 for", async () => {
    const { code, stdout } = await (await unset()).ptc(["doctor"]);
    expect(stdout).toMatch(/^ok +configuration +ptc\.yaml, 2 servers, 1 of them off$/m);
    expect(stdout).toMatch(/^ok +server docs /m);
    expect(stdout).toContain(`server 'git-hub' is off: ${WHY}`);
    expect(code).toBe(1);
  });

  it("is told by doctor among a dozen others, and nothing but the findings is printed", async () => {
    const many = Array.from({ length: 12 }, (_, i) => fixtureServer(`s${i}`, "documents.mjs"));
    const off = { name: "off", command: "x", env: { TOKEN: "${HUB_TOKEN}" } };
    const project = newProject({ "ptc.yaml": { servers: [...many, off] } });
    const { stdout, stderr } = await project.ptc(["doctor"]);
    expect(stderr).toBe("");
    expect(stdout.match(/^ok +server s\d+ /gm)).toHaveLength(12);
    expect(stdout).toMatch(/^FAIL +server off /m);
  });
});
