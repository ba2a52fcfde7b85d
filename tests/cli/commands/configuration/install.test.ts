import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { Surroundings } from "../../../../cli/command.ts";
import { CLIENTS } from "../../../../configuration/clients/clients.ts";
import { ptcIn } from "../../in-process.ts";
import { FakeTerminal } from "../../terminal/terminals.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "ptc-install-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

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

function newProject() {
  const folder = mkdtempSync(join(root, "project-"));
  const home = mkdtempSync(join(root, "home-"));
  // A shell finds this ptc by its name.
  const script = join(home, "bin", "ptc");
  mkdirSync(dirname(script));
  writeFileSync(script, "");
  writeFileSync(join(folder, "ptc.yaml"), CONFIGURATION);
  const env = { HOME: home, PATH: join(home, "bin") };
  const install = (args: string[], terminal: Partial<Surroundings> = {}) =>
    ptcIn(folder, ["install", ...args], { script, env, ...terminal });
  return {
    folder,
    home,
    write(file: string, text: string) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    },
    ptc: (...args: string[]) => install(args),
    /** The same for somebody who sits at a terminal. */
    atTerminal: ({ stdin, stderr }: FakeTerminal, ...args: string[]) => install(args, { stdin, stderr }),
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
    const { folder, home, ptc } = newProject();
    const at = file.startsWith("~/") ? join(home, file.slice(2)) : join(folder, file);
    const dry = await ptc(client, "--scope", scope);
    expect(dry).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^ptc: nothing was written.*--yes.*\n$/),
    });
    expect(existsSync(at)).toBe(false);
    const { code, stdout, stderr } = await ptc(client, "--scope", scope, "--yes");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const text = readFileSync(at, "utf8");
    expect(stdout).toContain(`${file} (a new file)\n`);
    for (const line of text.trimEnd().split("\n")) expect(stdout).toContain(`+ ${line}\n`);
    expect(text).toContain(path ?? join(folder, "ptc.yaml"));
    expect(text.includes("HUB_TOKEN")).toBe(client === "codex" || client === "gemini");
    expect(text).not.toContain("UNUSED");
    expect((await ptc(client, "--scope", scope)).stdout).toBe(`'ptc' is in ${file} already; nothing to do\n`);
    expect(await ptc(client, "--scope", scope, "--remove", "--yes")).toMatchObject({ code: 0 });
    expect(existsSync(at)).toBe(false);
    expect((await ptc(client, "--scope", scope, "--remove")).stdout).toBe(
      `'ptc' is not in ${file}; nothing to do\n`,
    );
  });

  it.each([
    ["y\r", 0, true],
    ["yes\r", 0, true],
    ["\r", 1, false],
    ["no\r", 1, false],
    ["\u0003", 1, false],
    ["\u0004", 1, false],
  ])("asks on a terminal, and takes %j as it is meant", async (typed, code, isWritten) => {
    const { folder, atTerminal } = newProject();
    const terminal = new FakeTerminal();
    const installing = atTerminal(terminal, "cursor");
    await terminal.shows(/Write this\? \[y\/N\]: $/);
    expect(existsSync(join(folder, ".cursor/mcp.json"))).toBe(false);
    terminal.type(typed);
    const { code: ended, stdout } = await installing;
    expect(ended).toBe(code);
    expect(stdout).toContain('+       "command": "ptc"');
    expect(existsSync(join(folder, ".cursor/mcp.json"))).toBe(isWritten);
    if (!isWritten) expect(terminal.screen).toMatch(/ptc: nothing was written\n$/);
  });

  it("shows nothing of other entries, keeps the mode of the file, and writes through a link that stays in the folder", async () => {
    const project = newProject();
    const real = join(project.folder, "shared/servers.json");
    mkdirSync(dirname(real));
    const before = '{\n  "mcpServers": {\n    "a": { "env": { "KEY": "very-secret" } }\n  }\n}\n';
    writeFileSync(real, before);
    chmodSync(real, 0o600);
    symlinkSync(real, join(project.folder, ".mcp.json"));
    const { code, stdout } = await project.ptc("claude", "--yes");
    expect(code).toBe(0);
    expect(stdout).not.toContain("very-secret");
    expect(stdout).not.toMatch(/^- /m);
    expect(lstatSync(join(project.folder, ".mcp.json")).isSymbolicLink()).toBe(true);
    expect(statSync(real).mode & 0o777).toBe(0o600);
    await project.ptc("claude", "--remove", "--yes");
    expect(readFileSync(real, "utf8")).toBe(before);
    expect(readdirSync(dirname(real))).toEqual(["servers.json"]);
  });

  it.each(LINKS)(
    "writes nothing of %s where %s is a link to %s, out of the folder",
    async (client, link, target) => {
      const project = newProject();
      const elsewhere = join(project.home, "elsewhere");
      mkdirSync(elsewhere);
      writeFileSync(join(elsewhere, ".mcp.json"), "{}");
      mkdirSync(dirname(join(project.folder, link)), { recursive: true });
      symlinkSync(target.startsWith("..") ? target : join(project.home, target), join(project.folder, link));
      for (const flags of [["--yes"], ["--remove", "--yes"]]) {
        const { code, stdout, stderr } = await project.ptc(client, ...flags);
        expect({ code, stdout, stderr }).toEqual({
          code: 2,
          stdout: "",
          stderr: `ptc: ${link} is a link that leads out of this folder, and nothing was written through it; remove it\n`,
        });
      }
      expect(readdirSync(elsewhere)).toEqual([".mcp.json"]);
      expect(readFileSync(join(elsewhere, ".mcp.json"), "utf8")).toBe("{}");
      expect(existsSync(join(project.home, "missing"))).toBe(false);
    },
  );

  it("writes a user's own file through whatever link the user has made of it", async () => {
    const project = newProject();
    const real = join(project.home, "dotfiles.json");
    writeFileSync(real, "{}");
    symlinkSync(real, join(project.home, ".claude.json"));
    expect(await project.ptc("claude", "--scope", "user", "--yes")).toMatchObject({ code: 0 });
    expect(readFileSync(real, "utf8")).toContain('"ptc"');
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
  ])("refuses %j in one line, and changes nothing", async (args, message) => {
    const project = newProject();
    const files = {
      ".cursor/mcp.json": "{",
      ".gemini/settings.json": '{"mcpServers":{"ptc":{"command":"other"}}}',
      ".codex/config.toml": "[",
      ".vscode": "a file",
    };
    for (const [file, text] of Object.entries(files)) project.write(file, text);
    const { code, stderr } = await project.ptc(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^ptc: [^\n]+\n$/);
    expect(stderr).toContain(message);
    for (const [file, text] of Object.entries(files))
      expect(readFileSync(join(project.folder, file), "utf8")).toBe(text);
  });

  it("says what an entry will lack", async () => {
    const { folder, ptc } = newProject();
    rmSync(join(folder, "ptc.yaml"));
    expect((await ptc("cursor", "--yes")).stderr).toBe(
      "ptc: warning: there is no ptc.yaml here, and ptc has no servers without one; `ptc init` writes it\n",
    );
  });

  it("is explained for every client", async () => {
    const { stdout } = await newProject().ptc("--help");
    for (const client of CLIENTS) expect(stdout).toContain(client);
  });
});
