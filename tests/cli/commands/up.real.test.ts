import { join } from "node:path";
import { expect, test } from "vitest";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { usePtc } from "../ptc-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const MEMORY = join(
  import.meta.dirname,
  "../../../node_modules/@modelcontextprotocol/server-memory/dist/index.js",
);
const newProject = usePtc();

describeSandboxed(`ptc up on a real terminal${WITHOUT_PYTHON}`, () => {
  test.skipIf(!hasPython)("goes from the servers of a client to a first program in a sandbox", async () => {
    const memory = { command: process.execPath, args: [MEMORY] };
    const project = newProject({ ".mcp.json": { mcpServers: { memory } } });
    const env = {
      ...{ HOME: project.directory, PTC_KEYRING: "off", PTC_HOST: "off" },
      XDG_STATE_HOME: join(project.directory, "state"),
      MEMORY_FILE_PATH: join(project.directory, "memory.json"),
    };
    const steps: [string, string][] = [
      ["Write ptc\\.yaml with servers .* \\(memory\\)\\? \\[Y/n\\]: ", "\r"],
      ["none \\[all\\]: ", "\r"],
      ["back\\. \\[y/N\\]: ", "y\r"],
      ["typed modules of its tools\\? \\[Y/n\\]: ", "\r"],
      ["into the configuration of Claude Code \\(\\.mcp\\.json\\)\\? \\[Y/n\\]: ", "\r"],
      ["Run a first program\\? \\[Y/n\\]: ", "\r"],
    ];
    const screen = await onTerminal(project, steps, ["up"], env);
    for (const step of ["servers", "modules", "client", "program"])
      expect(screen).toMatch(new RegExp(`^\\d/6 {2}${step} +done: `, "m"));
    expect(screen).toContain('await callTool("mcp__memory__read_graph", {})');
    expect(screen).toContain("ptc is set up. Next: ");
    const entries = JSON.parse(project.read(".mcp.json")) as { mcpServers: object };
    expect(Object.keys(entries.mcpServers)).toEqual(["ptc"]);
    const { stdout } = await project.ptc(["runs", "list", "--json"], { env });
    expect(JSON.parse(stdout)).toMatchObject([{ status: "ok", calls: 1, failed_calls: 0 }]);

    const again = await project.ptc(["up"], { env });
    expect(again).toMatchObject({ code: 0 });
    expect([...again.stdout.matchAll(/done before: /g)]).toHaveLength(6);
  });
});
