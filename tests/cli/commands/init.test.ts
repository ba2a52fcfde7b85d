// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax under test
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseChoice } from "../../../cli/commands/configuration/client-files.ts";
import { projectFromSources } from "../in-process.ts";
import type { Project } from "../ptc-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const TOKEN = "abcd1234efgh5678";

function write(project: Project, files: Record<string, string | object>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(project.directory, name)), { recursive: true });
    project.write(name, content);
  }
}

/** A home with the files of many clients in it. */
function setUp() {
  const project = projectFromSources();
  write(project, {
    ".vscode/mcp.json": `{ // Code
      "inputs": [{ "id": "hub-token", "type": "promptString", "password": true }],
      "servers": { "hub": { "url": "https://h.example/mcp", "headers": { "Authorization": "Bearer \${input:hub-token}" } } } }`,
    ".cursor/mcp.json": {
      mcpServers: {
        keyed: { command: "npx", args: ["--api-key", TOKEN], env: { DB_PASSWORD: TOKEN, MODE: "fast" } },
      },
    },
    ".codex/config.toml": `[mcp_servers.codexy]\ncommand = "cx"\nenv_vars = ["PASSED"]\n`,
    ".gemini/settings.json": {
      mcpServers: { gem: { httpUrl: "http://g/mcp" }, old: { url: "http://g/sse" } },
    },
    ".config/Claude/claude_desktop_config.json": {
      mcpServers: { desk: { command: "dx" }, keyed: { command: "other" } },
    },
    ".claude/settings.json": { enabledPlugins: { "p@m": true, "q@m": false } },
    ".claude/plugins/installed_plugins.json": {
      version: 2,
      plugins: {
        "p@m": [{ installPath: join(project.directory, "plugins/p") }],
        "q@m": [{ installPath: join(project.directory, "plugins/q") }],
      },
    },
    "plugins/p/.mcp.json": { mcpServers: { plugged: { command: "${CLAUDE_PLUGIN_ROOT}/run" } } },
    "plugins/q/.mcp.json": { mcpServers: { unplugged: { command: "no" } } },
  });
  return { project, env: { ...project.env, APPDATA: undefined, CODEX_HOME: undefined } };
}

describe.skipIf(process.platform !== "linux")("ptc init --import without a file", () => {
  it("lists what clients have in a pipe, writes nothing, and says what to do", async () => {
    const { project, env } = setUp();
    const { code, stdout, stderr } = await project.ptc(["init", "--import"], { env });
    expect(code).toBe(2);
    expect(stderr).toBe(
      "ptc: these are in more than one file: take all of them with --import --all, or name one file\n",
    );
    expect(stdout).toMatch(/^\d +hub +https:\/\/h\.example\/mcp +VS Code, \.vscode\/mcp\.json$/m);
    expect(stdout).toMatch(/plugged .* Claude Code plugin p@m, plugins\/p\/\.mcp\.json$/m);
    expect(stdout).not.toContain("unplugged");
    expect(stdout).not.toContain(TOKEN);
    expect(() => project.read("ptc.yaml")).toThrow();
  });

  it("takes all with --all, and leaves no secret in plain text", async () => {
    const { project, env } = setUp();
    const { code, stderr } = await project.ptc(["init", "--import", "--all"], { env });
    expect(code).toBe(0);
    const text = project.read("ptc.yaml");
    expect(text + stderr).not.toContain(TOKEN);
    const servers = (parse(text) as { servers: { name: string }[] }).servers;
    const byName = Object.fromEntries(servers.map(({ name, ...rest }) => [name, rest]));
    expect(byName).toEqual({
      hub: {
        transport: "http",
        url: "https://h.example/mcp",
        headers: { Authorization: "Bearer ${HUB_TOKEN}" },
      },
      keyed: {
        transport: "stdio",
        command: "npx",
        args: ["--api-key", "${KEYED_SECRET}"],
        env: { DB_PASSWORD: "${DB_PASSWORD}", MODE: "fast" },
      },
      codexy: { transport: "stdio", command: "cx", env: { PASSED: "${PASSED}" } },
      gem: { transport: "http", url: "http://g/mcp" },
      old: { transport: "sse", url: "http://g/sse" },
      desk: { transport: "stdio", command: "dx" },
      plugged: { transport: "stdio", command: join(project.directory, "plugins/p/run") },
    });
    expect(stderr).toContain(
      "DB_PASSWORD of 'keyed' looks secret, and is ${DB_PASSWORD} now: set DB_PASSWORD\n",
    );
    expect(stderr).toContain("is ${KEYED_SECRET} now: set KEYED_SECRET\n");
    expect(stderr).toMatch(/server 'keyed' was left out: one of that name is taken from elsewhere/);
  });

  it("says so where there is nothing to take over", async () => {
    const project = projectFromSources();
    const { code, stderr } = await project.ptc(["init", "--import"], { env: project.env });
    expect(code).toBe(2);
    expect(stderr).toContain("no client on this machine has servers that ptc can use");
  });

  it.skipIf(!hasPython)(
    `lets one choose on a terminal, and offers the keyring${WITHOUT_PYTHON}`,
    async () => {
      const { project, env } = setUp();
      const listed = (await project.ptc(["init", "--import"], { env })).stdout;
      const number = /^(\d) +keyed/m.exec(listed)?.[1] ?? "";
      const steps: [string, string][] = [
        ["none \\[all\\]: ", "99\r"],
        ["none \\[all\\]: ", `${number}\r`],
        ["\\[Y/n\\]: ", "\r"],
        ["back\\. \\[y/N\\]: ", "y\r"],
      ];
      const screen = await onTerminal(project, steps, ["init", "--import"], env);
      expect(screen).toContain("ptc: write numbers from 1 to 7, all or none\n");
      expect(screen).toContain("1 value in plain text looks secret (keyed: DB_PASSWORD).\n");
      expect(screen).not.toContain(TOKEN);
      expect(project.read("ptc.yaml")).toContain("keyring: keyed/DB_PASSWORD");
      expect(project.read("ptc.yaml")).not.toContain("codexy");
      expect(project.read(".local/state/ptc/secrets.json")).toContain(TOKEN);
      expect(screen).toMatch(
        /Cursor still has these beside ptc[\s\S]*- {2}keyed {2}npx {2}Cursor, \.cursor\/mcp\.json/,
      );
      expect(() => project.read(".cursor/mcp.json")).toThrow();
      expect(project.read(".vscode/mcp.json")).toContain("hub");
    },
  );
});

it.each<[string, number[] | undefined]>([
  ["", [0, 1, 2]],
  ["ALL", [0, 1, 2]],
  ["none", []],
  ["3, 1", [0, 2]],
  ["1-2", [0, 1]],
  ["0", undefined],
  ["2-1", undefined],
  ["1-4", undefined],
  ["x", undefined],
])("of three, %j chooses %j", (answer, chosen) => {
  expect(parseChoice(answer, 3)).toEqual(chosen);
});
