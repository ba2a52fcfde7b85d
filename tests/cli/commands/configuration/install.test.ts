import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLIENTS } from "../../../../configuration/clients/clients.ts";
import { expectRefusal, userProject } from "../../in-process.ts";
import { FakeTerminal } from "../../terminal/terminals.ts";

const CONFIGURATION = `servers:
  # \${UNUSED}
  - { name: hub, url: "https://hub.example/mcp", headers: { Authorization: "Bearer \${HUB_TOKEN}", X: "\${X:-1}" } }
`;

/** Of a client: a path of its file that is a link, and where to. */
const LINKS = [
  ["claude", ".mcp.json", "elsewhere/.mcp.json"],
  ["claude", ".mcp.json", "elsewhere/missing.json"],
  ["cursor", ".cursor", "elsewhere"],
  ["vscode", ".vscode", "missing"],
  ["codex", ".codex/config.toml", "elsewhere/config.toml"],
  ["gemini", ".gemini", "../.gemini"],
] as const;

function newProject(files: Record<string, string> = {}) {
  const { ptc, atTerminal, ...project } = userProject({ "ptc.yaml": CONFIGURATION, ...files });
  return {
    ...project,
    install: (...args: string[]) => ptc("install", ...args),
    atTerminal: (terminal: FakeTerminal, ...args: string[]) => atTerminal(terminal, "install", ...args),
  };
}

describe("ptc install", () => {
  it.each([
    ["claude", "project", ".mcp.json", '"${CLAUDE_PROJECT_DIR:-.}/ptc.yaml"'],
    ["cursor", "project", ".cursor/mcp.json", '"${workspaceFolder}/ptc.yaml"'],
    ["vscode", "project", ".vscode/mcp.json", '"${workspaceFolder}/ptc.yaml"'],
    ["codex", "project", ".codex/config.toml", '"ptc.yaml"'],
    ["gemini", "project", ".gemini/settings.json", '"ptc.yaml"'],
    ["claude", "user", "~/.claude.json", undefined],
    ["claude", "local", "~/.claude.json", undefined],
    ["cursor", "user", "~/.cursor/mcp.json", undefined],
    ["vscode", "user", "~/.config/Code/User/mcp.json", undefined],
    ["codex", "user", "~/.codex/config.toml", undefined],
    ["gemini", "user", "~/.gemini/settings.json", undefined],
  ])("writes the entry of %s for %s, shows it, and takes it out again", async (client, scope, file, path) => {
    const { folder, install, has, read } = newProject();
    const ofScope = (...flags: string[]) => install(client, "--scope", scope, ...flags);
    const dry = await ofScope();
    expect(dry.code).toBe(2);
    expect(dry.stderr).toMatch(/^ptc: nothing was written.*--yes.*\n$/);
    expect(has(file)).toBe(false);
    const { code, stdout, stderr } = await ofScope("--yes");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const text = read(file);
    expect(stdout).toContain(`${file} (a new file)\n`);
    for (const line of text.trimEnd().split("\n")) expect(stdout).toContain(`+ ${line}\n`);
    expect(text).toContain(path ?? join(folder, "ptc.yaml"));
    expect(text.includes("HUB_TOKEN")).toBe(client === "codex" || client === "gemini");
    expect(text).not.toContain("UNUSED");
    expect((await ofScope()).stdout).toBe(`'ptc' is in ${file} already; nothing to do\n`);
    expect(await ofScope("--remove", "--yes")).toMatchObject({ code: 0 });
    expect(has(file)).toBe(false);
    expect((await ofScope("--remove")).stdout).toBe(`'ptc' is not in ${file}; nothing to do\n`);
  });

  it.each([
    ["y\r", 0, true],
    ["yes\r", 0, true],
    ["\r", 1, false],
    ["no\r", 1, false],
    ["\u0003", 1, false],
    ["\u0004", 1, false],
  ])("asks on a terminal, and takes %j as it is meant", async (typed, code, isWritten) => {
    const { has, atTerminal } = newProject();
    const terminal = new FakeTerminal();
    const installing = atTerminal(terminal, "cursor");
    await terminal.shows(/Write this\? \[y\/N\]: $/);
    expect(has(".cursor/mcp.json")).toBe(false);
    terminal.type(typed);
    const { code: ended, stdout } = await installing;
    expect(ended).toBe(code);
    expect(stdout).toContain('+       "command": "ptc"');
    expect(has(".cursor/mcp.json")).toBe(isWritten);
    if (!isWritten) expect(terminal.screen).toMatch(/ptc: nothing was written\n$/);
  });

  it("shows nothing of other entries, keeps the mode of the file, and writes through a link that stays in the folder", async () => {
    const before = '{\n  "mcpServers": {\n    "a": { "env": { "KEY": "very-secret" } }\n  }\n}\n';
    const { install, path } = newProject({ "shared/servers.json": before });
    const real = path("shared/servers.json");
    chmodSync(real, 0o600);
    symlinkSync(real, path(".mcp.json"));
    const { code, stdout } = await install("claude", "--yes");
    expect(code).toBe(0);
    expect(stdout).not.toContain("very-secret");
    expect(stdout).not.toMatch(/^- /m);
    expect(lstatSync(path(".mcp.json")).isSymbolicLink()).toBe(true);
    expect(statSync(real).mode & 0o777).toBe(0o600);
    await install("claude", "--remove", "--yes");
    expect(readFileSync(real, "utf8")).toBe(before);
    expect(readdirSync(dirname(real))).toEqual(["servers.json"]);
  });

  it.each(LINKS)(
    "writes nothing of %s where %s is a link to %s, out of the folder",
    async (client, link, target) => {
      const { install, path, read, has } = newProject({ "~/elsewhere/.mcp.json": "{}" });
      mkdirSync(dirname(path(link)), { recursive: true });
      symlinkSync(target.startsWith("..") ? target : path(`~/${target}`), path(link));
      for (const flags of [["--yes"], ["--remove", "--yes"]])
        expect(await install(client, ...flags)).toEqual({
          code: 2,
          stdout: "",
          stderr: `ptc: ${link} is a link that leads out of this folder, and nothing was written through it; remove it\n`,
        });
      expect(readdirSync(path("~/elsewhere"))).toEqual([".mcp.json"]);
      expect(read("~/elsewhere/.mcp.json")).toBe("{}");
      expect(has("~/missing")).toBe(false);
    },
  );

  it("writes a user's own file through whatever link the user has made of it", async () => {
    const { install, path, read } = newProject({ "~/dotfiles.json": "{}" });
    symlinkSync(path("~/dotfiles.json"), path("~/.claude.json"));
    expect(await install("claude", "--scope", "user", "--yes")).toMatchObject({ code: 0 });
    expect(read("~/dotfiles.json")).toContain('"ptc"');
  });

  it.each([
    [["word"], "client: 'word' is not one of claude, cursor, vscode, codex, gemini"],
    [["cursor", "--scope", "local"], "--scope: only claude has 'local'"],
    [["cursor", "--scope", "all"], "--scope: 'all' is not one of project, user, local"],
    [["cursor", "--name", "a b"], "--name: a server's name has"],
    [["cursor", "--config", "none.yaml"], "none.yaml:1: the file named by --config does not exist"],
    [["cursor", "--yes"], ".cursor/mcp.json: is not JSON (line 1, column 2"],
    [["gemini", "--yes"], ".gemini/settings.json: has a server 'ptc' that is not ptc"],
    [["codex", "--yes"], ".codex/config.toml: is not TOML"],
    [["vscode", "--yes"], "mcp.json cannot be written (E"],
    [[], "name a client: claude"],
    [["claude", "--take-over", "--keep"], "give --take-over or --keep, not both"],
    [["claude", "--all"], "--all goes with --undo"],
  ])("refuses %j in one line, and changes nothing", async (args, message) => {
    const files = {
      ".cursor/mcp.json": "{",
      ".gemini/settings.json": '{"mcpServers":{"ptc":{"command":"other"}}}',
      ".codex/config.toml": "[",
      ".vscode": "a file",
    };
    const { install, read } = newProject(files);
    const refused = await install(...args);
    // What would be written is shown before it turns out that it cannot be.
    expectRefusal(args[0] === "vscode" ? { ...refused, stdout: "" } : refused, message);
    for (const [file, text] of Object.entries(files)) expect(read(file)).toBe(text);
  });

  it("says what an entry will lack", async () => {
    const { install, path } = newProject();
    rmSync(path("ptc.yaml"));
    expect((await install("cursor", "--yes")).stderr).toBe(
      "ptc: warning: there is no ptc.yaml here or above, and ptc has no servers without one; `ptc init` writes it\n",
    );
  });

  it("is explained for every client", async () => {
    const { stdout } = await newProject().install("--help");
    for (const client of CLIENTS) expect(stdout).toContain(client);
  });
});
