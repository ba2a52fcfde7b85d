import { describe, expect, it } from "vitest";
import { fixtureServer, usePtc } from "../ptc-process.ts";

const newProject = usePtc();

async function generated() {
  const project = newProject({
    "ptc.yaml": {
      servers: [
        { ...fixtureServer("my-documents", "documents.mjs"), description: "Papers\u001b[31m" },
        fixtureServer("echo", "echo-v1.mjs"),
      ],
      tools: { block: ["mcp__my_documents__delete_*"] },
    },
  });
  await project.generate();
  return project;
}

describe("what people see of the tools", () => {
  it("is listed by server, without those that are blocked, and for machines as JSON", async () => {
    const project = await generated();
    const { code, stdout } = await project.ptc(["list"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^my-documents {2}servers\/my_documents, \d tools, all direct \(about \d+ tokens\), Papers\\u\{1b\}\[31m$/m,
    );
    expect(stdout).toMatch(/^ {2}getDocument/m);
    expect(stdout).not.toContain("delete");
    expect(stdout).not.toContain("\u001b");
    const json = JSON.parse((await project.ptc(["list", "my_documents", "--json"])).stdout);
    expect(json).toMatchObject([
      {
        server: "my-documents",
        module: "my_documents",
        tools: [
          { name: "mcp__my_documents__get_document", direct: "mcp__my_documents__get_document" },
          {},
          {},
        ],
      },
    ]);
  });

  it("is coloured where it is asked for", async () => {
    const project = await generated();
    const { stdout } = await project.ptc(["list"], { env: { FORCE_COLOR: "1" } });
    expect(stdout).toContain("\u001b[1mmy-documents\u001b[22m");
  });

  it("is found by what it does", async () => {
    const project = await generated();
    const { stdout } = await project.ptc(["search", "get", "document", "--json"]);
    const { query, tools } = JSON.parse(stdout);
    expect(query).toBe("get document");
    expect(tools[0]).toMatchObject({ name: "mcp__my_documents__get_document", server: "my-documents" });
    expect(await project.ptc(["search", "zebra"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "ptc: nothing matches; try other words\n",
    });
  });

  it("is shown with how a program calls it", async () => {
    const project = await generated();
    const { stdout } = await project.ptc(["inspect", "my-documents.getDocument"]);
    expect(stdout).toMatch(
      /^mcp__my_documents__get_document\nimport \* as my_documents from ".\/servers\/my_documents\/index.js";\n/,
    );
    expect(stdout).toMatch(/getDocument\(\{\s*documentId: ?string/);
    const json = JSON.parse(
      (await project.ptc(["inspect", "mcp__my_documents__get_document", "--json"])).stdout,
    );
    expect(json).toMatchObject({ name: "mcp__my_documents__get_document", outputSchema: { type: "object" } });
  });

  it.each([
    [["inspect", "mcp__my_documents__get_documents"], "did you mean mcp__my_documents__get_document"],
    [["list", "my-document"], "did you mean my_documents"],
    [["search", "x", "--server", "nowhere"], "there is no server 'nowhere'"],
    [["search", "x", "--limit", "0"], "--limit: '0' is not a whole number from 1 to 1000"],
  ])("has the nearest name for what is not there (%j)", async (args, message) => {
    const project = await generated();
    const { code, stdout, stderr } = await project.ptc(args);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(message),
    });
    expect(stderr.match(/\n/g)).toHaveLength(1);
  });

  it("costs what ptc measure says", async () => {
    const project = await generated();
    const measured = JSON.parse((await project.ptc(["measure", "--json"])).stdout);
    const [first, second] = measured.upFront.servers;
    expect(measured.upFront.total).toBe(first.tokens + second.tokens);
    expect(measured.ptc.total).toBe(measured.ptc.definitions + measured.ptc.instructions);
    expect(measured.ptc.total).toBeLessThan(1_000);
    expect(measured.direct.total).toBe(measured.upFront.total);
    const always = measured.ptc.total + measured.direct.total;
    expect(measured.direct.isAll).toBe(true);
    expect(measured.session).toEqual({ total: always, search: 0, inspect: 0, inspected: [] });
    expect(measured.beforeFirstProgram).toBe(always);
    const { stdout } = await project.ptc(["measure"]);
    expect(stdout).toMatch(/^all definitions up front +\d+$/m);
    expect(stdout).not.toMatch(/%|search_tools/);
  });
});
