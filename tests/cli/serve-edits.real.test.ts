import { readdirSync, readFileSync } from "node:fs";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { describe, expect, it } from "vitest";
import { fixtureServer, usePtc } from "./ptc-process.ts";

const newProject = usePtc();
const docs = fixtureServer("docs", "documents.mjs");

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const reply = await client.callTool({ name, arguments: args });
  return (reply.content as { text: string }[]).map(({ text }) => text).join("\n--\n");
}

const run = (client: Client, code: string) => call(client, "execute_program", { code });
const GET = 'result = (await mcp__docs__get_document({ documentId: "a" })).title';
const DONE = '[Script executed successfully]\n"Document a"';

/** The processes that have this in their environment. */
function serversWith(variable: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(variable);
    } catch {
      return false;
    }
  });
}

describe("ptc serve while its configuration is edited", () => {
  it("blocks and allows as the file says when a program begins, and keeps servers that are as they were", async () => {
    const project = newProject({ "ptc.yaml": { servers: [docs] } });
    await project.generate();
    const { client } = await project.serve();
    expect(await run(client, GET)).toBe(DONE);
    project.write("ptc.yaml", { servers: [docs], tools: { block: ["mcp__docs__get_document"] } });
    expect(await run(client, GET)).toContain("not available in execute_program");
    expect(await run(client, 'await callTool("mcp__docs__get_document", { documentId: "a" })')).toContain(
      "not available in execute_program",
    );
    expect(await call(client, "list_callable_tools")).not.toContain("get_document");
    project.write("ptc.yaml", { servers: [docs] });
    expect(await run(client, GET)).toBe(DONE);
    await client.close();
  });

  it("blocks the next call of a program that runs", async () => {
    const project = newProject({ "ptc.yaml": { servers: [docs] } });
    await project.generate();
    const { client } = await project.serve();
    let edited = false;
    const code = `
      for (let i = 0; i < 100_000; i++) await mcp__docs__get_document({ documentId: String(i) });
    `;
    const reply = await client.callTool({ name: "execute_program", arguments: { code } }, undefined, {
      onprogress() {
        if (edited) return;
        edited = true;
        project.write("ptc.yaml", { servers: [docs], tools: { block: ["mcp__docs__get_document"] } });
      },
    });
    expect(edited).toBe(true);
    expect(JSON.stringify(reply.content)).toContain(
      "'mcp__docs__get_document' is not available in execute_program",
    );
    await client.close();
  });

  it("keeps the last good configuration when an edit is wrong, and says so in every reply until it is mended", async () => {
    const block = { block: ["mcp__docs__delete_document"] };
    const project = newProject({ "ptc.yaml": { servers: [docs], tools: block } });
    await project.generate();
    const { client, stderr } = await project.serve();
    const NOTICE =
      "ptc: the configuration was edited and cannot be used, so the earlier one is still in force: ";
    for (const [tools, why] of [
      [{ blok: [] }, "ptc.yaml:1: tools.blok: is not a known key"],
      [{ block: ["mcp__docs__no_such"] }, "'mcp__docs__no_such' matches no tool"],
    ] as const) {
      project.write("ptc.yaml", { servers: [docs], tools });
      for (const reply of [
        await run(client, GET),
        await run(client, 'await callTool("mcp__docs__delete_document", { documentId: "a" })'),
        await call(client, "search_tools", { query: "document" }),
        await call(client, "list_callable_tools"),
      ]) {
        expect(reply).toContain(`\n--\n${NOTICE}`);
        expect(reply).toContain(why);
      }
      expect(stderr()).toContain(why);
    }
    expect(await run(client, 'await callTool("mcp__docs__delete_document", {})')).toContain("not available");
    project.write("ptc.yaml", { servers: [docs] });
    expect(await run(client, GET)).toBe(DONE);
    await client.close();
  });

  it("takes in new servers, ends those that are gone, and starts changed ones with their new settings", async () => {
    const withToken = (token: string) => ({
      ...fixtureServer("env", "env-dump.mjs"),
      env: { A_SETTING: token },
    });
    const project = newProject({ "ptc.yaml": { servers: [docs, withToken("one-of-them")] } });
    await project.generate();
    const { client } = await project.serve();
    const dump =
      "const { A_SETTING } = (await mcp__env__go({})).env; result = [A_SETTING, A_SETTING.slice(0, 3)]";
    expect(await run(client, dump)).toContain('["[REDACTED]","one"]');
    expect(serversWith("A_SETTING=one-of-them")).toHaveLength(1);
    project.write("ptc.yaml", { servers: [withToken("two-of-them"), fixtureServer("echo", "echo-v1.mjs")] });
    expect(await run(client, dump)).toContain('["[REDACTED]","two"]');
    await expect.poll(() => serversWith("A_SETTING=one-of-them"), { timeout: 60_000 }).toEqual([]);
    await expect
      .poll(() => call(client, "list_callable_tools"), { timeout: 60_000 })
      .toContain("mcp__echo__");
    expect(await call(client, "list_callable_tools")).not.toContain("mcp__docs__");
    expect(await run(client, GET)).toContain("there is no tool 'mcp__docs__get_document'");
    await client.close();
  });

  it("says where it has looked when there is no configuration, and finds one that is written later", async () => {
    const project = newProject();
    const { client, stderr } = await project.serve();
    const where = `there is no ptc.yaml and no config.yaml in ${project.directory}`;
    for (const reply of [
      await call(client, "search_tools", { query: "document" }),
      await call(client, "list_callable_tools"),
      await run(client, "result = 1"),
    ]) {
      expect(reply).toContain(where);
      expect(reply).toContain("run `ptc init` there");
    }
    expect(stderr()).toContain(where);
    project.write("ptc.yaml", { servers: [docs] });
    await expect
      .poll(() => call(client, "list_callable_tools"), { timeout: 60_000 })
      .toContain("mcp__docs__");
    expect(await run(client, GET)).toBe(DONE);
    await client.close();
  });
});

describe("ptc serve over a catalog from which a hint was deleted", () => {
  it("mends it, and asks", async () => {
    const tool = {
      name: "delete_all",
      inputSchema: { type: "object" },
      annotations: { destructiveHint: true },
    };
    const project = newProject({ "tools.json": [tool] });
    project.write("ptc.yaml", { servers: [fixtureServer("files", "tools-from-file.mjs", ["tools.json"])] });
    await project.generate();
    const CATALOG = "generated/catalog.json";
    const before = project.read(CATALOG);
    const takeHint = () => {
      const catalog = JSON.parse(before);
      delete catalog.servers[0].tools[0].annotations;
      project.write(CATALOG, catalog);
    };
    takeHint();
    const { client, stderr } = await project.serve();
    try {
      const asked = () => run(client, "result = await mcp__files__delete_all({});");
      await client.listTools();
      await expect.poll(() => project.read(CATALOG), { timeout: 60_000 }).toBe(before);
      expect(await asked()).toContain("[Script waits for an approval]");
      expect(stderr()).toContain("catalog.json was edited: tool 'delete_all' of server 'files'");
      takeHint();
      expect(await asked()).toContain("[Script waits for an approval]");
      expect(project.read(CATALOG)).toBe(before);
    } finally {
      await client.close();
    }
  });
});
