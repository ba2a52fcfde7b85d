import { expect, test } from "vitest";
import type { Exited } from "../cli/ptc-process.ts";
import { describeClient, findScript, runClient } from "./installed-client.ts";
import { PROGRAM, REPLY, TOOLS, useServedProject, WRONG_PROGRAM } from "./served-project.ts";

const served = useServedProject();

describeClient(
  "MCP Inspector's command line",
  () => findScript("@modelcontextprotocol/inspector", "mcp-inspector"),
  (inspector) => {
    function run(method: string, ...args: string[]): Promise<Exited> {
      const { folder, serve, home } = served();
      folder.write("inspector.json", { mcpServers: { ptc: { type: "stdio", ...serve } } });
      return runClient(
        inspector,
        ["--cli", "--config", "inspector.json", "--server", "ptc", "--method", method, ...args],
        { cwd: folder.directory, env: { HOME: home } },
      );
    }

    /** The result of one method, which the Inspector prints as JSON. */
    async function ask(method: string, ...args: string[]): Promise<unknown> {
      const { stdout, stderr } = await run(method, "--format", "json", ...args);
      if (stdout === "") throw new Error(`the Inspector printed nothing: ${stderr}`);
      return JSON.parse(stdout).result;
    }
    const call = (tool: string, args: object) =>
      ask("tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(args));

    test.for(["legacy", "modern"])("lists the tools in the %s era of the protocol", async (era) => {
      const answer = await ask("tools/list", "--protocol-era", era);
      const { tools } = answer as { tools: { name: string }[] };
      expect(tools.map(({ name }) => name).sort()).toEqual(TOOLS);
    });

    test("finds nothing in the tools' schemas that other clients could stumble over", async () => {
      const { code, stderr } = await run("tools/list", "--strict");
      expect({ code, stderr }).toMatchObject({
        code: 0,
        stderr: expect.not.stringMatching(/issue|problem/i),
      });
    });

    test("runs a program, and gets the reply that its model would read", async () => {
      expect(await call("execute_program", { code: PROGRAM })).toMatchObject({
        content: [{ type: "text", text: REPLY }],
        _meta: { "ptc/envelope": { tool_name: "execute_program", result: { ok: true } } },
      });
    });

    test("sees a failure as a failure", async () => {
      expect(await call("execute_program", { code: WRONG_PROGRAM })).toMatchObject({
        isError: true,
        content: [
          { text: expect.stringMatching(/^\[Script execution failed\]\nTypeCheckError: .*documentId/s) },
        ],
      });
    });

    test("searches, inspects and lists what programs can call", async () => {
      expect(await call("search_tools", { query: "delete a document" })).toMatchObject({
        content: [{ text: expect.stringContaining("mcp__my_documents__delete_document") }],
      });
      expect(await call("inspect_tool", { tool_name: "mcp__my_documents__get_document" })).toMatchObject({
        content: [{ text: expect.stringContaining('"inputSchema":{') }],
      });
      expect(await call("list_callable_tools", { server: "my_documents" })).toMatchObject({
        content: [{ text: expect.stringContaining('"mcp__my_documents__lock_document"') }],
      });
    });
  },
);
