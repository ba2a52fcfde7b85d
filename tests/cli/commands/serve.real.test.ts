import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { startTimeOf } from "../../../system/process-identity.ts";
import { containersOf } from "../../sandbox/containers-of.ts";
import { fixtureServer, type Project, usePtc } from "../ptc-process.ts";

const newProject = usePtc();

async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const reply = await client.callTool({ name, arguments: args });
  const [content] = reply.content as { text: string }[];
  return { text: content?.text ?? "", isError: reply.isError === true };
}

const run = (client: Client, code: string, rest: object = {}) =>
  call(client, "execute_program", { code, ...rest });

function documents(): Project {
  return newProject({ "ptc.yaml": { servers: [fixtureServer("my-documents", "documents.mjs")] } });
}

describe("ptc serve", () => {
  it("answers before any server is up, and names the one that never comes", async () => {
    const project = newProject({
      "ptc.yaml": {
        servers: [fixtureServer("dead", "exits-at-once.mjs"), fixtureServer("good", "documents.mjs")],
      },
    });
    const { client, stderr } = await project.serve();
    expect((await client.listTools()).tools).toHaveLength(5);
    await expect.poll(() => stderr(), { timeout: 20_000 }).toContain("server 'dead'");
    expect(stderr().match(/server 'dead'/g)).toHaveLength(1);
    await expect
      .poll(async () => (await call(client, "list_callable_tools")).text, { timeout: 20_000 })
      .toContain("mcp__good__get_document");
    expect(await call(client, "list_callable_tools", { server: "dead" })).toEqual({
      isError: true,
      text: expect.stringContaining("server 'dead'"),
    });
    expect(
      await run(client, 'console.log((await mcp__good__get_document({ documentId: "a" })).title)'),
    ).toEqual({
      isError: false,
      text: "[Script executed successfully]\nDocument a",
    });
    await client.close();
  });

  it("takes in what a server lists anew, writes the modules, and goes on", async () => {
    const project = newProject({ "names.txt": "one" });
    const file = join(project.directory, "names.txt");
    project.write("ptc.yaml", {
      servers: [
        fixtureServer("changing", "follows-file.mjs", [file]),
        fixtureServer("docs", "documents.mjs"),
      ],
    });
    await project.generate();
    const { client } = await project.serve();
    expect((await run(client, "await mcp__changing__one({}); result = 1")).isError).toBe(false);
    project.write("names.txt", "one two");
    await expect
      .poll(async () => (await call(client, "search_tools", { query: "two", detail: "name" })).text, {
        timeout: 20_000,
      })
      .toContain("mcp__changing__two");
    expect((await run(client, "await mcp__changing__two({}); result = 1")).isError).toBe(false);
    expect(project.read("generated/servers/changing/index.ts")).toContain("mcp__changing__two");
    await client.close();
  });

  it("announces a server that another process has generated", async () => {
    const project = documents();
    await project.generate();
    const { client } = await project.serve();
    let announced = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      announced++;
    });
    project.write("ptc.yaml", { servers: [] });
    await project.ptc(["generate"]);
    expect((await call(client, "list_callable_tools")).text).toBe("[]");
    expect(announced).toBe(1);
    await client.close();
  });

  it("is not held up by a server that announces changes without end", async () => {
    const project = newProject({
      "ptc.yaml": {
        servers: [
          fixtureServer("restless", "announces-without-end.mjs"),
          fixtureServer("docs", "documents.mjs"),
        ],
      },
    });
    await project.generate();
    const { client, pid } = await project.serve();
    expect((await run(client, "await mcp__restless__go({}).catch(() => {}); result = 1")).isError).toBe(
      false,
    );
    for (let i = 0; i < 3; i++) {
      const { text } = await run(
        client,
        'result = (await mcp__docs__get_document({ documentId: "a" })).title',
      );
      expect(text).toBe('[Script executed successfully]\n"Document a"');
      expect((await call(client, "search_tools", { query: "document" })).text).toContain("mcp__docs__");
    }
    await client.close();
    await expect.poll(() => startTimeOf(pid), { timeout: 20_000 }).toBeUndefined();
  });

  it("starts a server anew whose tools another process has generated since", async () => {
    const project = newProject({ "ptc.yaml": "" });
    const tool = (description: string) => [{ name: "go", description, inputSchema: { type: "object" } }];
    project.write("tools.json", tool("old"));
    const file = join(project.directory, "tools.json");
    project.write("ptc.yaml", { servers: [fixtureServer("upgraded", "tools-from-file.mjs", [file])] });
    await project.generate();
    const { client } = await project.serve();
    const program = "await mcp__upgraded__go({}); result = 1";
    expect((await run(client, program)).isError).toBe(false);
    project.write("tools.json", tool("new"));
    await project.generate();
    expect(await run(client, program)).toEqual({
      isError: false,
      text: "[Script executed successfully]\n1",
    });
    await client.close();
  });

  it("writes modules again that somebody has deleted", async () => {
    const project = documents();
    await project.generate();
    const { client, stderr } = await project.serve();
    rmSync(join(project.directory, "generated/servers"), { recursive: true });
    const program = `import { getDocument } from "./servers/my_documents/index.js";
      result = (await getDocument({ documentId: "a" })).title`;
    expect((await run(client, program)).text).toBe('[Script executed successfully]\n"Document a"');
    expect(stderr()).toContain("the module of server 'my-documents' was missing");
    await client.close();
  });

  it("goes on when a server dies between search and run", async () => {
    const project = newProject({
      "ptc.yaml": {
        servers: [fixtureServer("fragile", "dies-on-call.mjs"), fixtureServer("docs", "documents.mjs")],
      },
    });
    await project.generate();
    const { client } = await project.serve();
    const [name] = JSON.parse(
      (await call(client, "list_callable_tools", { server: "fragile" })).text,
    ) as string[];
    const failed = await run(client, `await callTool("${name}", {})`);
    expect(failed).toEqual({ isError: true, text: expect.stringContaining(`ToolError: '${name}' failed:`) });
    const after = await run(client, 'result = (await mcp__docs__get_document({ documentId: "b" })).title');
    expect(after.text).toBe('[Script executed successfully]\n"Document b"');
    await client.close();
  });

  it("kills a cancelled program's sandbox and serves the next", async () => {
    const project = documents();
    await project.generate();
    const { client, pid } = await project.serve();
    const cancel = new AbortController();
    const started = new Promise<void>((resolve) => {
      void client
        .callTool(
          {
            name: "execute_program",
            arguments: { code: 'await mcp__my_documents__get_document({ documentId: "a" }); for (;;);' },
          },
          undefined,
          { signal: cancel.signal, onprogress: () => resolve() },
        )
        .catch(() => {});
    });
    await started;
    const before = await containersOf(pid);
    expect(before.length).toBeGreaterThan(0);
    cancel.abort();
    expect((await run(client, "result = 1")).isError).toBe(false);
    await client.close();
    await expect.poll(() => containersOf(pid), { timeout: 20_000 }).toEqual([]);
  });

  it("leaves nothing behind when its client goes in the middle of a program", async () => {
    const project = documents();
    await project.generate();
    const { client, pid } = await project.serve();
    const begun = new Promise<void>((resolve) => {
      client
        .callTool(
          {
            name: "execute_program",
            arguments: { code: 'await mcp__my_documents__get_document({ documentId: "a" }); for (;;);' },
          },
          undefined,
          { onprogress: () => resolve() },
        )
        .catch(() => {});
    });
    await begun;
    await client.close();
    await expect.poll(() => startTimeOf(pid), { timeout: 20_000 }).toBeUndefined();
    await expect.poll(() => containersOf(pid), { timeout: 20_000 }).toEqual([]);
    expect(project.state()).toEqual([]);
  });

  it("shows no configured secret: not in definitions, nor in progress, replies or what had been done", async () => {
    const secret = "correct-horse-battery-staple";
    const project = newProject({
      "tools.json": [{ name: "go", description: `Uses ${secret}`, inputSchema: { type: "object" } }],
    });
    const server = fixtureServer("leaky", "tools-from-file.mjs", [join(project.directory, "tools.json")]);
    project.write("ptc.yaml", { servers: [{ ...server, env: { API_KEY: secret } }] });
    await project.generate();
    const { client, stderr } = await project.serve();
    const progress: string[] = [];
    const reply = await client.callTool(
      {
        name: "execute_program",
        arguments: {
          code: `const parts = ["correct-horse", "-battery-staple"];
            await mcp__leaky__go({ key: parts.join("") });
            await callTool("mcp__leaky__" + parts.join(""), {});`,
        },
      },
      undefined,
      { onprogress: ({ message }) => progress.push(message ?? "") },
    );
    const inspected = await call(client, "inspect_tool", { tool_name: "mcp__leaky__go" });
    await client.close();
    const everything = [
      JSON.stringify(reply),
      inspected.text,
      ...progress,
      stderr(),
      project.read("generated/catalog.json"),
      project.read("generated/servers/leaky/index.ts"),
    ].join("\n");
    expect(everything).toContain('mcp__leaky__go({\\"key\\":\\"[REDACTED]\\"})');
    expect(inspected.text).toContain("Uses [REDACTED]");
    expect(everything).not.toContain(secret);
  });

  it("starts with nothing configured", async () => {
    const { client } = await newProject().serve();
    expect((await run(client, "result = 1 + 1")).text).toBe("[Script executed successfully]\n2");
    expect((await call(client, "search_tools", { query: "anything" })).text).toContain(
      "no servers are known yet",
    );
    await client.close();
  });
});
