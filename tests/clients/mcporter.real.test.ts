import { expect, test } from "vitest";
import { describeClient, findScript, runClient } from "./installed-client.ts";
import { PROGRAM, REPLY, TOOLS, useServedProject, WRONG_PROGRAM } from "./served-project.ts";

const served = useServedProject();

describeClient(
  "mcporter",
  () => findScript("mcporter", "mcporter"),
  (mcporter) => {
    function run(...args: string[]) {
      const { folder, serve, home } = served();
      folder.write("mcporter.json", { imports: [], mcpServers: { ptc: serve } });
      const cwd = folder.directory;
      return runClient(mcporter, ["--config", "mcporter.json", ...args], { cwd, env: { HOME: home } });
    }
    const call = (tool: string, args: object) => run("call", `ptc.${tool}`, "--args", JSON.stringify(args));

    test("lists the tools of a server that is up", async () => {
      const { code, stdout } = await run("list", "ptc", "--json");
      const { status, tools } = JSON.parse(stdout);
      expect({ code, status }).toEqual({ code: 0, status: "ok" });
      expect(tools.map(({ name }: { name: string }) => name).sort()).toEqual(TOOLS);
    });

    test("prints the reply to a program", async () => {
      const { code, stdout } = await run("call", "ptc.execute_program", `code=${PROGRAM}`);
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${REPLY}\n` });
    });

    test("passes data and a time limit on to a program", async () => {
      const { code, stdout } = await call("execute_program", {
        code: "console.log(data.words.length); for (;;) {}",
        data: { words: ["a", "b"] },
        timeout_seconds: 2,
      });
      expect(stdout).toContain("[Script execution failed]\nTimeoutError: Execution exceeded 2s limit");
      expect(stdout).toMatch(/printed:\n2$/m);
      expect(code).toBe(1);
    });

    test("exits with an error when a program fails", async () => {
      const { code, stdout } = await run("call", "ptc.execute_program", `code=${WRONG_PROGRAM}`);
      expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining("TypeCheckError") });
    });

    test("searches and inspects", async () => {
      const search = await call("search_tools", { query: "read the knowledge graph", server: "memory" });
      expect(search.stdout).toContain("mcp__memory__read_graph");
      const inspect = await call("inspect_tool", { tool_name: "mcp__memory__read_graph" });
      expect(JSON.parse(inspect.stdout)).toMatchObject({ name: "mcp__memory__read_graph" });
    });
  },
);
