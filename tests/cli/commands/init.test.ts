import { spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseChoice } from "../../../cli/commands/configuration/client-files.ts";
import { projectFromSources } from "../in-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const TOKEN = "abcd1234efgh5678";

/** A home with the files of some clients in it. */
function setUp() {
  const keyed = { command: "npx", env: { DB_PASSWORD: TOKEN, MODE: "fast" } };
  const project = projectFromSources({
    ".vscode/mcp.json": { servers: { hub: { url: "https://h.example/mcp" } } },
    ".cursor/mcp.json": { mcpServers: { keyed } },
    ".codex/config.toml": `[mcp_servers.codexy]\ncommand = "cx"\nenv_vars = ["PASSED"]\n`,
  });
  // With an engine chosen, nobody is asked which one is wanted.
  return {
    project,
    env: { ...project.env, APPDATA: undefined, CODEX_HOME: undefined, PTC_ENGINE: "docker" },
  };
}

describe.skipIf(process.platform !== "linux")("ptc init --import without a file", () => {
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
      expect(screen).toContain("ptc: write numbers from 1 to 3, all or none\n");
      expect(screen).toContain("1 value in plain text looks secret (keyed: DB_PASSWORD).\n");
      expect(screen).not.toContain(TOKEN);
      expect(project.read("ptc.yaml")).toContain("keyring: keyed/DB_PASSWORD");
      expect(project.read("ptc.yaml")).not.toContain("codexy");
      expect(project.read(".local/state/ptc/secrets.json")).toContain(TOKEN);
      expect(screen).toMatch(
        /Cursor still has these beside ptc[\s\S]*- {2}keyed {2}npx {2}Cursor, \.cursor\/mcp\.json/,
      );
      expect(project.read(".cursor/mcp.json")).toBe("{}\n");
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

it.skipIf(!hasPython || process.platform !== "linux")(
  `asks on a terminal of a machine without gVisor which wall is wanted, and says how to have the stronger one${WITHOUT_PYTHON}`,
  async () => {
    const project = projectFromSources({});
    const PATH = join(project.directory, "bin");
    mkdirSync(PATH);
    const python = spawnSync("python3", ["-c", "import sys; print(sys.executable)"]).stdout.toString().trim();
    symlinkSync(python, join(PATH, "python3"));
    const env = { ...project.env, PATH, DOCKER_HOST: "unix:///nowhere.sock", PTC_ENGINE: undefined };
    const screen = await onTerminal(project, [["installed\\? \\[y/N\\]: ", "y\r"]], ["init"], env);
    expect(screen).toContain("a weaker wall");
    const written = project.read("ptc.yaml");
    expect(written).toMatch(
      /^# This machine had no gVisor[^\n]*\n# For the stronger one, install gVisor[^\n]*\nsandbox:\n {2}engine: wasm\n/m,
    );
    expect((await project.ptc(["list"], { env })).code).toBe(0);
  },
);
